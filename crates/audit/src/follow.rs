//! Follows new entries across file rotations.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::chain::LogLine;
use crate::error::LogError;
use crate::log_files::{self, LogFileId};
use crate::query::{AuditEntry, AuditQuery, query};

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum bytes per read.
const READ_CHUNK_BYTES: u64 = 1 << 20;

/// Reads entries as they are appended to the log.
#[derive(Debug)]
pub struct LogFollower {
    dir: PathBuf,
    /// Sequence number of the last entry returned.
    last_seq: u64,
    file: Option<FollowedFile>,
    /// First sequence number of the last file that was read completely.
    finished_file: Option<u64>,
    /// Start of a line that is not complete yet.
    partial_line: Vec<u8>,
}

/// The file being read.
#[derive(Debug)]
struct FollowedFile {
    file: File,
    /// The sequence number in its name; `None` if it was the current file when
    /// opened.
    first_seq: Option<u64>,
}

/// Follows the log from the entry after `after`, or from its current end if
/// `after` is `None`.
pub fn follow(dir: &Path, after: Option<u64>) -> Result<LogFollower, LogError> {
    let seq = match after {
        Some(seq) => seq,
        None => query(dir, &AuditQuery::default(), 1)?.first().map_or(0, |entry| entry.seq),
    };
    Ok(LogFollower {
        dir: dir.to_owned(),
        last_seq: seq,
        file: None,
        finished_file: None,
        partial_line: Vec::new(),
    })
}

impl LogFollower {
    /// Returns new entries, oldest first. Waits up to `wait` for one; the
    /// result is empty on timeout.
    pub fn next_entries(&mut self, wait: Duration) -> Result<Vec<AuditEntry>, LogError> {
        let until = Instant::now() + wait;
        loop {
            let entries = self.poll()?;
            let left = until.saturating_duration_since(Instant::now());
            if !entries.is_empty() || left.is_zero() {
                return Ok(entries);
            }
            thread::sleep(POLL_INTERVAL.min(left));
        }
    }

    fn poll(&mut self) -> Result<Vec<AuditEntry>, LogError> {
        let mut entries = Vec::new();
        loop {
            if self.file.is_none() {
                self.file = self.next_file()?;
            }
            let Some(open) = &self.file else { return Ok(entries) };
            let path = self.dir.join(log_files::CURRENT_FILE);
            let cannot = |e| LogError::io("read", &path)(e);
            let identity = log_files::file_id(&open.file.metadata().map_err(cannot)?);
            // Check before reading: a rotated file no longer grows.
            let grows = log_files::file_id_at(&path)? == Some(identity);
            let more = self.read_available(&mut entries).map_err(cannot)?;
            if !entries.is_empty() || (grows && !more) {
                return Ok(entries);
            }
            if !more {
                self.finish_file(identity)?;
            }
        }
    }

    /// Records that the current file has been read completely.
    fn finish_file(&mut self, identity: LogFileId) -> Result<(), LogError> {
        let Some(open) = self.file.take() else { return Ok(()) };
        let mut first = open.first_seq;
        if first.is_none() {
            for file in log_files::rotated_files(&self.dir)? {
                if log_files::file_id_at(&file.path)? == Some(identity) {
                    first = Some(file.first_seq);
                }
            }
        }
        self.finished_file = Some(first.unwrap_or(self.last_seq));
        self.partial_line.clear();
        Ok(())
    }

    /// Reads available data and returns whether there may be more.
    fn read_available(&mut self, entries: &mut Vec<AuditEntry>) -> std::io::Result<bool> {
        let Some(open) = &mut self.file else { return Ok(false) };
        let start = self.partial_line.len();
        let read = open.file.by_ref().take(READ_CHUNK_BYTES).read_to_end(&mut self.partial_line)?;
        let Some(end) = self.partial_line.iter().skip(start).rposition(|b| *b == b'\n') else {
            if self.partial_line.len() > log_files::MAX_LINE_BYTES {
                self.partial_line.clear();
            }
            return Ok(read as u64 == READ_CHUNK_BYTES);
        };
        let rest = self.partial_line.split_off(start + end + 1);
        for line in self.partial_line.split(|b| *b == b'\n') {
            if LogLine::parse(line).is_some_and(|line| line.seq > self.last_seq)
                && let Some(entry) = AuditEntry::parse(line)
            {
                self.last_seq = entry.seq;
                entries.push(entry);
            }
        }
        self.partial_line = rest;
        Ok(read as u64 == READ_CHUNK_BYTES)
    }

    /// Opens the file that contains the next entry.
    fn next_file(&self) -> Result<Option<FollowedFile>, LogError> {
        loop {
            let current = log_files::open_if_exists(&self.dir.join(log_files::CURRENT_FILE))?;
            // List after opening, so a file rotated in between is not missed.
            let older = log_files::rotated_files(&self.dir)?;
            let next = match self.finished_file {
                Some(past) => older.iter().find(|file| file.first_seq > past),
                None => older
                    .iter()
                    .rfind(|file| file.first_seq <= self.last_seq.saturating_add(1))
                    .or(older.first()),
            };
            let Some(next) = next else {
                return Ok(current.map(|file| FollowedFile { file, first_seq: None }));
            };
            // A file removed in the meantime is absent from the next listing.
            if let Some(file) = log_files::open_if_exists(&next.path)? {
                return Ok(Some(FollowedFile { file, first_seq: Some(next.first_seq) }));
            }
        }
    }
}
