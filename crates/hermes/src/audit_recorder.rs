//! Appends the records of calls to the audit log.

use std::time::Duration;

use hermes_audit::AuditLog;
use hermes_engine::{CallEvent, CallObserver};

/// Observer that appends every record to an audit log.
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

impl CallObserver for AuditRecorder {
    fn on_event(&self, event: &CallEvent<'_>) {
        if let CallEvent::Recorded(record) = event {
            self.0.append(record);
        }
    }
}
