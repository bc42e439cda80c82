//! Finding files by content and by name, as fast as ripgrep.
//!
//! A [`SearchRoot`] is opened through the user's grants and held open; everything
//! below it is reached from that handle, and no link is followed. Many threads
//! work side by side, yet results come in a fixed order, so that one page of
//! them goes on where the other ended.

mod bounded_heap;
mod carriage_returns;
mod clip;
mod content;
mod content_search;
mod dir_handle;
mod entry;
mod error;
mod fuzzy;
mod glob;
mod ignore_rules;
mod lines;
mod matcher;
mod monitor;
mod names;
mod ordered_work;
mod page_builder;
mod pattern;
mod root;
mod selection;
mod sink;
mod source;
mod walk;

pub use bounded_heap::BoundedHeap;
pub use content::{ContentQuery, ContentResults, FileMatches, MatchOutput, search};
pub use error::{PatternSyntaxError, SearchError};
pub use fuzzy::{FuzzyHit, find_fuzzy};
pub use glob::{PathGlob, split_globs};
pub use ignore_rules::{DirIgnoreRules, IgnoreMarkers};
pub use lines::{FileLine, LineMatch};
pub use monitor::{EarlyStop, FormatDetector, SearchMonitor, SkippedFiles};
pub use names::{EntryKinds, FoundEntry, NameQuery, find_names};
pub use pattern::{CaseMode, SearchPattern};
pub use root::SearchRoot;
pub use selection::{FileSelection, HiddenPathRules, nearest_type};

/// What the results are ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortOrder {
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
pub struct PageRange {
    /// How many to pass over first.
    pub offset: u64,
    /// How many to give at most.
    pub limit: u64,
}

impl PageRange {
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
pub struct ResultPage<T> {
    /// The results of the page.
    pub items: Vec<T>,
    /// How many there are in all, or at least.
    pub total: u64,
    /// Whether `total` is exact.
    pub is_exact: bool,
    /// Whether there are more than those up to the end of the page.
    pub has_more: bool,
    /// How many files were looked at.
    pub files_visited: u64,
    /// What was left out against its will.
    pub skipped: SkippedFiles,
    /// Why the search ended early, if it did.
    pub early_stop: Option<EarlyStop>,
}
