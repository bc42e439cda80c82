//! How a turn has ended.

use hermes_llm::{ModelError, TokenUsage};

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
    pub usage: TokenUsage,
}

/// Why a turn has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The model had said all.
    Done,
    /// The answer is cut off: the model had no room left.
    CutOff,
    /// The answer broke off in the middle; why, in words.
    Broken(String),
    /// The model or its server held the answer back.
    Withheld,
    /// The model has nothing to say, however often it is asked.
    Silent,
    /// There is nothing left of the budget; what, in words.
    Budget(String),
    /// Somebody stopped it.
    Interrupted,
    /// The model goes in circles; how, in words.
    Halted(String),
    /// The model asked again and again for what does not exist.
    Lost,
    /// The model cannot be asked.
    Fault(ModelError),
    /// What happened cannot be written down, so nothing more is done.
    Journal(String),
}

impl Outcome {
    /// The model was not asked.
    pub(crate) fn refused(fault: ModelError) -> Self {
        let (text, usage) = (String::new(), TokenUsage::default());
        Self { text, end: End::Fault(fault), asked: 0, calls: 0, usage }
    }
}

impl End {
    /// Whether the turn came to its own end.
    pub fn is_well(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Why it did not come to its own end, for people; none if it did.
    pub fn why(&self) -> Option<String> {
        Some(match self {
            Self::Done => return None,
            Self::CutOff => "The answer is cut off: the model had no room left.".to_owned(),
            Self::Broken(why) => format!("The answer broke off: {why}."),
            Self::Withheld => "The model or its server held the answer back.".to_owned(),
            Self::Silent => "The model has answered nothing.".to_owned(),
            Self::Budget(what) => format!("Stopped: {what} are used up."),
            Self::Interrupted => "Stopped.".to_owned(),
            Self::Halted(why) => format!("Stopped going in circles: {why}."),
            Self::Lost => "Stopped: the model asks for tools that do not exist.".to_owned(),
            Self::Fault(fault) => match &fault.hint {
                Some(hint) => format!("{fault}. {hint}"),
                None => fault.to_string(),
            },
            Self::Journal(why) => format!("Stopped: the session cannot be written: {why}"),
        })
    }

    /// Its name, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::CutOff => "cut_off",
            Self::Broken(_) => "broken",
            Self::Withheld => "withheld",
            Self::Silent => "silent",
            Self::Budget(_) => "budget",
            Self::Interrupted => "interrupted",
            Self::Halted(_) => "halted",
            Self::Lost => "lost",
            Self::Fault(_) => "fault",
            Self::Journal(_) => "journal",
        }
    }
}
