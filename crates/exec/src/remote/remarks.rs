//! Remarks of a backend, kept apart from the output of its processes.

use std::sync::Arc;

use parking_lot::Mutex;

tokio::task_local! {
    /// Collects remarks on the process being started; if unset, they go to its
    /// stderr.
    pub(crate) static CURRENT_REMARKS: BackendRemarks;
}

/// Remarks collected so far; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackendRemarks(Arc<Mutex<Vec<String>>>);

impl BackendRemarks {
    pub(crate) fn add(&self, text: impl Into<String>) {
        self.0.lock().push(text.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    /// Returns the remarks of the process being started, if a caller collects
    /// them.
    pub(crate) fn current() -> Option<Self> {
        CURRENT_REMARKS.try_with(Clone::clone).ok()
    }
}
