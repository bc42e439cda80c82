//! What the thread that draws is told.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::{QuestionAnswer, UserQuestion};

/// What the last row says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusLine {
    /// The model that answers.
    pub model: String,
    /// Tokens of context in use.
    pub context_used: u64,
    /// Tokens of context there are; 0 if unknown.
    pub context_total: u64,
    /// What the conversation cost so far, in dollars; none if nobody knows.
    pub cost: Option<f64>,
    /// More, each with a dot before it: a mode, a folder, a count.
    pub extra: Vec<String>,
}

/// One line of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoLine {
    /// How far it is.
    pub state: TodoState,
    /// What is to be done.
    pub text: String,
}

/// How far a line of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoState {
    /// Not begun.
    Open,
    /// Being done.
    Doing,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

/// The weight of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageLevel {
    Note,
    Warning,
    Error,
}

/// One thing to show, to ask, or to do.
#[derive(Debug)]
pub(crate) enum ScreenCommand {
    Text(String),
    EndText,
    Thought(String),
    Working(Option<String>),
    CallBegan {
        id: String,
        emoji: String,
        name: String,
        summary: String,
    },
    CallProgress {
        id: String,
        message: String,
        fraction: Option<f64>,
    },
    CallEnded {
        id: String,
        ok: bool,
        duration: Duration,
        note: String,
    },
    Message(MessageLevel, String),
    User(String),
    Todo(Vec<TodoLine>),
    Status(StatusLine),
    FillPrompt(String),
    Ask {
        number: u64,
        question: UserQuestion,
        answer: oneshot::Sender<Option<QuestionAnswer>>,
    },
    WithdrawQuestion(u64),
    /// The terminal was taken away and given back: draw everything anew.
    Reacquire,
    Close,
}
