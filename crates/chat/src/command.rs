//! Commands to the render thread.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::{QuestionAnswer, UserQuestion};

/// Content of the status row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusLine {
    /// Name of the model.
    pub model: String,
    /// Context tokens in use.
    pub context_used: u64,
    /// Size of the context window in tokens; 0 if unknown.
    pub context_total: u64,
    /// Cost of the conversation so far in dollars; `None` if unknown.
    pub cost: Option<f64>,
    /// Further parts, separated by dots: a mode, a directory, a count.
    pub extra: Vec<String>,
}

/// One item of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoLine {
    /// Its state.
    pub state: TodoState,
    /// Its description.
    pub text: String,
}

/// State of a plan item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoState {
    /// Not started.
    Open,
    /// In progress.
    Doing,
    /// Done.
    Done,
    /// Abandoned.
    Dropped,
}

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageLevel {
    Note,
    Warning,
    Error,
}

/// A command to the render thread.
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
    /// The terminal was released and must be acquired again: redraw everything.
    Reacquire,
    Close,
}
