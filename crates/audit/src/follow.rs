//! New entries as they come, from one file to the next.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::chain::LogLine;
use crate::error::LogError;
use crate::log_files::{self, LogFileId};
use crate::query::{AuditEntry, AuditQuery, query};

/// How often to look.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// As much as is read at once.
const READ_CHUNK_BYTES: u64 = 1 << 20;

/// Reads on where the log ends.
#[derive(Debug)]
pub struct LogFollower {
    folder: PathBuf,
    /// The last entry that was given.
    last_seq: u64,
    file: Option<FollowedFile>,
    /// The name of the last file that was read to its end.
    finished_file: Option<u64>,
    /// The beginning of a line whose end is not there yet.
    partial_line: Vec<u8>,
}

/// The file that is being read.
#[derive(Debug)]
struct FollowedFile {
    file: File,
    /// The number in its name, unless it was the one that grows.
    first_seq: Option<u64>,
}

/// Follows the log from after the entry of that number; without one, from
/// where it ends now.
pub fn follow(folder: &Path, after: Option<u64>) -> Result<LogFollower, LogError> {
    let seq = match after {
        Some(seq) => seq,
        None => query(folder, &AuditQuery::default(), 1)?.first().map_or(0, |entry| entry.seq),
    };
    Ok(LogFollower {
        folder: folder.to_owned(),
        last_seq: seq,
        file: None,
        finished_file: None,
        partial_line: Vec::new(),
    })
}

impl LogFollower {
    /// The entries that have come since, oldest first. Waits for one, but not
    /// longer than that; then there are none.
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
            let path = self.folder.join(log_files::CURRENT_FILE);
            let cannot = |e| LogError::io("read", &path)(e);
            let identity = log_files::file_id(&open.file.metadata().map_err(cannot)?);
            // Asked before reading: nothing is added once a file is aside.
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

    /// Remembers which file is done.
    fn finish_file(&mut self, identity: LogFileId) -> Result<(), LogError> {
        let Some(open) = self.file.take() else { return Ok(()) };
        let mut first = open.first_seq;
        if first.is_none() {
            for file in log_files::rotated_files(&self.folder)? {
                if log_files::file_id_at(&file.path)? == Some(identity) {
                    first = Some(file.first_seq);
                }
            }
        }
        self.finished_file = Some(first.unwrap_or(self.last_seq));
        self.partial_line.clear();
        Ok(())
    }

    /// Reads what is there. Whether there may be more.
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

    /// The file with the entry that comes next.
    fn next_file(&self) -> Result<Option<FollowedFile>, LogError> {
        loop {
            let current = log_files::open_if_exists(&self.folder.join(log_files::CURRENT_FILE))?;
            // Listed after the opening, lest one put aside in between be missed.
            let older = log_files::rotated_files(&self.folder)?;
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
            // One that was removed meanwhile is not in the next list.
            if let Some(file) = log_files::open_if_exists(&next.path)? {
                return Ok(Some(FollowedFile { file, first_seq: Some(next.first_seq) }));
            }
        }
    }
}
