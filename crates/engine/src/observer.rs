//! Observer of the call lifecycle.

use std::fmt;
use std::sync::Arc;

use hermes_core::{ProgressSink, ProgressUpdate, ToolResult};
use serde_json::Value;

/// A call that starts.
#[derive(Debug, Clone, Copy)]
pub struct CallStarted<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// The tool's canonical name, or the name as written if no such tool
    /// exists.
    pub tool: &'a str,
    /// The arguments, with secrets redacted.
    pub arguments: &'a Value,
    /// The enclosing call, such as a script.
    pub parent: Option<&'a str>,
}

/// Observer of the call lifecycle. Called from any thread; must return quickly.
pub trait CallObserver: Send + Sync {
    /// A call starts: it is judged next and may need approval. Calls that
    /// cannot be prepared start too, with the arguments as given.
    fn call_started(&self, _begun: &CallStarted<'_>) {}

    /// A call reports progress.
    fn progress(&self, _call: &str, _tool: &str, _progress: &ProgressUpdate) {}

    /// A call has ended.
    fn call_ended(&self, _result: &ToolResult, _parent: Option<&str>) {}
}

/// Forwards the progress of one call to the observer.
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
        f.debug_struct("ProgressForwarder").field("call", &self.call).finish_non_exhaustive()
    }
}
