//! Verifies the integrity of the log.

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

/// How long to wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of faults listed in a report.
const MAX_FAULTS: usize = 1000;

/// Result of [`verify`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Number of lines in the format of an entry.
    pub entries: u64,
    /// Number of log files.
    pub files: usize,
    /// Time of the oldest entry.
    #[serde(serialize_with = "written")]
    pub first: Option<Timestamp>,
    /// Time of the newest entry.
    #[serde(serialize_with = "written")]
    pub last: Option<Timestamp>,
    /// Signs of tampering or disk damage.
    pub faults: Vec<LogFault>,
    /// Number of faults beyond those listed.
    pub more_faults: u64,
    /// Irregularities with a known cause.
    pub notes: Vec<LogFault>,
}

/// Serializes a time in the log's format.
fn written<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| format!("{time:.3}")).serialize(serializer)
}

/// A fault and its position in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogFault {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1; 0 means the whole file.
    pub line: u64,
    /// Last line with the same fault.
    pub last_line: u64,
    /// Description of the fault.
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
    /// Whether there are no faults.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault. The same fault on consecutive lines is merged.
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
            // Removing everything also removes the evidence, so do not claim an
            // intact chain.
            0 if self.files == 0 => write!(f, ": there is no log to verify")?,
            0 => write!(f, "; the chain is intact")?,
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

/// Open handles on the log at one moment.
struct LogSnapshot {
    key: Option<LogKey>,
    head: HeadState,
    /// Oldest first, each with its length.
    files: Vec<(PathBuf, File, u64)>,
}

/// Checks every line, the chain across lines and files, and that it reaches the
/// entry named by the head. Writers may continue meanwhile.
pub fn verify(dir: &Path) -> VerifyReport {
    let mut report = VerifyReport::default();
    match take_snapshot(dir) {
        Ok(picture) => {
            report.files = picture.files.len();
            let anchored = check_anchor(dir, &picture);
            verify_snapshot(picture, &mut report);
            // Reported only if nothing else is: lines written with another key
            // imply it.
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

/// Opens all files while no process writes. Does not wait for a process
/// suspended while holding the lock: nothing changes then either.
fn take_snapshot(dir: &Path) -> Result<LogSnapshot, LogError> {
    let lock = log_files::open_if_exists(&dir.join(log_files::LOCK_FILE))?;
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
        let older = log_files::rotated_files(dir)?;
        let picture = open_all(dir, &older)?;
        tries -= 1;
        // Without the lock, files may be rotated and the head rewritten in the
        // meantime.
        let steady =
            log_files::rotated_files(dir)? == older && matches!(picture.head, HeadState::Good(_));
        if tries == 0 || steady {
            // Dropping the file releases the lock.
            return Ok(picture);
        }
    }
}

fn open_all(dir: &Path, older: &[RotatedFile]) -> Result<LogSnapshot, LogError> {
    let key = log_files::read_if_exists(&dir.join(log_files::KEY_FILE))?
        .and_then(|bytes| LogKey::from_bytes(&bytes));
    // Read before the log, which may be ahead of the head but never behind.
    let head = LogHead::read(dir, key.as_ref())?;
    let paths = older.iter().map(|older| older.path.clone());
    let mut opened = Vec::new();
    for path in paths.chain([dir.join(log_files::CURRENT_FILE)]) {
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

/// Checks that the anchor next to the directory refers to this log. Logs
/// created before anchors existed have none.
fn check_anchor(dir: &Path, picture: &LogSnapshot) -> Option<LogFault> {
    let path = log_files::anchor_path(dir);
    let said = match log_files::read_if_exists(&path) {
        Ok(said) => said?,
        Err(error) => return Some(unreadable_fault(&error)),
    };
    let what = match &picture.key {
        None => "the log it refers to is missing",
        Some(key) if said != key.fingerprint().as_bytes() => {
            "the log it refers to is missing, and another one was started; delete this file if \
             you did that"
        }
        Some(_) => return None,
    };
    Some(LogFault::new(log_files::display_name(&path), 0, what))
}

/// Returns the head if it can be trusted.
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
            let what = "the key is missing, so no line can be verified";
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
            report.add_fault(fault("it is missing, so truncation of the log cannot be detected"));
        }
        HeadState::Missing => {}
    }
    None
}

/// Checks that the chain does not start later than the head allows. It may
/// start earlier if a crash kept old files from being removed.
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
            .insert(0, LogFault::new(file, line, "it does not start the chain of this log"));
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
        let what = format!("its hash of entry {} does not match the log", head.seq);
        report.add_fault(LogFault::new(log_files::HEAD_FILE, 0, what));
    }
}
