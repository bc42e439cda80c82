//! What the person did.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;

/// One thing that the person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserEvent {
    /// A line was sent; while an answer is under way it is meant to steer it.
    Line {
        /// The whole text, pastes included.
        text: String,
        /// Files that were pasted or dropped; their paths are in the text as well.
        attachments: Vec<PathBuf>,
    },
    /// Shift-Tab, where no menu takes it: the next mode, or whatever else the program has it for.
    ShiftTab,
    /// Ctrl-C with nothing typed, or SIGINT: stop what is going on.
    Interrupt,
    /// Ctrl-D with nothing typed, or the end of the input.
    Quit,
    /// SIGTERM, SIGHUP, or a terminal that is gone. It is restored already: keep what must be
    /// kept, and leave.
    Terminated,
    /// The terminal has another size; only of interest to those who measure it.
    Resized,
}

/// The events of a screen, in order.
#[derive(Debug)]
pub struct EventStream(pub(crate) UnboundedReceiver<UserEvent>);

impl EventStream {
    /// Waits for the next event; none when the screen is closed. May be dropped at any time
    /// without losing one.
    pub async fn next(&mut self) -> Option<UserEvent> {
        self.0.recv().await
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<UserEvent> {
        self.0.try_recv().ok()
    }
}
