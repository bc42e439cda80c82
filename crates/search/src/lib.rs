//! Finding files by content and by name, as fast as ripgrep.
//!
//! A [`SearchRoot`] is opened through the user's grants and held open;
//! everything below it is reached from that handle, and no symlink is followed.
//! Threads work in parallel, yet results have a fixed order, so each page
//! continues where the previous one ended.

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

/// The order of the results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortOrder {
    /// By path, component by component.
    #[default]
    Path,
    /// By modification time, newest first.
    Modified,
    /// By relevance, best first.
    Relevance,
}

/// The requested page of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    /// How many results to skip.
    pub offset: u64,
    /// The maximum number of results.
    pub limit: u64,
}

impl PageRange {
    /// How many results fill the page.
    fn end(self) -> u64 {
        self.offset.saturating_add(self.limit)
    }

    /// How many results fill the page and show whether there are more.
    fn needed(self) -> u64 {
        self.end().saturating_add(1)
    }
}

/// A page of results.
#[derive(Debug, Clone)]
pub struct ResultPage<T> {
    /// The results of the page.
    pub items: Vec<T>,
    /// The total number of results, or a lower bound.
    pub total: u64,
    /// Whether `total` is exact.
    pub is_exact: bool,
    /// Whether there are results after the page.
    pub has_more: bool,
    /// How many files were visited.
    pub files_visited: u64,
    /// What had to be skipped.
    pub skipped: SkippedFiles,
    /// Why the search ended early, if it did.
    pub early_stop: Option<EarlyStop>,
}
