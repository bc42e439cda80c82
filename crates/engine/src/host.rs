//! The engine as a running tool sees it.

use std::sync::Arc;

use hermes_core::{BoxFuture, Disposition, Found, Host, ToolCall, ToolError, ToolResult};
use serde_json::Value;

use crate::caller::Caller;
use crate::definitions::ToolScope;
use crate::engine::{Engine, SearchLimits};
use crate::names;

/// How deep tools may call tools.
const MAX_DEPTH: u8 = 8;

/// How much of a description a search shows.
const DESCRIPTION_CHARS: usize = 400;

/// The engine as one call sees it: its calls are made on behalf of the same
/// caller, stop when it stops, and see the same registry.
pub(crate) struct SessionHost {
    engine: Engine,
    caller: Caller,
}

impl SessionHost {
    /// `caller` is the caller of the inner calls.
    pub(crate) fn new(engine: Engine, caller: Caller) -> Self {
        Self { engine, caller }
    }

    fn too_deep(&self) -> Option<ToolError> {
        (self.caller.depth > MAX_DEPTH)
            .then(|| ToolError::limit(format!("Tools called one another {MAX_DEPTH} deep")))
    }

    fn scope(&self) -> Arc<ToolScope> {
        self.caller.scope.clone().unwrap_or_else(|| self.engine.everything())
    }
}

impl Host for SessionHost {
    fn search(&self, query: &str, limit: Option<usize>) -> (Vec<Found>, usize) {
        let SearchLimits { default, most } = self.engine.search_limits();
        let limit = limit.unwrap_or(default).min(most);
        let scope = self.scope();
        let index = scope.index();
        let found = index
            .search(query, limit)
            .into_iter()
            .map(|entry| Found {
                name: entry.name().to_owned(),
                toolset: entry.toolset().to_owned(),
                description: hermes_schema::excerpt::excerpt(
                    &entry.spec().description,
                    DESCRIPTION_CHARS,
                )
                .into_owned(),
            })
            .collect();
        (found, index.len())
    }

    fn describe(&self, name: &str) -> Option<Value> {
        let snapshot = self.engine.snapshot();
        let entry = snapshot.find(name)?;
        self.scope().contains(entry.name()).then(|| entry.function())
    }

    fn similar(&self, name: &str) -> Vec<String> {
        names::suggest(name, self.scope().entries().iter().map(|e| e.name()))
    }

    fn names(&self) -> Vec<String> {
        self.scope().entries().iter().map(|e| e.name().to_owned()).collect()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            match self.too_deep() {
                Some(error) => refusal(&call, &error),
                None => self.engine.call(call, &self.caller).await,
            }
        })
    }

    fn dispatch(&self, calls: Vec<ToolCall>) -> BoxFuture<'_, Vec<ToolResult>> {
        Box::pin(async move {
            match self.too_deep() {
                Some(error) => calls.iter().map(|call| refusal(call, &error)).collect(),
                None => self.engine.dispatch(calls, &self.caller).await,
            }
        })
    }
}

fn refusal(call: &ToolCall, error: &ToolError) -> ToolResult {
    ToolResult::error(&call.id, &call.name, error, Disposition::NotRun)
}
