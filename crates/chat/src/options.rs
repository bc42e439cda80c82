//! Options of a screen.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Appearance and behavior of a screen.
#[derive(Clone, Default)]
pub struct ScreenOptions {
    /// History file; with `None` the history lasts only as long as the screen.
    pub history: Option<PathBuf>,
    /// Completer for the input line.
    pub completer: Option<Arc<dyn LineCompleter>>,
    /// Shown in an empty input line, for example `/help for commands`.
    pub placeholder: String,
    /// Whether to print reasoning in full instead of one line with its
    /// duration.
    pub whole_thoughts: bool,
    /// Whether to use the plain mode even on a capable terminal.
    pub plain: bool,
    /// Whether to suppress all output but replies and errors in plain mode.
    pub quiet: bool,
}

impl fmt::Debug for ScreenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScreenOptions")
            .field("history", &self.history)
            .field("completer", &self.completer.is_some())
            .field("placeholder", &self.placeholder)
            .field("whole_thoughts", &self.whole_thoughts)
            .field("plain", &self.plain)
            .field("quiet", &self.quiet)
            .finish()
    }
}

/// Completes input lines.
///
/// The render thread calls it on every key in a line that starts with `/`, and
/// on Tab in any other line, so it must return immediately.
pub trait LineCompleter: Send + Sync {
    /// Returns completions for the text before the cursor, best first; `cursor`
    /// is a byte offset into `line`.
    fn complete(&self, line: &str, cursor: usize) -> CompletionList;
}

/// Completions of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionList {
    /// Byte offset at which the replaced text starts; it ends at the cursor.
    pub start: usize,
    /// The candidates.
    pub candidates: Vec<CompletionCandidate>,
}

/// One completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionCandidate {
    /// Text to insert, including a trailing space or slash if wanted.
    pub text: String,
    /// Text shown next to it in the menu; may be empty.
    pub note: String,
}
