//! How a turn has ended.

use hermes_llm::{ModelError, TokenUsage};

/// How a turn has ended.
#[derive(Debug, Clone)]
pub struct TurnOutcome {
    /// What the model said last.
    pub text: String,
    /// Why it is the last.
    pub end: TurnEnd,
    /// How often the model was asked.
    pub requests: u32,
    /// How many calls it made.
    pub calls: u32,
    /// What it took.
    pub usage: TokenUsage,
}

/// Why a turn has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// The model had said all.
    Done,
    /// The answer is cut off: the model had no room left.
    Truncated,
    /// The answer broke off in the middle; why, in words.
    Broken(String),
    /// The model or its server held the answer back.
    Withheld,
    /// The model has nothing to say, however often it is asked.
    EmptyAnswer,
    /// There is nothing left of the budget; what, in words.
    Budget(String),
    /// Somebody stopped it.
    Interrupted,
    /// The model goes in circles; how, in words.
    Halted(String),
    /// The model asked again and again for what does not exist.
    UnknownTools,
    /// The model cannot be asked.
    ModelError(ModelError),
    /// What happened cannot be written down, so nothing more is done.
    Journal(String),
}

impl TurnOutcome {
    /// The model was not asked.
    pub(crate) fn refused(fault: ModelError) -> Self {
        let (text, usage) = (String::new(), TokenUsage::default());
        Self { text, end: TurnEnd::ModelError(fault), requests: 0, calls: 0, usage }
    }
}

impl TurnEnd {
    /// Whether the turn came to its own end.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Why it did not come to its own end, for people; none if it did.
    pub fn reason(&self) -> Option<String> {
        Some(match self {
            Self::Done => return None,
            Self::Truncated => "The answer is cut off: the model had no room left.".to_owned(),
            Self::Broken(why) => format!("The answer broke off: {why}."),
            Self::Withheld => "The model or its server held the answer back.".to_owned(),
            Self::EmptyAnswer => "The model has answered nothing.".to_owned(),
            Self::Budget(what) => format!("Stopped: {what} are used up."),
            Self::Interrupted => "Stopped.".to_owned(),
            Self::Halted(why) => format!("Stopped going in circles: {why}."),
            Self::UnknownTools => "Stopped: the model asks for tools that do not exist.".to_owned(),
            Self::ModelError(fault) => match &fault.hint {
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
            Self::Truncated => "cut_off",
            Self::Broken(_) => "broken",
            Self::Withheld => "withheld",
            Self::EmptyAnswer => "silent",
            Self::Budget(_) => "budget",
            Self::Interrupted => "interrupted",
            Self::Halted(_) => "halted",
            Self::UnknownTools => "lost",
            Self::ModelError(_) => "fault",
            Self::Journal(_) => "journal",
        }
    }
}
