//! The handle for output and questions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::command::{MessageLevel, ScreenCommand};
use crate::mode::{RenderStart, ScreenMode};
use crate::{EventStream, QuestionAnswer, ScreenOptions, StatusLine, TodoLine, UserQuestion};

/// The screen of a conversation: cheap to clone, usable from any thread.
///
/// No method waits for the terminal, except [`ChatScreen::close`]. Dropping the
/// last clone closes the screen.
#[derive(Clone, Debug)]
pub struct ChatScreen(Arc<ScreenHandle>);

#[derive(Debug)]
struct ScreenHandle {
    command_tx: UnboundedSender<ScreenCommand>,
    thread: Mutex<Option<JoinHandle<()>>>,
    questions: AtomicU64,
    mode: ScreenMode,
}

impl ChatScreen {
    /// Opens the screen. Acquires the terminal if standard input and output are
    /// one with cursor control. Otherwise reads lines from standard input and
    /// writes replies to standard output and other messages to standard error.
    ///
    /// # Errors
    /// If the terminal's settings cannot be read or changed, or no thread can
    /// be started.
    pub fn open(look: ScreenOptions) -> io::Result<(Self, EventStream)> {
        let (orders, ordered) = unbounded_channel();
        let (tell, shown) = unbounded_channel();
        let start = RenderStart {
            options: look,
            command_tx: orders.clone(),
            command_rx: ordered,
            event_tx: tell,
        };
        let (thread, form) = crate::mode::start(start)?;
        let shared = ScreenHandle {
            command_tx: orders,
            thread: Mutex::new(Some(thread)),
            questions: AtomicU64::new(0),
            mode: form,
        };
        Ok((Self(Arc::new(shared)), EventStream(shown)))
    }

    /// Returns the mode of the screen.
    #[must_use]
    pub fn mode(&self) -> ScreenMode {
        self.0.mode
    }

    /// Appends a piece of a reply, in Markdown.
    pub fn text(&self, piece: &str) {
        self.send(ScreenCommand::Text(piece.to_owned()));
    }

    /// Ends the reply, or this part of it. Any other output ends it as well.
    pub fn end_text(&self) {
        self.send(ScreenCommand::EndText);
    }

    /// Appends a piece of the model's reasoning.
    pub fn thought(&self, piece: &str) {
        self.send(ScreenCommand::Thought(piece.to_owned()));
    }

    /// Shows an activity without output yet, for example a pending model
    /// request; `None` ends it.
    pub fn working(&self, label: Option<&str>) {
        self.send(ScreenCommand::Working(label.map(str::to_owned)));
    }

    /// Shows that a call started. It has a live row until it ends.
    pub fn call_began(&self, id: &str, emoji: &str, name: &str, summary: &str) {
        self.send(ScreenCommand::CallBegan {
            id: id.to_owned(),
            emoji: emoji.to_owned(),
            name: name.to_owned(),
            summary: summary.to_owned(),
        });
    }

    /// Shows the progress of a call: a message and, if known, a fraction of 1.
    pub fn call_progress(&self, id: &str, message: &str, fraction: Option<f64>) {
        let (id, message) = (id.to_owned(), message.to_owned());
        self.send(ScreenCommand::CallProgress { id, message, fraction });
    }

    /// Shows that a call ended; its row is printed permanently, with a note if
    /// not empty.
    pub fn call_ended(&self, id: &str, ok: bool, duration: Duration, note: &str) {
        let (id, note) = (id.to_owned(), note.to_owned());
        self.send(ScreenCommand::CallEnded { id, ok, duration, note });
    }

    /// Prints a note of any number of lines, preserving whitespace.
    pub fn note(&self, text: &str) {
        self.send(ScreenCommand::Message(MessageLevel::Note, text.to_owned()));
    }

    /// Prints a warning.
    pub fn warn(&self, text: &str) {
        self.send(ScreenCommand::Message(MessageLevel::Warning, text.to_owned()));
    }

    /// Prints an error.
    pub fn error(&self, text: &str) {
        self.send(ScreenCommand::Message(MessageLevel::Error, text.to_owned()));
    }

    /// Prints a user message; submitted lines are not echoed automatically.
    pub fn user(&self, text: &str) {
        self.send(ScreenCommand::User(text.to_owned()));
    }

    /// Prints the current state of a plan.
    pub fn todo(&self, plan: &[TodoLine]) {
        self.send(ScreenCommand::Todo(plan.to_vec()));
    }

    /// Sets the status row.
    pub fn status(&self, status: StatusLine) {
        self.send(ScreenCommand::Status(status));
    }

    /// Puts a text into the input line, for example a message to edit.
    pub fn fill(&self, text: &str) {
        self.send(ScreenCommand::FillPrompt(text.to_owned()));
    }

    /// Asks a question and waits for the answer. Questions are queued; the
    /// current input is kept. Returns `None` if the user presses Esc, if there
    /// is no user, or when the screen is closed. Dropping the future withdraws
    /// the question.
    pub async fn ask(&self, question: UserQuestion) -> Option<QuestionAnswer> {
        let number = self.0.questions.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let _asked = QuestionGuard { screen: self, number };
        self.send(ScreenCommand::Ask { number, question, answer });
        answered.await.ok().flatten()
    }

    /// Prints pending output and restores the terminal. Later output is lost.
    /// Handled signals (INT, TERM, HUP) do not regain their default action.
    pub fn close(&self) {
        self.0.close();
    }

    fn send(&self, order: ScreenCommand) {
        // Fails only after the close, when there is nothing to show it on.
        let _ = self.0.command_tx.send(order);
    }
}

impl ScreenHandle {
    fn close(&self) {
        let _ = self.command_tx.send(ScreenCommand::Close);
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for ScreenHandle {
    fn drop(&mut self) {
        self.close();
    }
}

/// Withdraws a question when dropped.
struct QuestionGuard<'a> {
    screen: &'a ChatScreen,
    number: u64,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        self.screen.send(ScreenCommand::WithdrawQuestion(self.number));
    }
}
