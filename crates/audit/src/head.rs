//! The head: a record of the last line written, stored outside the log so
//! truncation is detected.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use hermes_store::atomic::write_atomic;
use serde::{Deserialize, Serialize};

use crate::chain::{ChainHash, LogKey};
use crate::error::LogError;
use crate::log_files;

/// Fixed size of the head file.
const HEAD_FILE_BYTES: usize = 256;

/// Content of the head file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogHead {
    /// Sequence number of the last line. After a crash the log may be ahead of
    /// it by whole lines, never behind.
    pub(crate) seq: u64,
    pub(crate) hash: ChainHash,
    pub(crate) chain_start: ChainStart,
}

/// Where the chain may start; old files are removed over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainStart {
    pub(crate) seq: u64,
    pub(crate) prev: ChainHash,
}

impl ChainStart {
    pub(crate) const GENESIS_START: Self = Self { seq: 1, prev: ChainHash::GENESIS };
}

/// Result of reading the head file.
#[derive(Debug)]
pub(crate) enum HeadState {
    Good(LogHead),
    /// Parsed, but not written with this key.
    WrongKey(LogHead),
    Unreadable,
    Missing,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadRecord {
    seq: u64,
    hash: String,
    begin_seq: u64,
    begin_prev: String,
    mac: String,
}

impl LogHead {
    /// Returns the head of an empty log.
    pub(crate) fn new() -> Self {
        Self { seq: 0, hash: ChainHash::GENESIS, chain_start: ChainStart::GENESIS_START }
    }

    pub(crate) fn read(dir: &Path, key: Option<&LogKey>) -> Result<HeadState, LogError> {
        let Some(bytes) = log_files::read_if_exists(&dir.join(log_files::HEAD_FILE))? else {
            return Ok(HeadState::Missing);
        };
        Ok(match Self::parse(&bytes) {
            None => HeadState::Unreadable,
            Some(head) if key.is_some_and(|key| head.render(key) == bytes) => HeadState::Good(head),
            Some(head) => HeadState::WrongKey(head),
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let written: HeadRecord = serde_json::from_slice(bytes).ok()?;
        let digest = |text: &str| ChainHash::parse(text.as_bytes());
        Some(Self {
            seq: written.seq,
            hash: digest(&written.hash)?,
            chain_start: ChainStart { seq: written.begin_seq, prev: digest(&written.begin_prev)? },
        })
    }

    fn render(&self, key: &LogKey) -> Vec<u8> {
        let Self { seq, hash, chain_start: begin } = self;
        let mac = key.digest(format!("head {seq} {hash} {} {}", begin.seq, begin.prev).as_bytes());
        let written = HeadRecord {
            seq: *seq,
            hash: hash.to_string(),
            begin_seq: begin.seq,
            begin_prev: begin.prev.to_string(),
            mac: mac.to_string(),
        };
        let mut text = serde_json::to_vec(&written).unwrap_or_default();
        text.resize(HEAD_FILE_BYTES - 1, b' ');
        text.push(b'\n');
        text
    }

    /// Writes the head. The caller must hold the lock. The write is in place
    /// and within one sector, so a reader sees either the old head or the new
    /// one; it needs no space on a full disk and is much cheaper than replacing
    /// the file.
    pub(crate) fn write(&self, dir: &Path, key: &LogKey) -> Result<(), LogError> {
        let path = dir.join(log_files::HEAD_FILE);
        let bytes = self.render(key);
        let in_place = || {
            let file = OpenOptions::new().write(true).open(&path)?;
            if file.metadata()?.len() != HEAD_FILE_BYTES as u64 {
                return Err(io::ErrorKind::NotFound.into());
            }
            file.write_all_at(&bytes, 0)
        };
        match in_place() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_atomic(&path, &bytes, 0o600)
            }
            done => done,
        }
        .map_err(LogError::io("write", &path))
    }
}
