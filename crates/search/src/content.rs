//! Searching inside of files.

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

/// What is looked for, and how it is told.
#[derive(Debug, Clone)]
pub struct ContentQuery {
    /// What is looked for.
    pub pattern: SearchPattern,
    /// What is told of it.
    pub output: MatchOutput,
    /// In which order.
    pub sort: SortOrder,
    /// The encoding of the files, where neither they nor their surroundings
    /// tell.
    pub encoding: Option<String>,
}

/// What is told of the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchOutput {
    /// The lines, with some before and after. A page is made of matches.
    Lines {
        /// Lines before a match.
        before: usize,
        /// Lines after a match.
        after: usize,
    },
    /// The files. A page is made of files.
    Files,
    /// How many there are in each file. A page is made of files, and all of
    /// them are searched.
    Counts,
}

/// What was found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file, relative to the root; its name, if it is the root.
    pub path: Arc<Path>,
    /// How many matches, where they were asked for.
    pub count: u64,
    /// The matches, where they were asked for.
    pub matches: Vec<LineMatch>,
}

/// The answer to a search.
#[derive(Debug, Clone)]
pub struct ContentResults {
    /// The page. Its total counts what the page is made of.
    pub page: ResultPage<FileMatches>,
    /// Where they were counted: the matches in all files.
    pub matches: u64,
    /// Matches may go over several lines, so that each is counted; otherwise
    /// it is the lines that have some.
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
        // What was complete before is complete.
        ended => Ok(book.finish(watch, ended, counts_matches)),
    }
}

fn parse_encoding(label: &str) -> Result<Encoding, SearchError> {
    Encoding::new(label).map_err(|_| SearchError::Encoding(label.to_owned()))
}
