//! New entries as they come, from one file to the next.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::chain::Line;
use crate::error::LogError;
use crate::files::{self, Identity};
use crate::query::{Entry, Query, query};

/// How often to look.
const INTERVAL: Duration = Duration::from_millis(100);

/// As much as is read at once.
const CHUNK: u64 = 1 << 20;

/// Reads on where the log ends.
#[derive(Debug)]
pub struct Follow {
    folder: PathBuf,
    /// The last entry that was given.
    seq: u64,
    open: Option<Open>,
    /// The name of the last file that was read to its end.
    past: Option<u64>,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

/// The file that is being read.
#[derive(Debug)]
struct Open {
    file: File,
    /// The number in its name, unless it was the one that grows.
    first: Option<u64>,
}

/// Follows the log from after the entry of that number; without one, from
/// where it ends now.
pub fn follow(folder: &Path, after: Option<u64>) -> Result<Follow, LogError> {
    let seq = match after {
        Some(seq) => seq,
        None => query(folder, &Query::default(), 1)?.first().map_or(0, |entry| entry.seq),
    };
    Ok(Follow { folder: folder.to_owned(), seq, open: None, past: None, rest: Vec::new() })
}

impl Follow {
    /// The entries that have come since, oldest first. Waits for one, but not
    /// longer than that; then there are none.
    pub fn next(&mut self, wait: Duration) -> Result<Vec<Entry>, LogError> {
        let until = Instant::now() + wait;
        loop {
            let entries = self.poll()?;
            let left = until.saturating_duration_since(Instant::now());
            if !entries.is_empty() || left.is_zero() {
                return Ok(entries);
            }
            thread::sleep(INTERVAL.min(left));
        }
    }

    fn poll(&mut self) -> Result<Vec<Entry>, LogError> {
        let mut entries = Vec::new();
        loop {
            if self.open.is_none() {
                self.open = self.choose()?;
            }
            let Some(open) = &self.open else { return Ok(entries) };
            let path = self.folder.join(files::CURRENT);
            let cannot = |e| LogError::io("read", &path)(e);
            let identity = files::identity(&open.file.metadata().map_err(cannot)?);
            // Asked before reading: nothing is added once a file is aside.
            let grows = files::identity_at(&path)? == Some(identity);
            let more = self.read(&mut entries).map_err(cannot)?;
            if !entries.is_empty() || (grows && !more) {
                return Ok(entries);
            }
            if !more {
                self.leave(identity)?;
            }
        }
    }

    /// Remembers which file is done.
    fn leave(&mut self, identity: Identity) -> Result<(), LogError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut first = open.first;
        if first.is_none() {
            for file in files::older(&self.folder)? {
                if files::identity_at(&file.path)? == Some(identity) {
                    first = Some(file.first);
                }
            }
        }
        self.past = Some(first.unwrap_or(self.seq));
        self.rest.clear();
        Ok(())
    }

    /// Reads what is there. Whether there may be more.
    fn read(&mut self, entries: &mut Vec<Entry>) -> std::io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let start = self.rest.len();
        let read = open.file.by_ref().take(CHUNK).read_to_end(&mut self.rest)?;
        let Some(end) = self.rest.iter().skip(start).rposition(|b| *b == b'\n') else {
            if self.rest.len() > files::MAX_LINE {
                self.rest.clear();
            }
            return Ok(read as u64 == CHUNK);
        };
        let rest = self.rest.split_off(start + end + 1);
        for line in self.rest.split(|b| *b == b'\n') {
            if Line::read(line).is_some_and(|line| line.seq > self.seq)
                && let Some(entry) = Entry::read(line)
            {
                self.seq = entry.seq;
                entries.push(entry);
            }
        }
        self.rest = rest;
        Ok(read as u64 == CHUNK)
    }

    /// The file with the entry that comes next.
    fn choose(&self) -> Result<Option<Open>, LogError> {
        loop {
            let current = files::open_if_there(&self.folder.join(files::CURRENT))?;
            // Listed after the opening, lest one put aside in between be missed.
            let older = files::older(&self.folder)?;
            let next = match self.past {
                Some(past) => older.iter().find(|file| file.first > past),
                None => older
                    .iter()
                    .rfind(|file| file.first <= self.seq.saturating_add(1))
                    .or(older.first()),
            };
            let Some(next) = next else {
                return Ok(current.map(|file| Open { file, first: None }));
            };
            // One that was removed meanwhile is not in the next list.
            if let Some(file) = files::open_if_there(&next.path)? {
                return Ok(Some(Open { file, first: Some(next.first) }));
            }
        }
    }
}
