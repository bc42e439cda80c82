//! Whoever wants to see calls while they are made.

use std::fmt;
use std::sync::Arc;

use hermes_core::{ProgressSink, ProgressUpdate, ToolResult};
use serde_json::Value;

/// A call that begins.
#[derive(Debug, Clone, Copy)]
pub struct CallStarted<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// The tool, by its canonical name; as it was written if there is none.
    pub tool: &'a str,
    /// What it is asked, without secrets.
    pub arguments: &'a Value,
    /// The call inside which it is made, such as a script.
    pub parent: Option<&'a str>,
}

/// Whoever wants to see calls while they are made. Called from any thread; it
/// should not take long.
pub trait CallObserver: Send + Sync {
    /// A call begins: it is about to be judged, and may be asked about. One that
    /// cannot be made at all begins too, with what was asked.
    fn call_started(&self, _begun: &CallStarted<'_>) {}

    /// A sign of life.
    fn progress(&self, _call: &str, _tool: &str, _progress: &ProgressUpdate) {}

    /// A call has been answered.
    fn call_ended(&self, _result: &ToolResult, _parent: Option<&str>) {}
}

/// Passes on the signs of life of one call.
pub(crate) struct ProgressForwarder {
    pub(crate) observer: Arc<dyn CallObserver>,
    pub(crate) call: Arc<str>,
}

impl ProgressSink for ProgressForwarder {
    fn report(&self, tool: &str, progress: &ProgressUpdate) {
        self.observer.progress(&self.call, tool, progress);
    }
}

impl fmt::Debug for ProgressForwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signs").field("call", &self.call).finish_non_exhaustive()
    }
}
