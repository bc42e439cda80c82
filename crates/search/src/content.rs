//! Content search.

use std::path::Path;
use std::sync::Arc;

use grep_searcher::Encoding;

use crate::content_search::ContentSearch;
use crate::error::SearchError;
use crate::lines::LineMatch;
use crate::monitor::{EarlyStop, SearchMonitor};
use crate::page_builder::PageBuilder;
use crate::pattern::SearchPattern;
use crate::root::{RootKind, SearchRoot};
use crate::selection::FileSelection;
use crate::walk::SearchWalk;
use crate::{PageRange, ResultPage, SortOrder};

/// A content query and its output mode.
#[derive(Debug, Clone)]
pub struct ContentQuery {
    /// The pattern to search for.
    pub pattern: SearchPattern,
    /// What to report.
    pub output: MatchOutput,
    /// The order of the results.
    pub sort: SortOrder,
    /// The encoding of files for which none can be detected.
    pub encoding: Option<String>,
}

/// What to report about matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchOutput {
    /// The matching lines with context. A page counts matches.
    Lines {
        /// Lines before a match.
        before: usize,
        /// Lines after a match.
        after: usize,
    },
    /// The files. A page counts files.
    Files,
    /// The number of matches per file. A page counts files, and all of them are
    /// searched.
    Counts,
}

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file, relative to the root; its name if it is the root.
    pub path: Arc<Path>,
    /// The number of matches, if requested.
    pub count: u64,
    /// The matches, if requested.
    pub matches: Vec<LineMatch>,
}

/// The results of a content search.
#[derive(Debug, Clone)]
pub struct ContentResults {
    /// The page. Its total counts the same unit as the page.
    pub page: ResultPage<FileMatches>,
    /// The matches in all files, if counted.
    pub matches: u64,
    /// Whether matches were counted, since they may span lines, rather than
    /// matching lines.
    pub counts_matches: bool,
}

/// Searches a root.
pub fn search(
    root: &SearchRoot,
    selection: &FileSelection,
    content: &ContentQuery,
    page: PageRange,
    watch: &SearchMonitor<'_>,
) -> Result<ContentResults, SearchError> {
    let ready = content.pattern.compile()?;
    let counts_matches = ready.multiline;
    let encoding = content.encoding.as_deref().map(parse_encoding).transpose()?;
    let book = PageBuilder::new(content.output, page);
    let needed = (content.output != MatchOutput::Counts).then(|| page.needed());
    let (place, report) = (&*root.real_path, content.output);
    let label = content.encoding.as_deref();
    let search = ContentSearch {
        walk: None,
        root_path: place,
        monitor: watch,
        pattern: ready,
        encoding,
        label,
        output: report,
        needed,
    };
    let book = match &root.kind {
        RootKind::File { file, name } => search.search_file(file, Arc::from(Path::new(name)), book),
        RootKind::Dir { base, parent_rules: above } => {
            let walk = SearchWalk::new(base, Arc::clone(&root.real_path), selection)?;
            let search = ContentSearch { walk: Some(&walk), ..search };
            match content.sort {
                SortOrder::Path => search.run_in_order(vec![search.start(above)], book),
                SortOrder::Modified => search.run_in_order(search.files_by_time(above), book),
                SortOrder::Relevance => search.by_relevance(above, book),
            }
        }
    };
    match watch.early_stop() {
        Some(EarlyStop::Cancelled) => Err(SearchError::Cancelled),
        // Results that were complete before a timeout remain valid.
        ended => Ok(book.finish(watch, ended, counts_matches)),
    }
}

fn parse_encoding(label: &str) -> Result<Encoding, SearchError> {
    Encoding::new(label).map_err(|_| SearchError::Encoding(label.to_owned()))
}
