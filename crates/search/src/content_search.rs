//! The parallel part of a content search.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use grep_matcher::{LineTerminator, Matcher};
use grep_searcher::{BinaryDetection, Encoding, Searcher, SearcherBuilder};
use hermes_files::{FileKind, IgnoreRules};
use hermes_text::binary;
use hermes_text::codec::{TextFormat, may_be_utf16};

use crate::carriage_returns::CodeUnits;
use crate::content::{FileMatches, MatchOutput};
use crate::matcher::LineMatcher;
use crate::monitor::{SearchMonitor, SkipReason};
use crate::ordered_work::{self, OrderKey, RunLimits, WorkOutput, WorkOutputs, key_at, key_in};
use crate::page_builder::PageBuilder;
use crate::pattern::CompiledSearch;
use crate::sink::{CollectSink, CountSink};
use crate::source::{CancellableReader, FileSource, sample_from_non_ascii};
use crate::walk::{DirTask, HeldDir, SearchWalk, is_access_error, join_path};

/// Files that a thread takes at a time.
const FILES_PER_BATCH: usize = 32;
/// Limit for the bytes of one line in memory.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// Limit for the bytes of one file in memory when matches may span lines.
const MAX_MULTILINE_BYTES: usize = 256 * 1024 * 1024;

/// A unit of work.
#[derive(Debug)]
pub(crate) enum SearchWork {
    Dir(DirTask),
    Files(FileBatch),
}

/// Some files of a directory.
#[derive(Debug)]
pub(crate) struct FileBatch {
    held: HeldDir,
    dir: Arc<Path>,
    names: Vec<OsString>,
}

/// Per-thread state.
struct SearchWorker {
    searcher: Searcher,
    matcher: LineMatcher,
    buffer: Vec<u8>,
    /// Searchers for other encodings, by name.
    others: HashMap<&'static str, Searcher>,
}

/// A search, shared by all threads.
pub(crate) struct ContentSearch<'a> {
    pub(crate) walk: Option<&'a SearchWalk<'a>>,
    /// The canonical path of the root.
    pub(crate) root_path: &'a Path,
    pub(crate) monitor: &'a SearchMonitor<'a>,
    pub(crate) pattern: CompiledSearch,
    pub(crate) encoding: Option<Encoding>,
    /// The name of `encoding`.
    pub(crate) label: Option<&'a str>,
    pub(crate) output: MatchOutput,
    /// How many results are enough; `None` if all are wanted.
    pub(crate) needed: Option<u64>,
}

impl<'a> ContentSearch<'a> {
    pub(crate) fn start(&self, above: &[IgnoreRules]) -> (OrderKey, SearchWork) {
        match self.walk {
            Some(walk) => {
                let (key, task) = walk.start(above);
                (key, SearchWork::Dir(task))
            }
            None => (OrderKey::new(), SearchWork::Files(FileBatch::empty())),
        }
    }

    /// Searches a file named by the caller.
    pub(crate) fn search_file(
        &self,
        file: &File,
        path: Arc<Path>,
        mut book: PageBuilder,
    ) -> PageBuilder {
        let mut hand = self.new_worker();
        hand.searcher.set_binary_detection(BinaryDetection::convert(0));
        self.monitor.count_files(1);
        let never = AtomicBool::new(false);
        let whole = || self.root_path.to_path_buf();
        match self.search(&mut hand, file, u64::MAX, Arc::clone(&path), &whole, &never) {
            Ok(hits) => book.add(hits),
            Err(error) => self.record_error(&error, &path, &never),
        }
        book
    }

    pub(crate) fn run_in_order(
        &self,
        start: Vec<(OrderKey, SearchWork)>,
        mut book: PageBuilder,
    ) -> PageBuilder {
        let plan =
            RunLimits { needed: self.needed, is_stopped: &|| self.monitor.early_stop().is_some() };
        let take = |hits: Vec<FileMatches>| hits.into_iter().for_each(|hits| book.add(hits));
        ordered_work::run_ordered(
            &plan,
            start,
            || self.new_worker(),
            |hand, key, work, dropped, outcome| self.process(hand, key, work, dropped, outcome),
            take,
        );
        book
    }

    /// Lists all files, newest first.
    pub(crate) fn files_by_time(&self, above: &[IgnoreRules]) -> Vec<(OrderKey, SearchWork)> {
        let plan = RunLimits { needed: None, is_stopped: &|| self.monitor.early_stop().is_some() };
        let workers = ordered_work::run_ordered(
            &plan,
            vec![self.start(above)],
            Vec::new,
            |found: &mut Vec<(Reverse<SystemTime>, PathBuf)>, key, work, _, outcome| {
                let batch = match work {
                    SearchWork::Dir(task) => return self.list_dir(key, &task, outcome),
                    SearchWork::Files(batch) => batch,
                };
                for name in batch.names {
                    let path = join_path(&batch.dir, &name);
                    let known = match (batch.held.dir(), self.walk) {
                        (Some(dir), _) => dir.stat(Path::new(&name)).ok(),
                        (None, walk) => walk.and_then(|walk| walk.root_handle().stat(&path).ok()),
                    };
                    let time = known.and_then(|known| known.modified);
                    found.push((Reverse(time.unwrap_or(SystemTime::UNIX_EPOCH)), path));
                }
            },
            |(): ()| {},
        );
        let mut all: Vec<_> = workers.into_iter().flatten().collect();
        all.sort_unstable();
        batch_work(all.into_iter().map(|(_, path)| path))
    }

    /// Searches files whose name matches first, then those with the most
    /// matches.
    pub(crate) fn by_relevance(&self, above: &[IgnoreRules], book: PageBuilder) -> PageBuilder {
        let mut all: Vec<FileMatches> = Vec::new();
        let counting = ContentSearch {
            output: MatchOutput::Counts,
            needed: None,
            pattern: self.pattern.clone(),
            encoding: self.encoding.clone(),
            ..*self
        };
        let plan = RunLimits { needed: None, is_stopped: &|| self.monitor.early_stop().is_some() };
        ordered_work::run_ordered(
            &plan,
            vec![self.start(above)],
            || counting.new_worker(),
            |hand, key, work, dropped, outcome| counting.process(hand, key, work, dropped, outcome),
            |mut hits: Vec<FileMatches>| all.append(&mut hits),
        );
        let fits = |path: &Path| {
            let name = path.file_name().unwrap_or_default().as_bytes();
            self.pattern.matcher.is_match(name).unwrap_or(false)
        };
        all.sort_by_cached_key(|hits| {
            (Reverse(fits(&hits.path)), Reverse(hits.count), hits.path.to_path_buf())
        });
        let mut book = book;
        if !matches!(self.output, MatchOutput::Lines { .. }) {
            all.into_iter().for_each(|hits| book.add(hits));
            return book;
        }
        let total = all.iter().map(|hits| hits.count).sum();
        let mut book =
            self.run_in_order(batch_work(all.iter().map(|hits| hits.path.to_path_buf())), book);
        book.known_total = Some(total);
        book
    }

    fn new_worker(&self) -> SearchWorker {
        let searcher = self.build_searcher(self.encoding.clone());
        let matcher = self.pattern.matcher.clone();
        SearchWorker { searcher, matcher, buffer: Vec::new(), others: HashMap::new() }
    }

    fn build_searcher(&self, encoding: Option<Encoding>) -> Searcher {
        let CompiledSearch { multiline, crlf, .. } = self.pattern;
        let mut builder = SearcherBuilder::new();
        let heap = if multiline { MAX_MULTILINE_BYTES } else { MAX_LINE_BYTES };
        builder
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(multiline)
            .heap_limit(Some(heap))
            .encoding(encoding)
            .line_number(false);
        if crlf {
            builder.line_terminator(LineTerminator::crlf());
        }
        if let MatchOutput::Lines { before, after } = self.output {
            builder.line_number(true).before_context(before).after_context(after);
            builder.max_matches(self.needed);
        }
        builder.build()
    }

    fn process(
        &self,
        hand: &mut SearchWorker,
        key: &OrderKey,
        work: SearchWork,
        dropped: &AtomicBool,
        outcome: &mut WorkOutputs<SearchWork, Vec<FileMatches>>,
    ) {
        match work {
            SearchWork::Dir(task) => self.list_dir(key, &task, outcome),
            SearchWork::Files(batch) => {
                let mut found = Vec::new();
                let mut weight = 0_u64;
                self.monitor.count_files(batch.names.len());
                for name in &batch.names {
                    let is_over = self.needed.is_some_and(|needed| weight >= needed);
                    if is_over
                        || dropped.load(Ordering::Relaxed)
                        || self.monitor.early_stop().is_some()
                    {
                        break;
                    }
                    if let Some(hits) = self.search_entry(hand, &batch, name, dropped) {
                        weight += self.result_count(&hits);
                        found.push(hits);
                    }
                }
                // An unfinished batch is dropped: results after the gap would
                // look consecutive.
                let is_whole = self.monitor.early_stop().is_none();
                if !found.is_empty() && is_whole {
                    outcome.push((key.clone(), WorkOutput::Done(found, weight)));
                }
            }
        }
    }

    fn result_count(&self, hits: &FileMatches) -> u64 {
        match self.output {
            MatchOutput::Lines { .. } => hits.matches.len() as u64,
            MatchOutput::Files | MatchOutput::Counts => 1,
        }
    }

    /// Lists the files and subdirectories of a directory, in order.
    fn list_dir<D>(
        &self,
        key: &OrderKey,
        task: &DirTask,
        outcome: &mut WorkOutputs<SearchWork, D>,
    ) {
        let Some(walk) = self.walk else { return };
        let Some(mut listing) = walk.list(task, self.monitor, |_| true) else { return };
        let held = walk.hold_dir(&listing);
        let directory: Arc<Path> = task.relative.as_path().into();
        let mut names: Vec<OsString> = Vec::new();
        let flush = |names: &mut Vec<OsString>, outcome: &mut WorkOutputs<SearchWork, D>| {
            let Some(first) = names.first() else { return };
            let key = key_in(key, first.as_bytes());
            let names = std::mem::take(names);
            let batch = FileBatch { held: held.clone(), dir: Arc::clone(&directory), names };
            outcome.push((key, WorkOutput::Work(SearchWork::Files(batch))));
        };
        for entry in std::mem::take(&mut listing.kept) {
            match entry.kind {
                FileKind::File => {
                    names.push(entry.name);
                    if names.len() >= FILES_PER_BATCH {
                        flush(&mut names, outcome);
                    }
                }
                FileKind::Directory => {
                    flush(&mut names, outcome);
                    let below = walk.descend(task, key, &listing, &entry.name);
                    outcome.extend(
                        below.map(|(key, task)| (key, WorkOutput::Work(SearchWork::Dir(task)))),
                    );
                }
                FileKind::Link => {}
                _ => self.monitor.skip(SkipReason::Special, &join_path(&directory, &entry.name)),
            }
        }
        flush(&mut names, outcome);
    }

    fn search_entry(
        &self,
        hand: &mut SearchWorker,
        batch: &FileBatch,
        name: &OsString,
        dropped: &AtomicBool,
    ) -> Option<FileMatches> {
        let path = || join_path(&batch.dir, name);
        let walk = self.walk?;
        let (file, known) = match walk.open(&batch.held, &batch.dir, name) {
            Ok(opened) => opened,
            Err(error) => {
                if is_access_error(&error) {
                    self.monitor.skip(SkipReason::Unreadable, &path());
                }
                return None;
            }
        };
        if known
            .hard_link_id
            .is_some_and(|file| walk.is_protected_file(&self.root_path.join(path()), file))
        {
            self.monitor.skip(SkipReason::Protected, &path());
            return None;
        }
        if walk.max_filesize().is_some_and(|most| known.len > most) {
            self.monitor.skip(SkipReason::TooLarge, &path());
            return None;
        }
        // Files and counts need a path only for files with matches.
        let early: Arc<Path> = match self.output {
            MatchOutput::Lines { .. } => path().into(),
            MatchOutput::Files | MatchOutput::Counts => Arc::from(Path::new("")),
        };
        let whole = || self.root_path.join(path());
        match self.search(hand, &file, known.len, early, &whole, dropped) {
            Ok(mut hits) => {
                let is_hit = hits.count > 0 || !hits.matches.is_empty();
                if is_hit && hits.path.as_os_str().is_empty() {
                    hits.path = path().into();
                }
                is_hit.then_some(hits)
            }
            Err(error) => {
                self.record_error(&error, &path(), dropped);
                None
            }
        }
    }

    fn search(
        &self,
        hand: &mut SearchWorker,
        file: &File,
        len: u64,
        path: Arc<Path>,
        whole: &dyn Fn() -> PathBuf,
        dropped: &AtomicBool,
    ) -> io::Result<FileMatches> {
        let SearchWorker { searcher, matcher, buffer, others } = hand;
        let mut reader = CancellableReader { file, monitor: self.monitor, dropped };
        let source = FileSource::read(&mut reader, len, buffer)?;
        let other = self.other_encoding(&source, &reader, whole)?;
        let returns = self.detect_bare_returns(&source, &reader, other)?;
        let searcher = match other {
            None => searcher,
            Some(name) => {
                let detection = searcher.binary_detection().clone();
                let other = others
                    .entry(name)
                    .or_insert_with(|| self.build_searcher(Encoding::new(name).ok()));
                other.set_binary_detection(detection);
                other
            }
        };
        let multiline = self.pattern.multiline;
        let is_implicit = searcher.binary_detection().quit_byte().is_some();
        let most = match self.output {
            MatchOutput::Lines { .. } => self.needed.unwrap_or(u64::MAX),
            MatchOutput::Files => 1,
            MatchOutput::Counts => u64::MAX,
        };
        let (hits, is_binary) = if let MatchOutput::Lines { .. } = self.output {
            let mut sink = CollectSink::new(matcher, multiline, Arc::clone(&path), most);
            source.search(searcher, matcher, reader, returns, &mut sink)?;
            (FileMatches { path, count: 0, matches: sink.matches }, sink.is_binary)
        } else {
            let mut sink = CountSink::new(matcher, multiline, most);
            source.search(searcher, matcher, reader, returns, &mut sink)?;
            (FileMatches { path, count: sink.number, matches: Vec::new() }, sink.is_binary)
        };
        if is_binary && is_implicit {
            self.monitor.skip(SkipReason::Binary, Path::new(""));
        }
        Ok(hits)
    }

    /// Returns the code units if bare carriage returns end the lines of a file.
    fn detect_bare_returns(
        &self,
        source: &FileSource<'_>,
        reader: &CancellableReader<'_>,
        encoding: Option<&str>,
    ) -> io::Result<Option<CodeUnits>> {
        if self.pattern.keeps_carriage_returns {
            return Ok(None);
        }
        let units = CodeUnits::detect(source.sample().0, encoding.or(self.label));
        Ok(units.has_bare_returns(source.sample(), reader)?.then_some(units))
    }

    /// Returns the encoding of a text file that is neither UTF-8 nor marked
    /// with a BOM, unless the caller named one.
    fn other_encoding(
        &self,
        source: &FileSource<'_>,
        reader: &CancellableReader<'_>,
        whole: &dyn Fn() -> PathBuf,
    ) -> io::Result<Option<&'static str>> {
        let (sample, is_all) = source.sample();
        if self.encoding.is_some() || has_bom(sample) {
            return Ok(None);
        }
        let (further, mut sample) = (OnceCell::new(), sample);
        if memchr::memchr(0, sample).is_some() {
            if !may_be_utf16(sample) {
                return Ok(None);
            }
        } else {
            // A non-ASCII pattern requires a sample with non-ASCII bytes.
            if sample.is_ascii() && !is_all && !sample.is_empty() && self.pattern.is_non_ascii {
                let found = sample_from_non_ascii(reader)?.unwrap_or_default();
                sample = further.get_or_init(|| found);
            }
            if is_utf8(sample, is_all) {
                return Ok(None);
            }
        }
        let format = self.monitor.detect_format(&whole(), sample, is_all);
        let is_other =
            format != TextFormat::PLAIN_UTF8 && binary::binary_reason(sample, format).is_none();
        Ok(is_other.then(|| format.encoding().name()))
    }

    /// Records an error from inside a file.
    fn record_error(&self, error: &io::Error, path: &Path, dropped: &AtomicBool) {
        let is_stopped = dropped.load(Ordering::Relaxed) || self.monitor.early_stop().is_some();
        if is_stopped || error.kind() == io::ErrorKind::NotFound {
            return;
        }
        // Errors about limits carry no OS error code.
        let is_limit = error.raw_os_error().is_none();
        let reason = if is_limit { SkipReason::TooLarge } else { SkipReason::Unreadable };
        self.monitor.skip(reason, path);
    }
}

fn has_bom(sample: &[u8]) -> bool {
    [&b"\xEF\xBB\xBF"[..], b"\xFF\xFE", b"\xFE\xFF"].iter().any(|mark| sample.starts_with(mark))
}

/// Whether the sample is UTF-8. An incomplete sample may end inside a
/// character.
fn is_utf8(sample: &[u8], is_all: bool) -> bool {
    match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => !is_all && error.error_len().is_none(),
    }
}

impl FileBatch {
    fn empty() -> Self {
        Self { held: HeldDir::NONE, dir: Arc::from(Path::new("")), names: Vec::new() }
    }
}

/// Splits known files into batches, keeping their order.
fn batch_work(paths: impl Iterator<Item = PathBuf>) -> Vec<(OrderKey, SearchWork)> {
    let all: Vec<OsString> = paths.map(OsString::from).collect();
    let batches = all.chunks(FILES_PER_BATCH).enumerate();
    batches
        .map(|(number, names)| {
            (
                key_at(number),
                SearchWork::Files(FileBatch { names: names.to_vec(), ..FileBatch::empty() }),
            )
        })
        .collect()
}
