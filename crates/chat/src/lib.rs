//! The terminal of a conversation: what is typed, what is shown, what is asked.
//!
//! A [`ChatScreen`] is written to from any thread; [`EventStream`] tell what the person did. Whether there
//! is a terminal to draw on, a dumb one, or a pipe, is decided when the screen is opened; whoever
//! uses it does not notice. What is finished is printed into the normal scrollback. Only the last
//! few rows are redrawn: what is going on, the line that is typed, the status.
//!
//! ```no_run
//! # async fn conversation() -> std::io::Result<()> {
//! use hermes_chat::{Event, Look, Screen};
//!
//! let (screen, mut events) = Screen::open(Look::default())?;
//! while let Some(event) = events.next().await {
//!     match event {
//!         Event::Line { text, .. } => {
//!             screen.user(&text);
//!             screen.text(&format!("You said **{text}**."));
//!             screen.end_text();
//!         }
//!         Event::Quit | Event::Terminated => break,
//!         Event::Interrupt | Event::ShiftTab | Event::Resized => {}
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
