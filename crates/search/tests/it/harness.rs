//! A tree of files, and searches in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_core::ToolContext;
use hermes_files::FileAccess;
use hermes_search::{
    ContentQuery, ContentResults, EntryKinds, FileSelection, FoundEntry, MatchOutput, NameQuery,
    PageRange, PathGlob, ResultPage, SearchError, SearchMonitor, SearchPattern, SearchRoot,
    SortOrder, find_names, search,
};
use tempfile::TempDir;

pub(crate) const ALL: PageRange = PageRange { offset: 0, limit: 1_000_000 };
pub(crate) const LINES: MatchOutput = MatchOutput::Lines { before: 0, after: 0 };

pub(crate) struct Tree {
    dir: TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap() };
        for (name, content) in files {
            tree.write(name, content);
        }
        tree
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Gives a file an age in seconds.
    pub(crate) fn age(&self, name: &str, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - seconds);
        let file = fs::File::options().write(true).open(self.path().join(name)).unwrap();
        file.set_modified(time).unwrap();
    }

    pub(crate) fn root(&self, below: &str) -> SearchRoot {
        let path = if below.is_empty() { self.path() } else { self.path().join(below) };
        SearchRoot::open(&FileAccess::new(&ToolContext::bare(&path)), &path).unwrap()
    }

    pub(crate) fn search(&self, content: &ContentQuery, page: PageRange) -> ContentResults {
        self.search_in("", &FileSelection::default(), content, page).unwrap()
    }

    pub(crate) fn search_in(
        &self,
        below: &str,
        selection: &FileSelection,
        content: &ContentQuery,
        page: PageRange,
    ) -> Result<ContentResults, SearchError> {
        let cx = ToolContext::bare(self.path());
        search(&self.root(below), selection, content, page, &SearchMonitor::new(&cx))
    }

    /// The lines that match, as `path:number:text`.
    pub(crate) fn lines(&self, pattern: &str) -> Vec<String> {
        lines(&self.search(&of(SearchPattern::regex(pattern), LINES), ALL))
    }

    pub(crate) fn names(
        &self,
        glob: &str,
        sort: SortOrder,
        page: PageRange,
    ) -> ResultPage<FoundEntry> {
        let names =
            NameQuery { glob: PathGlob::new(glob, false).unwrap(), kinds: EntryKinds::Files, sort };
        let cx = ToolContext::bare(self.path());
        find_names(
            &self.root(""),
            &FileSelection::default(),
            &names,
            page,
            &SearchMonitor::new(&cx),
        )
        .unwrap()
    }
}

pub(crate) fn of(pattern: SearchPattern, report: MatchOutput) -> ContentQuery {
    ContentQuery { pattern, output: report, sort: SortOrder::Path, encoding: None }
}

pub(crate) fn lines(searched: &ContentResults) -> Vec<String> {
    let all = searched.page.items.iter().flat_map(|hits| &hits.matches);
    all.flat_map(|found| {
        let path = found.path.to_string_lossy().into_owned();
        found.lines.iter().map(move |line| format!("{path}:{}:{}", line.number, line.text))
    })
    .collect()
}

pub(crate) fn paths(searched: &ContentResults) -> Vec<String> {
    let items = searched.page.items.iter();
    items.map(|hits| hits.path.to_string_lossy().into_owned()).collect()
}

pub(crate) fn named(found: &ResultPage<FoundEntry>) -> Vec<String> {
    found.items.iter().map(|named| named.path.to_string_lossy().into_owned()).collect()
}
