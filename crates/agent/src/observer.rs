//! Observer of an agent's events.

use hermes_core::ToolResult;
use hermes_engine::CallEvent;
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
    /// An event of a call.
    Call(&'a CallEvent<'a>),
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

    /// Called when a call of one of its sub-agents, at any depth, has ended.
    fn on_subagent_result(&self, _result: &ToolResult) {}

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
