//! The engine as seen by a running tool: it can inspect the other tools of its
//! session and call them through the same pipeline.

use serde_json::Value;

use crate::{BoxFuture, Effect, ToolCall, ToolResult};

/// A tool found by a search.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ToolMatch {
    /// Its name.
    pub name: String,
    /// The toolset that contains it.
    pub toolset: String,
    /// What it does, shortened.
    pub description: String,
}

/// The engine, as seen from inside a call. It knows the session's tools only.
pub trait EngineHandle: Send + Sync {
    /// Returns the best matches for a query, best first, and the number of
    /// tools. The default and maximum of `limit` are settings.
    fn search_tools(&self, query: &str, limit: Option<usize>) -> (Vec<ToolMatch>, usize);

    /// Returns a tool's name, description and parameters, as a model sees them.
    fn describe_tool(&self, name: &str) -> Option<Value>;

    /// Returns the names of the session's tools that resemble this one.
    fn similar_names(&self, name: &str) -> Vec<String>;

    /// Returns the names of the session's tools, sorted.
    fn tool_names(&self) -> Vec<String>;

    /// Makes a call through the whole pipeline. It is cancelled with the
    /// calling call.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolResult>;

    /// Makes several calls, concurrently where their effects do not conflict.
    fn call_all(&self, calls: Vec<ToolCall>) -> BoxFuture<'_, Vec<ToolResult>>;

    /// Asks the approver whether the running call may also have these effects;
    /// false if there is no approver or a rule forbids one of them.
    fn request_approval(&self, _effects: Vec<Effect>, _reason: String) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}
