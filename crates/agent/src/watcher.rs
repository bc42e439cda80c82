//! Whoever wants to see what an agent does.

use std::time::Duration;

use hermes_core::{ToolCall, ToolResult};
use hermes_llm::{Fault, Usage};

/// Something that happens in a turn.
#[derive(Debug)]
pub enum Notice<'a> {
    /// The model is asked.
    Asking {
        /// For the how-manieth time in this turn.
        round: u32,
    },
    /// More of its answer.
    Text(&'a str),
    /// More of what it thinks.
    Thought(&'a str),
    /// What was shown of this answer does not count: it is asked again.
    Again {
        /// Why.
        why: &'a str,
    },
    /// Its answer is complete.
    Answered {
        /// The whole text.
        text: &'a str,
        /// What it took.
        usage: &'a Usage,
    },
    /// A call begins.
    Call(&'a ToolCall),
    /// A call has been answered.
    Result(&'a ToolCall, &'a ToolResult),
    /// The conversation was shortened.
    Compressed {
        /// Tokens before, about.
        before: u64,
        /// And after.
        after: u64,
    },
    /// The model is asked again after a while.
    Waiting {
        /// What went wrong.
        fault: &'a Fault,
        /// How long.
        pause: Duration,
    },
    /// Something that the user should know.
    Warning(&'a str),
}

/// Whoever wants to see what an agent does.
pub trait Watcher: Send + Sync {
    /// Called as it happens; it should not take long.
    fn see(&self, notice: &Notice<'_>);
}

/// Nobody wants to see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Watcher for Nobody {
    fn see(&self, _: &Notice<'_>) {}
}
