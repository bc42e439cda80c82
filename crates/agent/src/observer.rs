//! Whoever wants to see what an agent does.

use std::sync::Arc;

use hermes_core::{ProgressUpdate, ToolResult};
use hermes_engine::{CallObserver, CallStarted};
use hermes_llm::{RetryEvent, TokenUsage};

/// Something that happens in a turn.
#[derive(Debug)]
pub enum AgentEvent<'a> {
    /// The model is asked.
    RoundStarted {
        /// For the how-manieth time in this turn.
        round: u32,
    },
    /// More of its answer.
    Text(&'a str),
    /// More of what it thinks.
    Thought(&'a str),
    /// What was shown of this answer does not count: it is asked again.
    AnswerDiscarded {
        /// Why.
        why: &'a str,
    },
    /// Its answer is complete.
    Answered {
        /// The whole text.
        text: &'a str,
        /// What it took.
        usage: &'a TokenUsage,
    },
    /// A call begins.
    CallStarted(&'a CallStarted<'a>),
    /// A call shows that it is alive.
    Progress {
        /// The id of the call.
        call: &'a str,
        /// Its tool.
        tool: &'a str,
        /// What it is doing.
        progress: &'a ProgressUpdate,
    },
    /// A call has been answered.
    CallEnded {
        /// How.
        result: &'a ToolResult,
        /// The call inside which it was made.
        parent: Option<&'a str>,
    },
    /// The conversation was shortened.
    Compressed {
        /// Tokens before, about.
        before: u64,
        /// And after.
        after: u64,
    },
    /// A trouble with the model, and what is done about it.
    Retry(&'a RetryEvent<'a>),
    /// Something that the user should know.
    Warning(&'a str),
}

/// Whoever wants to see what an agent does.
pub trait AgentObserver: Send + Sync {
    /// Called as it happens; it should not take long.
    fn on_event(&self, notice: &AgentEvent<'_>);

    /// Whether what was shown of an answer can be taken back, so that one which
    /// breaks off may begin anew. People do not forget what they have read.
    fn can_retract(&self) -> bool {
        true
    }
}

/// Nobody wants to see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullObserver;

impl AgentObserver for NullObserver {
    fn on_event(&self, _: &AgentEvent<'_>) {}
}

/// Shows a watcher the calls that the engine makes.
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
