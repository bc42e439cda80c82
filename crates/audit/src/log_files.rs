//! Names of the log files, and access to them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::LogError;

pub(crate) const CURRENT_FILE: &str = "audit.jsonl";
pub(crate) const HEAD_FILE: &str = "audit.head";
pub(crate) const KEY_FILE: &str = "audit.key";
pub(crate) const LOCK_FILE: &str = "audit.lock";

/// Returns the path of the anchor, a file next to the directory. It identifies
/// the key the log was started with, so a missing or recreated directory is
/// detected.
pub(crate) fn anchor_path(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".anchor");
    PathBuf::from(name)
}

/// Longer lines are neither written nor read.
pub(crate) const MAX_LINE_BYTES: usize = 8 << 20;

/// A rotated file and the sequence number of its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RotatedFile {
    pub(crate) first_seq: u64,
    pub(crate) path: PathBuf,
}

/// Returns the path of a rotated file.
pub(crate) fn rotated_path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("audit-{first:020}.jsonl"))
}

fn parse_first_seq(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
    let plain = digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// Lists the rotated files, oldest first.
pub(crate) fn rotated_files(dir: &Path) -> Result<Vec<RotatedFile>, LogError> {
    let cannot = |e| LogError::io("read", dir)(e);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(cannot)?;
        if let Some(first) = entry.file_name().to_str().and_then(parse_first_seq) {
            found.push(RotatedFile { first_seq: first, path: entry.path() });
        }
    }
    found.sort_by_key(|older| older.first_seq);
    Ok(found)
}

/// Opens a file; `None` if it does not exist.
pub(crate) fn open_if_exists(path: &Path) -> Result<Option<File>, LogError> {
    // Opening a FIFO in place of the file would block.
    let plain = |found: fs::Metadata| {
        if found.is_file() { File::open(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
    };
    match fs::metadata(path).and_then(plain) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LogError::io("open", path)(error)),
    }
}

/// Reads a small file; `None` if it does not exist.
pub(crate) fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>, LogError> {
    use io::Read as _;
    let Some(file) = open_if_exists(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(1 << 16).read_to_end(&mut bytes).map_err(LogError::io("read", path))?;
    Ok(Some(bytes))
}

/// Identity of a file independent of its name: device and inode.
pub(crate) type LogFileId = (u64, u64);

pub(crate) fn file_id(metadata: &fs::Metadata) -> LogFileId {
    (metadata.dev(), metadata.ino())
}

/// Returns the identity of the file currently at `path`.
pub(crate) fn file_id_at(path: &Path) -> Result<Option<LogFileId>, LogError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(file_id(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LogError::io("read", path)(error)),
    }
}

/// Returns the name of a file for messages.
pub(crate) fn display_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
