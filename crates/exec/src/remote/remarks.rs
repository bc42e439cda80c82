//! What is told of a place apart from what its programs write.

use std::sync::Arc;

use parking_lot::Mutex;

tokio::task_local! {
    /// Where remarks on the program that is being started go; without it they
    /// go among its errors.
    pub(crate) static CURRENT_REMARKS: BackendRemarks;
}

/// What was told so far, shared by all who tell.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackendRemarks(Arc<Mutex<Vec<String>>>);

impl BackendRemarks {
    pub(crate) fn add(&self, text: impl Into<String>) {
        self.0.lock().push(text.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    /// Those of the program that is being started, if somebody asks for them.
    pub(crate) fn current() -> Option<Self> {
        CURRENT_REMARKS.try_with(Clone::clone).ok()
    }
}
