//! User events.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;

/// A user action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserEvent {
    /// A submitted line; while a reply is in progress it steers the model.
    Line {
        /// The whole text, including pastes.
        text: String,
        /// Pasted or dropped files; their paths are also in the text.
        attachments: Vec<PathBuf>,
    },
    /// Shift-Tab outside a menu; the application decides its meaning, for
    /// example the next mode.
    ShiftTab,
    /// Ctrl-C on an empty line, or SIGINT: stop the current work.
    Interrupt,
    /// Ctrl-D on an empty line, or end of input.
    Quit,
    /// SIGTERM, SIGHUP, or a closed terminal. The terminal is already restored:
    /// save state and exit.
    Terminated,
    /// The terminal size changed; relevant only to callers that measure it.
    Resized,
}

/// The events of a screen, in order.
#[derive(Debug)]
pub struct EventStream(pub(crate) UnboundedReceiver<UserEvent>);

impl EventStream {
    /// Waits for the next event; returns `None` once the screen is closed.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<UserEvent> {
        self.0.recv().await
    }

    /// Returns the next event if one is pending.
    pub fn try_next(&mut self) -> Option<UserEvent> {
        self.0.try_recv().ok()
    }
}
