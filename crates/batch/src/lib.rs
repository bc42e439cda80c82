//! Many prompts, each a conversation of its own, written down for training.
//!
//! A [`Worker`] holds the conversations; [`run`] has several of them at work,
//! draws the tools of each prompt by a seed, and writes every conversation down
//! before the next one is begun in its place. What a crash interrupts goes on
//! from there, with no prompt twice and none left out.

mod done;
mod error;
mod folder;
mod prompt;
mod row;
mod run;
mod trajectory;
mod worker;

pub use done::LeftOut;
pub use error::BatchError;
pub use folder::Plan;
pub use prompt::{BadLine, Prompt, Prompts};
pub use row::ToolStats;
pub use run::{Batch, Progress, Summary, run};
pub use trajectory::{Turn, turns};
pub use worker::{Conversation, Failed, Worker};
