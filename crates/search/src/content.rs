//! Searching inside of files.

use std::path::Path;
use std::sync::Arc;

use grep_searcher::Encoding;

use crate::book::Book;
use crate::error::SearchError;
use crate::lines::Match;
use crate::pattern::Pattern;
use crate::root::{Root, What};
use crate::searching::Search;
use crate::selection::Selection;
use crate::walk::Walk;
use crate::watch::{Ended, Watch};
use crate::{Found, Page, Sort};

/// What is looked for, and how it is told.
#[derive(Debug, Clone)]
pub struct Content {
    /// What is looked for.
    pub pattern: Pattern,
    /// What is told of it.
    pub report: Report,
    /// In which order.
    pub sort: Sort,
    /// The encoding of the files, where neither they nor their surroundings
    /// tell.
    pub encoding: Option<String>,
}

/// What is told of the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
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
pub struct Hits {
    /// The file, relative to the root; its name, if it is the root.
    pub path: Arc<Path>,
    /// How many matches, where they were asked for.
    pub count: u64,
    /// The matches, where they were asked for.
    pub matches: Vec<Match>,
}

/// The answer to a search.
#[derive(Debug, Clone)]
pub struct Searched {
    /// The page. Its total counts what the page is made of.
    pub found: Found<Hits>,
    /// Where they were counted: the matches in all files.
    pub matches: u64,
    /// Matches may go over several lines, so that each is counted; otherwise
    /// it is the lines that have some.
    pub counts_matches: bool,
}

/// Searches a root.
pub fn search(
    root: &Root,
    selection: &Selection,
    content: &Content,
    page: Page,
    watch: &Watch<'_>,
) -> Result<Searched, SearchError> {
    let ready = content.pattern.ready()?;
    let counts_matches = ready.multiline;
    let encoding = content.encoding.as_deref().map(encoding).transpose()?;
    let book = Book::new(content.report, page);
    let needed = (content.report != Report::Counts).then(|| page.needed());
    let (place, report) = (&*root.place, content.report);
    let label = content.encoding.as_deref();
    let search = Search { walk: None, place, watch, ready, encoding, label, report, needed };
    let book = match &root.what {
        What::File { file, name } => search.one(file, Arc::from(Path::new(name)), book),
        What::Folder { base, above } => {
            let walk = Walk::new(base, Arc::clone(&root.place), selection)?;
            let search = Search { walk: Some(&walk), ..search };
            match content.sort {
                Sort::Path => search.in_order(vec![search.start(above)], book),
                Sort::Modified => search.in_order(search.by_time(above), book),
                Sort::Relevance => search.by_relevance(above, book),
            }
        }
    };
    match watch.ended() {
        Some(Ended::Cancelled) => Err(SearchError::Cancelled),
        // What was complete before is complete.
        ended => Ok(book.close(watch, ended, counts_matches)),
    }
}

fn encoding(label: &str) -> Result<Encoding, SearchError> {
    Encoding::new(label).map_err(|_| SearchError::Encoding(label.to_owned()))
}
