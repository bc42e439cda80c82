//! What a screen is opened with.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// How a screen is to look and to behave.
#[derive(Clone, Default)]
pub struct ScreenOptions {
    /// Where sent lines are remembered; none remembers them for this screen only.
    pub history: Option<PathBuf>,
    /// Completes what is typed.
    pub completer: Option<Arc<dyn LineCompleter>>,
    /// Shown in an empty line, for instance `/help for commands`.
    pub placeholder: String,
    /// Thoughts are printed as a whole, and not in one line that says how long they took.
    pub whole_thoughts: bool,
    /// The plain form, even on a terminal that can do more.
    pub plain: bool,
    /// In the plain form, nothing is said beside answers but what failed.
    pub quiet: bool,
}

impl fmt::Debug for ScreenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look")
            .field("history", &self.history)
            .field("completer", &self.completer.is_some())
            .field("placeholder", &self.placeholder)
            .field("whole_thoughts", &self.whole_thoughts)
            .field("plain", &self.plain)
            .field("quiet", &self.quiet)
            .finish()
    }
}

/// Knows how a line may go on.
///
/// It is asked by the thread that draws, with every key in a line that starts with `/` and with
/// Tab in any other, so it must answer at once.
pub trait LineCompleter: Send + Sync {
    /// What could stand before the cursor, best first; `cursor` is a byte offset into `line`.
    fn complete(&self, line: &str, cursor: usize) -> CompletionList;
}

/// Ways to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionList {
    /// The byte offset from which the text before the cursor is replaced.
    pub start: usize,
    /// By what.
    pub candidates: Vec<CompletionCandidate>,
}

/// One way to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionCandidate {
    /// What is put in, with its space or slash at the end if it should have one.
    pub text: String,
    /// What is shown beside it in the menu; may be empty.
    pub note: String,
}
