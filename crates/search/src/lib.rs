//! Finding files by content and by name, as fast as ripgrep.
//!
//! A [`Root`] is opened through the user's grants and held open; everything
//! below it is reached from that handle, and no link is followed. Many threads
//! work side by side, yet results come in a fixed order, so that one page of
//! them goes on where the other ended.

mod best;
mod book;
mod clip;
mod content;
mod entry;
mod error;
mod fuzzy;
mod glob;
mod handle;
mod lines;
mod matcher;
mod names;
mod order;
mod pattern;
mod returns;
mod root;
mod rules;
mod searching;
mod selection;
mod sink;
mod source;
mod walk;
mod watch;

pub use best::Best;
pub use content::{Content, Hits, Report, Searched, search};
pub use error::{SearchError, Syntax};
pub use fuzzy::{Near, find_near};
pub use glob::{PathGlob, split_globs};
pub use lines::{Line, Match};
pub use names::{Named, Names, Wanted, find_names};
pub use pattern::{Case, Pattern};
pub use root::Root;
pub use rules::{Marks, Rules};
pub use selection::{Selection, Veil, nearest_type};
pub use watch::{Ended, Skipped, Spelling, Watch};

/// What the results are ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// The path, part by part.
    #[default]
    Path,
    /// When it was modified, newest first.
    Modified,
    /// What is most likely meant comes first.
    Relevance,
}

/// Which of the results are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many to pass over first.
    pub offset: u64,
    /// How many to give at most.
    pub limit: u64,
}

impl Page {
    /// How many results must be known to fill the page.
    fn end(self) -> u64 {
        self.offset.saturating_add(self.limit)
    }

    /// How many results must be known to fill the page and to tell whether
    /// there are more.
    fn needed(self) -> u64 {
        self.end().saturating_add(1)
    }
}

/// A page of results.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// The results of the page.
    pub items: Vec<T>,
    /// How many there are in all, or at least.
    pub total: u64,
    /// Whether `total` is exact.
    pub is_exact: bool,
    /// Whether there are more than those up to the end of the page.
    pub has_more: bool,
    /// How many files were looked at.
    pub looked_at: u64,
    /// What was left out against its will.
    pub skipped: Skipped,
    /// Why the search ended early, if it did.
    pub ended: Option<Ended>,
}
