//! The handle by which everything is shown and asked.

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
/// Nothing here waits for the terminal, except [`ChatScreen::close`]. When the last clone is dropped
/// the screen is closed.
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
    /// Takes the terminal, if standard input and output are one and it can place its cursor.
    /// Otherwise lines are read from standard input; answers go to standard output, and what is
    /// said beside them to standard error.
    ///
    /// # Errors
    /// The terminal's settings cannot be read or changed, or no thread can be started.
    pub fn open(look: ScreenOptions) -> io::Result<(Self, EventStream)> {
        let (orders, ordered) = unbounded_channel();
        let (tell, told) = unbounded_channel();
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
        Ok((Self(Arc::new(shared)), EventStream(told)))
    }

    /// What kind of terminal there is, if any.
    #[must_use]
    pub fn mode(&self) -> ScreenMode {
        self.0.mode
    }

    /// A piece of an answer, in Markdown, as it comes.
    pub fn text(&self, piece: &str) {
        self.send(ScreenCommand::Text(piece.to_owned()));
    }

    /// The answer, or this part of it, is complete. Anything else that is shown ends it as well.
    pub fn end_text(&self) {
        self.send(ScreenCommand::EndText);
    }

    /// A piece of what the model thinks before it answers.
    pub fn thought(&self, piece: &str) {
        self.send(ScreenCommand::Thought(piece.to_owned()));
    }

    /// Something is going on that shows nothing yet, for instance a model that was asked; none
    /// when that is over.
    pub fn working(&self, label: Option<&str>) {
        self.send(ScreenCommand::Working(label.map(str::to_owned)));
    }

    /// A call began. It has a live row until it ends.
    pub fn call_began(&self, id: &str, emoji: &str, name: &str, summary: &str) {
        self.send(ScreenCommand::CallBegan {
            id: id.to_owned(),
            emoji: emoji.to_owned(),
            name: name.to_owned(),
            summary: summary.to_owned(),
        });
    }

    /// How far a call is: in words, and as a fraction of 1 if that is known.
    pub fn call_progress(&self, id: &str, message: &str, fraction: Option<f64>) {
        let (id, message) = (id.to_owned(), message.to_owned());
        self.send(ScreenCommand::CallProgress { id, message, fraction });
    }

    /// A call ended; its row is printed for good, with a note if there is one.
    pub fn call_ended(&self, id: &str, ok: bool, duration: Duration, note: &str) {
        let (id, note) = (id.to_owned(), note.to_owned());
        self.send(ScreenCommand::CallEnded { id, ok, duration, note });
    }

    /// A remark, in any number of lines; spaces and line ends stay.
    pub fn note(&self, text: &str) {
        self.send(ScreenCommand::Message(MessageLevel::Note, text.to_owned()));
    }

    /// Something to beware of.
    pub fn warn(&self, text: &str) {
        self.send(ScreenCommand::Message(MessageLevel::Warning, text.to_owned()));
    }

    /// Something that failed.
    pub fn error(&self, text: &str) {
        self.send(ScreenCommand::Message(MessageLevel::Error, text.to_owned()));
    }

    /// What the person said; a line is not shown again by itself when it is sent.
    pub fn user(&self, text: &str) {
        self.send(ScreenCommand::User(text.to_owned()));
    }

    /// A plan, as it is now.
    pub fn todo(&self, plan: &[TodoLine]) {
        self.send(ScreenCommand::Todo(plan.to_vec()));
    }

    /// What the status row says from now on.
    pub fn status(&self, status: StatusLine) {
        self.send(ScreenCommand::Status(status));
    }

    /// Puts a text into the line that is typed, for instance a message that is to be changed.
    pub fn fill(&self, text: &str) {
        self.send(ScreenCommand::FillPrompt(text.to_owned()));
    }

    /// Asks, and waits for the answer. Questions wait for one another; what is being typed is
    /// kept. None if the person presses Esc, if there is nobody to ask, or when the screen is
    /// closed. Dropping the future takes the question back.
    pub async fn ask(&self, question: UserQuestion) -> Option<QuestionAnswer> {
        let number = self.0.questions.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let _asked = QuestionGuard { screen: self, number };
        self.send(ScreenCommand::Ask { number, question, answer });
        answered.await.ok().flatten()
    }

    /// Shows what is left to show and gives the terminal back. What is ordered later is lost. The
    /// signals that were listened for (INT, TERM, HUP) do not end the program by themselves again.
    pub fn close(&self) {
        self.0.close();
    }

    fn send(&self, order: ScreenCommand) {
        // Nobody listens after the close; then there is nothing to show it on.
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

/// A question that is on its way, or on the screen.
struct QuestionGuard<'a> {
    screen: &'a ChatScreen,
    number: u64,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        self.screen.send(ScreenCommand::WithdrawQuestion(self.number));
    }
}
