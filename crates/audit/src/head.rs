//! The head: the last line that was written, kept apart from the log, so that
//! a log that ends too early is noticed.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use hermes_store::atomic::write_atomic;
use serde::{Deserialize, Serialize};

use crate::chain::{Digest, Key};
use crate::error::LogError;
use crate::files;

/// The length of the head file, whatever it says.
const SIZE: usize = 256;

/// What the head file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last line. The log may be ahead of it by whole lines
    /// after a crash, never behind.
    pub(crate) seq: u64,
    pub(crate) hash: Digest,
    pub(crate) begin: Begin,
}

/// Where the chain may begin: older files are removed in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begin {
    pub(crate) seq: u64,
    pub(crate) prev: Digest,
}

impl Begin {
    pub(crate) const FIRST: Self = Self { seq: 1, prev: Digest::GENESIS };
}

/// What was found in the place of the head.
#[derive(Debug)]
pub(crate) enum Found {
    Good(Head),
    /// It can be read, but was not written with this key.
    Foreign(Head),
    Unreadable,
    Missing,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    seq: u64,
    hash: String,
    begin_seq: u64,
    begin_prev: String,
    mac: String,
}

impl Head {
    /// The head of a log without lines.
    pub(crate) fn new() -> Self {
        Self { seq: 0, hash: Digest::GENESIS, begin: Begin::FIRST }
    }

    pub(crate) fn read(folder: &Path, key: Option<&Key>) -> Result<Found, LogError> {
        let Some(bytes) = files::read_if_there(&folder.join(files::HEAD))? else {
            return Ok(Found::Missing);
        };
        Ok(match Self::parse(&bytes) {
            None => Found::Unreadable,
            Some(head) if key.is_some_and(|key| head.render(key) == bytes) => Found::Good(head),
            Some(head) => Found::Foreign(head),
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let written: Written = serde_json::from_slice(bytes).ok()?;
        let digest = |text: &str| Digest::read(text.as_bytes());
        Some(Self {
            seq: written.seq,
            hash: digest(&written.hash)?,
            begin: Begin { seq: written.begin_seq, prev: digest(&written.begin_prev)? },
        })
    }

    fn render(&self, key: &Key) -> Vec<u8> {
        let Self { seq, hash, begin } = self;
        let mac = key.digest(format!("head {seq} {hash} {} {}", begin.seq, begin.prev).as_bytes());
        let written = Written {
            seq: *seq,
            hash: hash.to_string(),
            begin_seq: begin.seq,
            begin_prev: begin.prev.to_string(),
            mac: mac.to_string(),
        };
        let mut text = serde_json::to_vec(&written).unwrap_or_default();
        text.resize(SIZE - 1, b' ');
        text.push(b'\n');
        text
    }

    /// Writes the head; only for whoever holds the lock. It is written in
    /// place and within one sector, so that it is the old one or the new,
    /// needs no room on a full disk, and costs a fraction of a file's
    /// replacement.
    pub(crate) fn write(&self, folder: &Path, key: &Key) -> Result<(), LogError> {
        let path = folder.join(files::HEAD);
        let bytes = self.render(key);
        let in_place = || {
            let file = OpenOptions::new().write(true).open(&path)?;
            if file.metadata()?.len() != SIZE as u64 {
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
