//! The engine handle of a running tool.

use std::sync::Arc;
use std::time::Instant;

use hermes_core::{
    BoxFuture, CancellationToken, Effect, EffectDisposition, EngineHandle, ToolCall, ToolError,
    ToolMatch, ToolResult,
};
use serde_json::Value;

use crate::caller::Caller;
use crate::definitions::ToolScope;
use crate::engine::{Engine, SearchLimits};
use crate::pipeline::BatchContext;
use crate::tool_names;

/// Maximum nesting depth of tool calls.
const MAX_CALL_DEPTH: u8 = 8;

/// Maximum characters of a description in search results.
const MAX_DESCRIPTION_CHARS: usize = 400;

/// The engine for one running call: inner calls have the same caller and
/// registry snapshot, and are cancelled with it.
pub(crate) struct CallEngineHandle {
    pub(crate) batch: Arc<BatchContext>,
    pub(crate) call_id: Arc<str>,
    pub(crate) cancel: CancellationToken,
    pub(crate) deadline: Instant,
}

impl CallEngineHandle {
    fn engine(&self) -> &Engine {
        &self.batch.engine
    }

    /// Returns the caller for inner calls.
    fn inner_caller(&self) -> Result<Caller, ToolError> {
        let mut caller = self.batch.caller.clone();
        caller.cancel = self.cancel.clone();
        caller.deadline = Some(self.deadline);
        caller.snapshot = Some(Arc::clone(&self.batch.snapshot));
        caller.turn = Some(self.batch.turn_id());
        caller.parent = Some(Arc::clone(&self.call_id));
        caller.depth += 1;
        if caller.depth > MAX_CALL_DEPTH {
            return Err(ToolError::limit(format!(
                "Tool calls are nested more than {MAX_CALL_DEPTH} deep"
            )));
        }
        Ok(caller)
    }

    fn scope(&self) -> Arc<ToolScope> {
        self.batch.caller.scope.clone().unwrap_or_else(|| self.engine().full_scope())
    }
}

impl EngineHandle for CallEngineHandle {
    fn search_tools(&self, query: &str, limit: Option<usize>) -> (Vec<ToolMatch>, usize) {
        let SearchLimits { default, max: most } = self.engine().search_limits();
        let limit = limit.unwrap_or(default).min(most);
        let scope = self.scope();
        let index = scope.index();
        let found = index
            .search(query, limit)
            .into_iter()
            .map(|entry| ToolMatch {
                name: entry.name().to_owned(),
                toolset: entry.toolset().to_owned(),
                description: hermes_core::text::excerpt(
                    &entry.spec().description,
                    MAX_DESCRIPTION_CHARS,
                )
                .into_owned(),
            })
            .collect();
        (found, index.len())
    }

    fn describe_tool(&self, name: &str) -> Option<Value> {
        let snapshot = self.engine().snapshot();
        let entry = snapshot.find(name)?;
        self.scope().contains(entry.name()).then(|| entry.function_json())
    }

    fn similar_names(&self, name: &str) -> Vec<String> {
        tool_names::suggest(name, self.scope().entries().iter().map(|e| e.name()))
    }

    fn tool_names(&self) -> Vec<String> {
        self.scope().entries().iter().map(|e| e.name().to_owned()).collect()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            match self.inner_caller() {
                Err(error) => refused_result(&call, &error),
                Ok(caller) => self.engine().call(call, &caller).await,
            }
        })
    }

    fn request_approval(&self, effects: Vec<Effect>, reason: String) -> BoxFuture<'_, bool> {
        Box::pin(self.batch.request_approval(&self.call_id, effects, reason))
    }

    fn call_all(&self, calls: Vec<ToolCall>) -> BoxFuture<'_, Vec<ToolResult>> {
        Box::pin(async move {
            match self.inner_caller() {
                Err(error) => calls.iter().map(|call| refused_result(call, &error)).collect(),
                Ok(caller) => self.engine().dispatch(calls, &caller).await,
            }
        })
    }
}

fn refused_result(call: &ToolCall, error: &ToolError) -> ToolResult {
    ToolResult::error(&call.id, &call.name, error, EffectDisposition::NotRun)
}
