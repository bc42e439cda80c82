//! Whoever wants to see calls while they are made.

use std::fmt;
use std::sync::Arc;

use hermes_core::{ProgressUpdate, ProgressSink, ToolResult};
use serde_json::Value;

/// A call that begins.
#[derive(Debug, Clone, Copy)]
pub struct Begun<'a> {
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
pub trait Onlooker: Send + Sync {
    /// A call begins: it is about to be judged, and may be asked about. One that
    /// cannot be made at all begins too, with what was asked.
    fn began(&self, _begun: &Begun<'_>) {}

    /// A sign of life.
    fn progress(&self, _call: &str, _tool: &str, _progress: &ProgressUpdate) {}

    /// A call has been answered.
    fn ended(&self, _result: &ToolResult, _parent: Option<&str>) {}
}

/// Passes on the signs of life of one call.
pub(crate) struct Signs {
    pub(crate) onlooker: Arc<dyn Onlooker>,
    pub(crate) call: Arc<str>,
}

impl ProgressSink for Signs {
    fn report(&self, tool: &str, progress: &ProgressUpdate) {
        self.onlooker.progress(&self.call, tool, progress);
    }
}

impl fmt::Debug for Signs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signs").field("call", &self.call).finish_non_exhaustive()
    }
}
