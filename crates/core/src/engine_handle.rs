//! The engine as seen by a running tool: it can inspect the other tools of its
//! session and call them through the same pipeline.

use serde_json::Value;

use crate::{BoxFuture, Effect, ToolCall, ToolResult};

/// A tool found by a search.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ToolMatch {
    /// Its name.
    pub name: String,
    /// The toolset that owns it.
    pub toolset: String,
    /// What it does, shortened.
    pub description: String,
}

/// The engine, as seen from inside a call. It knows the session's tools only.
pub trait EngineHandle: Send + Sync {
    /// The best matches for a query, best first, and how many tools there are.
    /// How many matches it gives unless asked, and at most, is a setting.
    fn search_tools(&self, query: &str, limit: Option<usize>) -> (Vec<ToolMatch>, usize);

    /// A tool's name, description and parameters, as a model would see them.
    fn describe_tool(&self, name: &str) -> Option<Value>;

    /// The names of the session's tools that resemble this one.
    fn similar_names(&self, name: &str) -> Vec<String>;

    /// The names of the session's tools, sorted.
    fn tool_names(&self) -> Vec<String>;

    /// Makes a call, through every stage. It ends with the call that makes it.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolResult>;

    /// Makes several calls, side by side where they cannot meet.
    fn call_all(&self, calls: Vec<ToolCall>) -> BoxFuture<'_, Vec<ToolResult>>;

    /// Asks the person who can be asked whether the running call may have these
    /// effects as well; no if nobody is there, or a rule forbids one of them.
    fn request_approval(&self, _effects: Vec<Effect>, _reason: String) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}
