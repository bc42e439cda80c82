//! Outcome of a turn.

use hermes_llm::{ModelError, TokenUsage};

/// Outcome of a turn.
#[derive(Debug, Clone)]
pub struct TurnOutcome {
    /// Text of the last reply.
    pub text: String,
    /// Why the turn ended.
    pub end: TurnEnd,
    /// Number of model requests.
    pub requests: u32,
    /// Number of tool calls.
    pub calls: u32,
    /// Token usage.
    pub usage: TokenUsage,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// The model finished.
    Done,
    /// The reply was truncated at the token limit.
    Truncated,
    /// The reply broke off; holds the cause.
    Broken(String),
    /// The model or its server withheld the reply.
    Withheld,
    /// The model kept returning empty replies.
    EmptyAnswer,
    /// The budget is exhausted; holds the limit that was reached.
    Budget(String),
    /// The turn was interrupted.
    Interrupted,
    /// The loop guard stopped the turn; holds the reason.
    Halted(String),
    /// The model kept calling tools that do not exist.
    UnknownTools,
    /// The model request failed.
    ModelError(ModelError),
    /// The journal could not be written, so the turn stopped.
    Journal(String),
}

impl TurnOutcome {
    /// Creates the outcome of a turn whose input was rejected before any
    /// request.
    pub(crate) fn refused(fault: ModelError) -> Self {
        let (text, usage) = (String::new(), TokenUsage::default());
        Self { text, end: TurnEnd::ModelError(fault), requests: 0, calls: 0, usage }
    }
}

impl TurnEnd {
    /// Whether the turn ended normally.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Returns why the turn did not end normally, as text for the user; `None`
    /// if it did.
    pub fn reason(&self) -> Option<String> {
        Some(match self {
            Self::Done => return None,
            Self::Truncated => {
                "The reply was truncated: the model reached its token limit.".to_owned()
            }
            Self::Broken(why) => format!("The reply broke off: {why}."),
            Self::Withheld => "The model or its server withheld the reply.".to_owned(),
            Self::EmptyAnswer => "The model returned an empty reply.".to_owned(),
            Self::Budget(what) => format!("Stopped: the budget is used up ({what})."),
            Self::Interrupted => "Stopped.".to_owned(),
            Self::Halted(why) => format!("Stopped a loop: {why}."),
            Self::UnknownTools => {
                "Stopped: the model keeps calling tools that do not exist.".to_owned()
            }
            Self::ModelError(fault) => match &fault.hint {
                Some(hint) => format!("{fault}. {hint}"),
                None => fault.to_string(),
            },
            Self::Journal(why) => format!("Stopped: cannot write the session: {why}"),
        })
    }

    /// Returns the stable name for machine-readable output.
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
