//! Adapts the audit log to the engine's recorder interface.

use std::time::Duration;

use hermes_audit::AuditLog;
use hermes_engine::{CallRecord, CallRecorder};

/// Recorder that appends every record to an audit log.
#[derive(Debug)]
pub struct AuditRecorder(AuditLog);

impl AuditRecorder {
    /// Creates a recorder for `log`.
    pub fn new(log: AuditLog) -> Self {
        Self(log)
    }

    /// Waits until all records so far are on disk.
    pub fn flush(&self, timeout: Duration) -> Result<(), hermes_audit::LogError> {
        self.0.flush(timeout)
    }

    /// Returns why records cannot be written, if they cannot.
    pub fn problem(&self) -> Option<String> {
        self.0.problem()
    }
}

impl CallRecorder for AuditRecorder {
    fn record(&self, record: &CallRecord<'_>) {
        self.0.append(record);
    }
}
