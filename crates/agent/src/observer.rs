//! Observer of an agent's events.

use std::sync::Arc;

use hermes_core::{ProgressUpdate, ToolResult};
use hermes_engine::{CallObserver, CallStarted};
use hermes_llm::{RetryEvent, TokenUsage};

/// Event of a turn.
#[derive(Debug)]
pub enum AgentEvent<'a> {
    /// A request is sent to the model.
    RoundStarted {
        /// Number of the request within this turn, from 1.
        round: u32,
    },
    /// A piece of the reply.
    Text(&'a str),
    /// A piece of the model's reasoning.
    Thought(&'a str),
    /// The reply shown so far is discarded, and the request is retried.
    AnswerDiscarded {
        /// Why it was discarded.
        why: &'a str,
    },
    /// The reply is complete.
    Answered {
        /// Full text of the reply.
        text: &'a str,
        /// Token usage of the reply.
        usage: &'a TokenUsage,
    },
    /// A call started.
    CallStarted(&'a CallStarted<'a>),
    /// A call reports progress.
    Progress {
        /// Id of the call.
        call: &'a str,
        /// Name of the tool.
        tool: &'a str,
        /// Progress of the call.
        progress: &'a ProgressUpdate,
    },
    /// A call ended.
    CallEnded {
        /// Result of the call.
        result: &'a ToolResult,
        /// Id of the enclosing call, if the call is nested.
        parent: Option<&'a str>,
    },
    /// The conversation was compacted.
    Compressed {
        /// Estimated tokens before.
        before: u64,
        /// Estimated tokens after.
        after: u64,
    },
    /// A model request failed, and how that is handled.
    Retry(&'a RetryEvent<'a>),
    /// A warning for the user.
    Warning(&'a str),
}

/// Receives an agent's events.
pub trait AgentObserver: Send + Sync {
    /// Called synchronously for each event; must return quickly.
    fn on_event(&self, notice: &AgentEvent<'_>);

    /// Whether the shown part of a reply can be retracted, so a broken reply
    /// may restart. Text that a person has read cannot.
    fn can_retract(&self) -> bool {
        true
    }
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullObserver;

impl AgentObserver for NullObserver {
    fn on_event(&self, _: &AgentEvent<'_>) {}
}

/// Forwards the engine's call events to an [`AgentObserver`].
pub(crate) struct CallForwarder(pub(crate) Arc<dyn AgentObserver>);

impl CallObserver for CallForwarder {
    fn call_started(&self, begun: &CallStarted<'_>) {
        self.0.on_event(&AgentEvent::CallStarted(begun));
    }

    fn progress(&self, call: &str, tool: &str, progress: &ProgressUpdate) {
        self.0.on_event(&AgentEvent::Progress { call, tool, progress });
    }

    fn call_ended(&self, result: &ToolResult, parent: Option<&str>) {
        self.0.on_event(&AgentEvent::CallEnded { result, parent });
    }
}
