//! Terminal interface of a conversation: input, output and questions.
//!
//! Any thread can write to a [`ChatScreen`]; an [`EventStream`] delivers the
//! user's actions. The screen chooses its mode when it is opened (a full
//! terminal, a dumb one, or a pipe), and callers use it the same way in each.
//! Finished output is printed to the normal scrollback. Only the last few rows
//! are redrawn: current activity, the input line, the status.
//!
//! ```no_run
//! # async fn conversation() -> std::io::Result<()> {
//! use hermes_chat::{ChatScreen, ScreenOptions, UserEvent};
//!
//! let (screen, mut events) = ChatScreen::open(ScreenOptions::default())?;
//! while let Some(event) = events.next().await {
//!     match event {
//!         UserEvent::Line { text, .. } => {
//!             screen.user(&text);
//!             screen.text(&format!("You said **{text}**."));
//!             screen.end_text();
//!         }
//!         UserEvent::Quit | UserEvent::Terminated => break,
//!         UserEvent::Interrupt | UserEvent::ShiftTab | UserEvent::Resized => {}
//!     }
//! }
//! screen.close();
//! # Ok(())
//! # }
//! ```

mod command;
mod editor;
mod event;
mod markdown;
mod mode;
mod options;
mod plain;
mod question;
mod rich;
mod row;
mod sanitize;
mod screen;
mod signals;
mod transcript;
mod wrap;

pub use command::{StatusLine, TodoLine, TodoState};
pub use event::{EventStream, UserEvent};
pub use mode::ScreenMode;
pub use options::{CompletionCandidate, CompletionList, LineCompleter, ScreenOptions};
pub use question::{QuestionAnswer, QuestionChoice, UserQuestion};
pub use sanitize::sanitize;
pub use screen::ChatScreen;
