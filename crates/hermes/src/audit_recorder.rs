//! The audit log as the engine's recorder.

use std::time::Duration;

use hermes_audit::AuditLog;
use hermes_engine::{CallRecord, CallRecorder};

/// Keeps every record in an audit log.
#[derive(Debug)]
pub struct AuditRecorder(AuditLog);

impl AuditRecorder {
    /// Records go to that log.
    pub fn new(log: AuditLog) -> Self {
        Self(log)
    }

    /// Waits until everything recorded so far is on disk.
    pub fn flush(&self, patience: Duration) -> Result<(), hermes_audit::LogError> {
        self.0.flush(patience)
    }

    /// Why records cannot be kept, if so.
    pub fn problem(&self) -> Option<String> {
        self.0.problem()
    }
}

impl CallRecorder for AuditRecorder {
    fn record(&self, record: &CallRecord<'_>) {
        self.0.append(record);
    }
}
