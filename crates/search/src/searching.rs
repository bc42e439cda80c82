//! The work of a search inside of files, as all threads do it.

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
use hermes_files::{IgnoreRules, FileKind};
use hermes_text::binary;
use hermes_text::codec::{TextFormat, may_be_utf16};

use crate::book::Book;
use crate::content::{Hits, Report};
use crate::matcher::LineMatcher;
use crate::order::{self, Item, Key, Outcome, Plan, key_at, key_in};
use crate::pattern::Ready;
use crate::returns::Units;
use crate::sink::{Count, Gather};
use crate::source::{Guarded, Source, first_beyond_ascii};
use crate::walk::{Held, Task, Walk, is_refusal, path_in};
use crate::watch::{Reason, Watch};

/// Files that a thread takes at a time.
const BATCH: usize = 32;
/// Bytes of a line that are held at most.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
/// Bytes of a file that are held at most, where a match may span lines.
const LARGEST_WHOLE: usize = 256 * 1024 * 1024;

/// A piece of work.
#[derive(Debug)]
pub(crate) enum Work {
    Folder(Task),
    Files(Batch),
}

/// Some files of a folder.
#[derive(Debug)]
pub(crate) struct Batch {
    held: Held,
    folder: Arc<Path>,
    names: Vec<OsString>,
}

/// What each thread has for itself.
struct Hand {
    searcher: Searcher,
    matcher: LineMatcher,
    buffer: Vec<u8>,
    /// Those for files of other encodings, by name.
    others: HashMap<&'static str, Searcher>,
}

/// One search, as all threads see it.
pub(crate) struct Search<'a> {
    pub(crate) walk: Option<&'a Walk<'a>>,
    /// The real path of the root.
    pub(crate) place: &'a Path,
    pub(crate) watch: &'a Watch<'a>,
    pub(crate) ready: Ready,
    pub(crate) encoding: Option<Encoding>,
    /// Its name.
    pub(crate) label: Option<&'a str>,
    pub(crate) report: Report,
    /// Results that are enough; none if all are wanted.
    pub(crate) needed: Option<u64>,
}

impl<'a> Search<'a> {
    pub(crate) fn start(&self, above: &[IgnoreRules]) -> (Key, Work) {
        match self.walk {
            Some(walk) => {
                let (key, task) = walk.start(above);
                (key, Work::Folder(task))
            }
            None => (Key::new(), Work::Files(Batch::empty())),
        }
    }

    /// Searches a file that the caller named.
    pub(crate) fn one(&self, file: &File, path: Arc<Path>, mut book: Book) -> Book {
        let mut hand = self.hand();
        hand.searcher.set_binary_detection(BinaryDetection::convert(0));
        self.watch.look_at(1);
        let never = AtomicBool::new(false);
        let whole = || self.place.to_path_buf();
        match self.search(&mut hand, file, u64::MAX, Arc::clone(&path), &whole, &never) {
            Ok(hits) => book.enter(hits),
            Err(error) => self.note(&error, &path, &never),
        }
        book
    }

    pub(crate) fn in_order(&self, start: Vec<(Key, Work)>, mut book: Book) -> Book {
        let plan = Plan { needed: self.needed, stopped: &|| self.watch.ended().is_some() };
        let take = |hits: Vec<Hits>| hits.into_iter().for_each(|hits| book.enter(hits));
        order::run(
            &plan,
            start,
            || self.hand(),
            |hand, key, work, dropped, outcome| self.step(hand, key, work, dropped, outcome),
            take,
        );
        book
    }

    /// All files, the newest first.
    pub(crate) fn by_time(&self, above: &[IgnoreRules]) -> Vec<(Key, Work)> {
        let plan = Plan { needed: None, stopped: &|| self.watch.ended().is_some() };
        let hands = order::run(
            &plan,
            vec![self.start(above)],
            Vec::new,
            |found: &mut Vec<(Reverse<SystemTime>, PathBuf)>, key, work, _, outcome| {
                let batch = match work {
                    Work::Folder(task) => return self.expand(key, &task, outcome),
                    Work::Files(batch) => batch,
                };
                for name in batch.names {
                    let path = path_in(&batch.folder, &name);
                    let known = match (batch.held.folder(), self.walk) {
                        (Some(folder), _) => folder.known(Path::new(&name)).ok(),
                        (None, walk) => walk.and_then(|walk| walk.root().known(&path).ok()),
                    };
                    let time = known.and_then(|known| known.modified);
                    found.push((Reverse(time.unwrap_or(SystemTime::UNIX_EPOCH)), path));
                }
            },
            |(): ()| {},
        );
        let mut all: Vec<_> = hands.into_iter().flatten().collect();
        all.sort_unstable();
        listed(all.into_iter().map(|(_, path)| path))
    }

    /// Files whose name fits, then those with the most matches.
    pub(crate) fn by_relevance(&self, above: &[IgnoreRules], book: Book) -> Book {
        let mut all: Vec<Hits> = Vec::new();
        let counting = Search {
            report: Report::Counts,
            needed: None,
            ready: self.ready.clone(),
            encoding: self.encoding.clone(),
            ..*self
        };
        let plan = Plan { needed: None, stopped: &|| self.watch.ended().is_some() };
        order::run(
            &plan,
            vec![self.start(above)],
            || counting.hand(),
            |hand, key, work, dropped, outcome| counting.step(hand, key, work, dropped, outcome),
            |mut hits: Vec<Hits>| all.append(&mut hits),
        );
        let fits = |path: &Path| {
            let name = path.file_name().unwrap_or_default().as_bytes();
            self.ready.matcher.is_match(name).unwrap_or(false)
        };
        all.sort_by_cached_key(|hits| {
            (Reverse(fits(&hits.path)), Reverse(hits.count), hits.path.to_path_buf())
        });
        let mut book = book;
        if !matches!(self.report, Report::Lines { .. }) {
            all.into_iter().for_each(|hits| book.enter(hits));
            return book;
        }
        let total = all.iter().map(|hits| hits.count).sum();
        let mut book = self.in_order(listed(all.iter().map(|hits| hits.path.to_path_buf())), book);
        book.known_total = Some(total);
        book
    }

    fn hand(&self) -> Hand {
        let searcher = self.searcher(self.encoding.clone());
        let matcher = self.ready.matcher.clone();
        Hand { searcher, matcher, buffer: Vec::new(), others: HashMap::new() }
    }

    fn searcher(&self, encoding: Option<Encoding>) -> Searcher {
        let Ready { multiline, crlf, .. } = self.ready;
        let mut builder = SearcherBuilder::new();
        let heap = if multiline { LARGEST_WHOLE } else { LONGEST_LINE };
        builder
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(multiline)
            .heap_limit(Some(heap))
            .encoding(encoding)
            .line_number(false);
        if crlf {
            builder.line_terminator(LineTerminator::crlf());
        }
        if let Report::Lines { before, after } = self.report {
            builder.line_number(true).before_context(before).after_context(after);
            builder.max_matches(self.needed);
        }
        builder.build()
    }

    fn step(
        &self,
        hand: &mut Hand,
        key: &Key,
        work: Work,
        dropped: &AtomicBool,
        outcome: &mut Outcome<Work, Vec<Hits>>,
    ) {
        match work {
            Work::Folder(task) => self.expand(key, &task, outcome),
            Work::Files(batch) => {
                let mut found = Vec::new();
                let mut weight = 0_u64;
                self.watch.look_at(batch.names.len());
                for name in &batch.names {
                    let is_over = self.needed.is_some_and(|needed| weight >= needed);
                    if is_over || dropped.load(Ordering::Relaxed) || self.watch.ended().is_some() {
                        break;
                    }
                    if let Some(hits) = self.search_in(hand, &batch, name, dropped) {
                        weight += self.weigh(&hits);
                        found.push(hits);
                    }
                }
                // A batch that was not finished is none: what lies behind
                // the gap would seem to be next.
                let is_whole = self.watch.ended().is_none();
                if !found.is_empty() && is_whole {
                    outcome.push((key.clone(), Item::Done(found, weight)));
                }
            }
        }
    }

    fn weigh(&self, hits: &Hits) -> u64 {
        match self.report {
            Report::Lines { .. } => hits.matches.len() as u64,
            Report::Files | Report::Counts => 1,
        }
    }

    /// The files and folders of a folder, in order.
    fn expand<D>(&self, key: &Key, task: &Task, outcome: &mut Outcome<Work, D>) {
        let Some(walk) = self.walk else { return };
        let Some(mut listing) = walk.list(task, self.watch, |_| true) else { return };
        let held = walk.hold(&listing);
        let folder: Arc<Path> = task.relative.as_path().into();
        let mut names: Vec<OsString> = Vec::new();
        let flush = |names: &mut Vec<OsString>, outcome: &mut Outcome<Work, D>| {
            let Some(first) = names.first() else { return };
            let key = key_in(key, first.as_bytes());
            let names = std::mem::take(names);
            let batch = Batch { held: held.clone(), folder: Arc::clone(&folder), names };
            outcome.push((key, Item::Work(Work::Files(batch))));
        };
        for entry in std::mem::take(&mut listing.kept) {
            match entry.kind {
                FileKind::File => {
                    names.push(entry.name);
                    if names.len() >= BATCH {
                        flush(&mut names, outcome);
                    }
                }
                FileKind::Directory => {
                    flush(&mut names, outcome);
                    let below = walk.descend(task, key, &listing, &entry.name);
                    outcome.extend(below.map(|(key, task)| (key, Item::Work(Work::Folder(task)))));
                }
                FileKind::Link => {}
                _ => self.watch.skip(Reason::Special, &path_in(&folder, &entry.name)),
            }
        }
        flush(&mut names, outcome);
    }

    fn search_in(
        &self,
        hand: &mut Hand,
        batch: &Batch,
        name: &OsString,
        dropped: &AtomicBool,
    ) -> Option<Hits> {
        let path = || path_in(&batch.folder, name);
        let walk = self.walk?;
        let (file, known) = match walk.open(&batch.held, &batch.folder, name) {
            Ok(opened) => opened,
            Err(error) => {
                if is_refusal(&error) {
                    self.watch.skip(Reason::Unreadable, &path());
                }
                return None;
            }
        };
        if known.shared.is_some_and(|file| walk.is_veiled_file(&self.place.join(path()), file)) {
            self.watch.skip(Reason::Protected, &path());
            return None;
        }
        if walk.max_filesize().is_some_and(|most| known.len > most) {
            self.watch.skip(Reason::TooLarge, &path());
            return None;
        }
        // The path is made only for files with matches where that is enough.
        let early: Arc<Path> = match self.report {
            Report::Lines { .. } => path().into(),
            Report::Files | Report::Counts => Arc::from(Path::new("")),
        };
        let whole = || self.place.join(path());
        match self.search(hand, &file, known.len, early, &whole, dropped) {
            Ok(mut hits) => {
                let is_hit = hits.count > 0 || !hits.matches.is_empty();
                if is_hit && hits.path.as_os_str().is_empty() {
                    hits.path = path().into();
                }
                is_hit.then_some(hits)
            }
            Err(error) => {
                self.note(&error, &path(), dropped);
                None
            }
        }
    }

    fn search(
        &self,
        hand: &mut Hand,
        file: &File,
        len: u64,
        path: Arc<Path>,
        whole: &dyn Fn() -> PathBuf,
        dropped: &AtomicBool,
    ) -> io::Result<Hits> {
        let Hand { searcher, matcher, buffer, others } = hand;
        let mut reader = Guarded { file, watch: self.watch, dropped };
        let source = Source::read(&mut reader, len, buffer)?;
        let other = self.other_encoding(&source, &reader, whole)?;
        let returns = self.returns(&source, &reader, other)?;
        let searcher = match other {
            None => searcher,
            Some(name) => {
                let detection = searcher.binary_detection().clone();
                let other =
                    others.entry(name).or_insert_with(|| self.searcher(Encoding::new(name).ok()));
                other.set_binary_detection(detection);
                other
            }
        };
        let multiline = self.ready.multiline;
        let is_implicit = searcher.binary_detection().quit_byte().is_some();
        let most = match self.report {
            Report::Lines { .. } => self.needed.unwrap_or(u64::MAX),
            Report::Files => 1,
            Report::Counts => u64::MAX,
        };
        let (hits, is_binary) = if let Report::Lines { .. } = self.report {
            let mut sink = Gather::new(matcher, multiline, Arc::clone(&path), most);
            source.search(searcher, matcher, reader, returns, &mut sink)?;
            (Hits { path, count: 0, matches: sink.matches }, sink.is_binary)
        } else {
            let mut sink = Count::new(matcher, multiline, most);
            source.search(searcher, matcher, reader, returns, &mut sink)?;
            (Hits { path, count: sink.number, matches: Vec::new() }, sink.is_binary)
        };
        if is_binary && is_implicit {
            self.watch.skip(Reason::Binary, Path::new(""));
        }
        Ok(hits)
    }

    /// How carriage returns are written in a file whose lines they end.
    fn returns(
        &self,
        source: &Source<'_>,
        reader: &Guarded<'_>,
        encoding: Option<&str>,
    ) -> io::Result<Option<Units>> {
        if self.ready.sees_returns {
            return Ok(None);
        }
        let units = Units::of(source.sample().0, encoding.or(self.label));
        Ok(units.end_alone(source.sample(), reader)?.then_some(units))
    }

    /// The encoding of a file that is not UTF-8 and does not begin with a mark,
    /// where it is text at all and the caller has not named one.
    fn other_encoding(
        &self,
        source: &Source<'_>,
        reader: &Guarded<'_>,
        whole: &dyn Fn() -> PathBuf,
    ) -> io::Result<Option<&'static str>> {
        let (sample, is_all) = source.sample();
        if self.encoding.is_some() || has_mark(sample) {
            return Ok(None);
        }
        let (further, mut sample) = (OnceCell::new(), sample);
        if memchr::memchr(0, sample).is_some() {
            if !may_be_utf16(sample) {
                return Ok(None);
            }
        } else {
            // The rest may say more, where the pattern asks for it.
            if sample.is_ascii() && !is_all && !sample.is_empty() && self.ready.is_beyond_ascii {
                let found = first_beyond_ascii(reader)?.unwrap_or_default();
                sample = further.get_or_init(|| found);
            }
            if is_utf8(sample, is_all) {
                return Ok(None);
            }
        }
        let format = self.watch.spelling(&whole(), sample, is_all);
        let is_other = format != TextFormat::PLAIN_UTF8 && binary::binary_reason(sample, format).is_none();
        Ok(is_other.then(|| format.encoding().name()))
    }

    /// What an error met inside of a file means.
    fn note(&self, error: &io::Error, path: &Path, dropped: &AtomicBool) {
        let is_stopped = dropped.load(Ordering::Relaxed) || self.watch.ended().is_some();
        if is_stopped || error.kind() == io::ErrorKind::NotFound {
            return;
        }
        // Limits are told without a number of the system.
        let is_limit = error.raw_os_error().is_none();
        let reason = if is_limit { Reason::TooLarge } else { Reason::Unreadable };
        self.watch.skip(reason, path);
    }
}

fn has_mark(sample: &[u8]) -> bool {
    [&b"\xEF\xBB\xBF"[..], b"\xFF\xFE", b"\xFE\xFF"].iter().any(|mark| sample.starts_with(mark))
}

/// UTF-8, where a sample that is not all may end inside a character.
fn is_utf8(sample: &[u8], is_all: bool) -> bool {
    match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => !is_all && error.error_len().is_none(),
    }
}

impl Batch {
    fn empty() -> Self {
        Self { held: Held::NONE, folder: Arc::from(Path::new("")), names: Vec::new() }
    }
}

/// Work on files that are known already, in their order.
fn listed(paths: impl Iterator<Item = PathBuf>) -> Vec<(Key, Work)> {
    let all: Vec<OsString> = paths.map(OsString::from).collect();
    let batches = all.chunks(BATCH).enumerate();
    batches
        .map(|(number, names)| {
            (key_at(number), Work::Files(Batch { names: names.to_vec(), ..Batch::empty() }))
        })
        .collect()
}
