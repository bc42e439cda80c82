//! Many prompts, each a conversation of its own, written down for training.
//!
//! A [`ConversationWorker`] holds the conversations; [`run`] has several of them at work,
//! draws the tools of each prompt by a seed, and writes every conversation down
//! before the next one is begun in its place. What a crash interrupts goes on
//! from there, with no prompt twice and none left out.

mod batch_dir;
mod completed;
mod error;
mod prompt;
mod row;
mod run;
mod trajectory;
mod worker;

pub use batch_dir::BatchPlan;
pub use completed::ExcludedConversation;
pub use error::BatchError;
pub use prompt::{BadLine, BatchPrompt, PromptFile};
pub use row::ToolStats;
pub use run::{BatchJob, BatchProgress, BatchSummary, run};
pub use trajectory::{TrajectoryTurn, turns};
pub use worker::{ConversationWorker, RecordedConversation, WorkerError};
