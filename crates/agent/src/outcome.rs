//! How a turn has ended.

use hermes_llm::{Fault, Usage};

/// How a turn has ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the model said last.
    pub text: String,
    /// Why it is the last.
    pub end: End,
    /// How often the model was asked.
    pub asked: u32,
    /// How many calls it made.
    pub calls: u32,
    /// What it took.
    pub usage: Usage,
}

/// Why a turn has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The model had said all.
    Done,
    /// The answer is cut off.
    CutOff,
    /// There is nothing left of the budget; what, in words.
    Budget(String),
    /// Somebody stopped it.
    Interrupted,
    /// The model asked again and again for what does not exist.
    Lost,
    /// The model cannot be asked.
    Fault(Fault),
    /// What happened cannot be written down, so nothing more is done.
    Journal(String),
}

impl End {
    /// Whether the turn came to its own end.
    pub fn is_well(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Its name, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::CutOff => "cut_off",
            Self::Budget(_) => "budget",
            Self::Interrupted => "interrupted",
            Self::Lost => "lost",
            Self::Fault(_) => "fault",
            Self::Journal(_) => "journal",
        }
    }
}
