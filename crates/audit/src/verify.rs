//! Whether the log is as it was written.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::chain::{ChainHash, LogKey};
use crate::chain_verifier::{ChainVerifier, missing_entries};
use crate::error::LogError;
use crate::head::{ChainStart, HeadState, LogHead};
use crate::log_files::{self, RotatedFile};

/// How long to wait for a moment in which nobody writes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// More than anybody reads.
const MAX_FAULTS: usize = 1000;

/// What [`verify`] has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// How many lines have the form of an entry.
    pub entries: u64,
    /// How many files there are.
    pub files: usize,
    /// When the oldest entry was made.
    #[serde(serialize_with = "written")]
    pub first: Option<Timestamp>,
    /// When the newest one was made.
    #[serde(serialize_with = "written")]
    pub last: Option<Timestamp>,
    /// What somebody has done to the log, or the disk.
    pub faults: Vec<LogFault>,
    /// How many faults there are beyond those.
    pub more_faults: u64,
    /// What is out of the ordinary, but accounted for.
    pub notes: Vec<LogFault>,
}

/// A time as the log has it.
fn written<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| format!("{time:.3}")).serialize(serializer)
}

/// A place in the log, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogFault {
    /// The name of the file.
    pub file: String,
    /// The line, from 1; 0 when the file as a whole is meant.
    pub line: u64,
    /// The last line of which the same is true.
    pub last_line: u64,
    /// What is wrong.
    pub what: String,
}

impl LogFault {
    pub(crate) fn new(file: impl Into<String>, line: u64, what: impl Into<String>) -> Self {
        Self { file: file.into(), line, last_line: line, what: what.into() }
    }

    fn is_continued_by(&self, next: &Self) -> bool {
        let follows = next.line > 0 && self.last_line + 1 == next.line;
        follows && self.what == next.what && self.file == next.file
    }
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match (self.line, self.last_line) {
            (0, _) => {}
            (first, last) if first == last => write!(f, ", line {first}")?,
            (first, last) => write!(f, ", lines {first} to {last}")?,
        }
        write!(f, ": {}", self.what)
    }
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault. The same one in a row of lines is one.
    pub(crate) fn add_fault(&mut self, fault: LogFault) {
        let count = self.faults.len();
        match self.faults.last_mut() {
            Some(last) if last.is_continued_by(&fault) => last.last_line = fault.last_line,
            _ if count < MAX_FAULTS => self.faults.push(fault),
            _ => self.more_faults += 1,
        }
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural =
            |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        write!(
            f,
            "{} in {}",
            plural(self.entries, "entry", "entries"),
            plural(self.files as u64, "file", "files")
        )?;
        if let (Some(first), Some(last)) = (self.first, self.last) {
            write!(f, ", from {first:.3} to {last:.3}")?;
        }
        match self.faults.len() {
            // Whoever took it all away took what would tell as well.
            0 if self.files == 0 => write!(f, ": there is no log to verify")?,
            0 => write!(f, "; the chain is whole")?,
            n => write!(f, "; {}", plural(n as u64, "fault", "faults"))?,
        }
        for fault in &self.faults {
            write!(f, "\nfault: {fault}")?;
        }
        if self.more_faults > 0 {
            write!(f, "\nand {} more", plural(self.more_faults, "fault", "faults"))?;
        }
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

/// The log at one moment.
struct LogSnapshot {
    key: Option<LogKey>,
    head: HeadState,
    /// Oldest first, each with its length.
    files: Vec<(PathBuf, File, u64)>,
}

/// Checks every line, the chain from line to line and file to file, and that
/// it reaches as far as the head says. Others may go on writing meanwhile.
pub fn verify(folder: &Path) -> VerifyReport {
    let mut report = VerifyReport::default();
    match take_snapshot(folder) {
        Ok(picture) => {
            report.files = picture.files.len();
            let anchored = check_anchor(folder, &picture);
            verify_snapshot(picture, &mut report);
            // Lines that were written with another key tell of it, too.
            if let Some(fault) = anchored.filter(|_| report.is_clean()) {
                report.add_fault(fault);
            }
        }
        Err(error) => report.add_fault(unreadable_fault(&error)),
    }
    report
}

fn unreadable_fault(error: &LogError) -> LogFault {
    let file = match error {
        LogError::Io { path, .. } => log_files::display_name(path),
        _ => String::new(),
    };
    LogFault::new(file, 0, error.to_string())
}

/// Opens everything while nobody writes. A process that was stopped with the
/// lock in its hands is not waited for: nothing changes then either.
fn take_snapshot(folder: &Path) -> Result<LogSnapshot, LogError> {
    let lock = log_files::open_if_exists(&folder.join(log_files::LOCK_FILE))?;
    let until = Instant::now() + LOCK_TIMEOUT;
    let held = lock.as_ref().is_some_and(|lock| {
        loop {
            match lock.try_lock_shared() {
                Ok(()) => return true,
                Err(_) if Instant::now() >= until => return false,
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    });
    let mut tries = if held { 1 } else { 5 };
    loop {
        let older = log_files::rotated_files(folder)?;
        let picture = open_all(folder, &older)?;
        tries -= 1;
        // Without the lock, files may be put aside and the head be written
        // meanwhile.
        let steady = log_files::rotated_files(folder)? == older
            && matches!(picture.head, HeadState::Good(_));
        if tries == 0 || steady {
            // Closing its file lets go of the lock.
            return Ok(picture);
        }
    }
}

fn open_all(folder: &Path, older: &[RotatedFile]) -> Result<LogSnapshot, LogError> {
    let key = log_files::read_if_exists(&folder.join(log_files::KEY_FILE))?
        .and_then(|bytes| LogKey::from_bytes(&bytes));
    // Before the log, which may be ahead of it but never behind.
    let head = LogHead::read(folder, key.as_ref())?;
    let paths = older.iter().map(|older| older.path.clone());
    let mut opened = Vec::new();
    for path in paths.chain([folder.join(log_files::CURRENT_FILE)]) {
        if let Some(file) = log_files::open_if_exists(&path)? {
            let len = file.metadata().map_err(LogError::io("read", &path))?.len();
            opened.push((path, file, len));
        }
    }
    Ok(LogSnapshot { key, head, files: opened })
}

fn verify_snapshot(picture: LogSnapshot, report: &mut VerifyReport) {
    let empty = picture.files.is_empty();
    let head = check_head(&picture, report);
    let begin = head.as_ref().map_or(ChainStart::GENESIS_START, |head| head.chain_start);
    let mut walk = ChainVerifier::new(picture.key, begin.seq, head.as_ref().map(|head| head.seq));
    for (path, file, len) in picture.files {
        let name = log_files::display_name(&path);
        let mut reader = BufReader::with_capacity(1 << 18, file.take(len));
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let limit = log_files::MAX_LINE_BYTES as u64;
            match reader.by_ref().take(limit).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => walk.check_line(&name, number, &line, report),
                Err(error) => {
                    report.add_fault(unreadable_fault(&LogError::io("read", &path)(error)));
                    break;
                }
            }
        }
    }
    walk.finish(report);
    if let Some((place, first)) = walk.first.take() {
        check_chain_start(place, first, begin, report);
    }
    if let Some(head) = head {
        check_chain_end(&head, &walk, empty, report);
    }
}

/// What stands beside the folder must speak of this log. Logs from before there
/// was such a thing have none.
fn check_anchor(folder: &Path, picture: &LogSnapshot) -> Option<LogFault> {
    let path = log_files::anchor_path(folder);
    let said = match log_files::read_if_exists(&path) {
        Ok(said) => said?,
        Err(error) => return Some(unreadable_fault(&error)),
    };
    let what = match &picture.key {
        None => "the log that it speaks of is gone",
        Some(key) if said != key.fingerprint().as_bytes() => {
            "the log that it speaks of is gone, and another was begun; remove it if you did that"
        }
        Some(_) => return None,
    };
    Some(LogFault::new(log_files::display_name(&path), 0, what))
}

/// The head, if its word can be taken.
fn check_head(picture: &LogSnapshot, report: &mut VerifyReport) -> Option<LogHead> {
    let fault = |what: &str| LogFault::new(log_files::HEAD_FILE, 0, what);
    let begun = !picture.files.is_empty();
    if picture.key.is_none() {
        let used = match &picture.head {
            HeadState::Good(head) | HeadState::WrongKey(head) => head.seq > 0,
            HeadState::Unreadable => true,
            HeadState::Missing => false,
        };
        if begun || used {
            let what = "the key is missing, so no line can be checked against it";
            report.add_fault(LogFault::new(log_files::KEY_FILE, 0, what));
        }
    }
    match &picture.head {
        HeadState::Good(head) => return Some(head.clone()),
        HeadState::WrongKey(head) if picture.key.is_none() => return Some(head.clone()),
        HeadState::WrongKey(_) => {
            report.add_fault(fault("it was changed, or written with another key"))
        }
        HeadState::Unreadable => report.add_fault(fault("it cannot be read")),
        HeadState::Missing if begun || picture.key.is_some() => {
            report.add_fault(fault("it is missing, so a log that was cut cannot be told"));
        }
        HeadState::Missing => {}
    }
    None
}

/// The chain must not begin later than the head allows. It may begin earlier
/// where a crash has kept old files from being removed.
fn check_chain_start(
    (file, line): (String, u64),
    (seq, prev): (u64, ChainHash),
    allowed: ChainStart,
    report: &mut VerifyReport,
) {
    if seq > allowed.seq {
        let what = missing_entries(allowed.seq, seq - 1);
        report.faults.insert(0, LogFault::new(file, line, what));
    } else if (seq == allowed.seq && prev != allowed.prev)
        || (seq <= 1 && prev != ChainHash::GENESIS)
    {
        report
            .faults
            .insert(0, LogFault::new(file, line, "it does not begin the chain of this log"));
    }
}

fn check_chain_end(head: &LogHead, walk: &ChainVerifier, empty: bool, report: &mut VerifyReport) {
    let (file, line) = walk.position.clone();
    if empty && head.seq > 0 {
        let what = format!("it is missing; its last entry was {}", head.seq);
        report.add_fault(LogFault::new(log_files::CURRENT_FILE, 0, what));
    } else if walk.seq < head.seq {
        let file = if file.is_empty() { log_files::CURRENT_FILE.to_owned() } else { file };
        let what =
            format!("the log ends at entry {}, but entry {} was written", walk.seq, head.seq);
        report.add_fault(LogFault::new(file, line, what));
    } else if head.seq > 0 && walk.hash_at_head != Some(head.hash) {
        let what = format!("entry {} is not the one that was written last", head.seq);
        report.add_fault(LogFault::new(log_files::HEAD_FILE, 0, what));
    }
}
