//! Events in the life of a call, and their observers.

use hermes_core::{ProgressUpdate, ToolResult};
use serde_json::Value;

use crate::record::CallRecord;

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

/// An event in the life of a call.
#[derive(Debug, Clone, Copy)]
pub enum CallEvent<'a> {
    /// A call starts: it is judged next and may need approval. Calls that cannot
    /// be prepared start too, with the arguments as given.
    Started(&'a CallStarted<'a>),
    /// A call reports progress.
    Progress {
        /// The id of the call.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// The report.
        progress: &'a ProgressUpdate,
    },
    /// A call has ended.
    Ended {
        /// Its result.
        result: &'a ToolResult,
        /// The enclosing call.
        parent: Option<&'a str>,
    },
    /// A call or a connection of its child processes is recorded.
    Recorded(&'a CallRecord<'a>),
}

/// Observer of calls: a caller's sees the life of its own calls, an engine's the
/// records of all. Called from any thread; must return quickly.
pub trait CallObserver: Send + Sync {
    /// Handles an event.
    fn on_event(&self, event: &CallEvent<'_>);
}
