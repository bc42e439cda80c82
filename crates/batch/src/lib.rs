//! Runs many prompts as separate conversations and records them as training
//! data.
//!
//! A [`ConversationWorker`] runs the conversations. [`run`] runs several at a
//! time, draws the toolsets of each prompt from a seed, and records every
//! conversation before starting the next one in its place. After a crash a
//! batch resumes without repeating or skipping a prompt.

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
