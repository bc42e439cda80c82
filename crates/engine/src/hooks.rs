//! Hooks: before a call (block, rewrite, ask), after it (observe), and on its
//! result (replace).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, CallStatus};
use serde_json::Value;

/// A call, as a hook sees it.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The arguments, coerced and validated.
    pub arguments: &'a Value,
    /// The session id.
    pub session_id: &'a str,
    /// The task id.
    pub task_id: &'a str,
}

/// A result, as a hook sees it.
#[derive(Debug, Clone, Copy)]
pub struct ResultView<'a> {
    /// The call.
    pub call: CallView<'a>,
    /// The content of the result.
    pub content: &'a str,
    /// How it ended.
    pub status: CallStatus,
    /// Duration of the call.
    pub duration: Duration,
}

/// What a hook decides about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum HookDecision {
    /// Continue.
    Continue,
    /// Continue with these arguments. They are coerced, validated and judged
    /// like any others.
    Rewrite(Value),
    /// Continue only if the approver agrees.
    Ask(String),
    /// Block the call.
    Block(String),
}

/// A hook. Every method has a default that does nothing.
pub trait Hook: Send + Sync {
    /// The name, for messages.
    fn name(&self) -> &str;

    /// Runs before the call is judged. A hook that fails should block.
    fn pre_tool_call<'a>(&'a self, _call: CallView<'a>) -> BoxFuture<'a, HookDecision> {
        Box::pin(async { HookDecision::Continue })
    }

    /// Runs after every call, whatever its result.
    fn post_tool_call<'a>(&'a self, _result: ResultView<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Returns a replacement for the result. It must be JSON, like every
    /// result.
    fn transform_tool_result<'a>(
        &'a self,
        _result: ResultView<'a>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// The hooks of an engine, in execution order.
#[derive(Clone, Default)]
pub struct Hooks(pub(crate) Vec<Arc<dyn Hook>>);

impl Hooks {
    /// Whether no hook is registered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|hook| hook.name())).finish()
    }
}
