//! Outsiders' say in a call: before it (block, rewrite, ask), after it
//! (watch), and on its result (replace).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, CallStatus};
use serde_json::Value;

/// What a hook is told of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The arguments, coerced and valid.
    pub arguments: &'a Value,
    /// The session.
    pub session_id: &'a str,
    /// The task.
    pub task_id: &'a str,
}

/// What a hook is told of a result.
#[derive(Debug, Clone, Copy)]
pub struct ResultView<'a> {
    /// The call.
    pub call: CallView<'a>,
    /// Its answer.
    pub content: &'a str,
    /// How it ended.
    pub status: CallStatus,
    /// How long it took.
    pub duration: Duration,
}

/// What a hook wants done with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum HookDecision {
    /// Go on.
    Continue,
    /// Go on with these arguments. They are coerced, validated and judged
    /// like any others.
    Rewrite(Value),
    /// Go on only if somebody agrees.
    Ask(String),
    /// Do not.
    Block(String),
}

/// A hook. Every method has a default that does nothing.
pub trait Hook: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Before the call is judged. A hook that fails should block.
    fn pre_tool_call<'a>(&'a self, _call: CallView<'a>) -> BoxFuture<'a, HookDecision> {
        Box::pin(async { HookDecision::Continue })
    }

    /// After every call, whatever came of it.
    fn post_tool_call<'a>(&'a self, _result: ResultView<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// A text to take the result's place. It must be JSON, as every result.
    fn transform_tool_result<'a>(
        &'a self,
        _result: ResultView<'a>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// The hooks of an engine, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Hooks(pub(crate) Vec<Arc<dyn Hook>>);

impl Hooks {
    /// Whether nobody listens.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|hook| hook.name())).finish()
    }
}
