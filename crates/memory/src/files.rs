//! Files of a list: the list, its archive and its lock.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_store::atomic::write_atomic;
use hermes_store::regular_file;
use hermes_text::{binary, codec::detect_format};

use crate::error::MemoryError;

/// How long to wait for another process that holds the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Mode of the files.
const FILE_MODE: u32 = 0o600;

/// The text of a file and its encoding.
#[derive(Debug, Default)]
pub(crate) struct DecodedFile {
    pub(crate) text: String,
    /// The encoding, if it is not UTF-8.
    pub(crate) encoding: Option<String>,
}

/// Reads a file; none if it does not exist. Text in another encoding is
/// decoded, to preserve what a user wrote with an editor that does not save
/// UTF-8.
pub(crate) fn read_decoded(path: &Path) -> Result<Option<DecodedFile>, MemoryError> {
    let bytes = match regular_file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(MemoryError::io("read", path, error)),
    };
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => DecodedFile { text, encoding: None },
        Err(error) => {
            let bytes = error.into_bytes();
            let format = detect_format(&bytes, true);
            if let Some(why) = binary::binary_reason(&bytes, format) {
                let why = format!("it is not text ({why})");
                return Err(MemoryError::io("read", path, io::Error::other(why)));
            }
            let text = format.decode(&bytes).text.into_owned();
            let encoding = format.label().unwrap_or_else(|| "an unknown encoding".to_owned());
            DecodedFile { text, encoding: Some(encoding) }
        }
    }))
}

/// Reads the text of a file; none if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, MemoryError> {
    Ok(read_decoded(path)?.map(|kept| kept.text))
}

/// Replaces a file atomically.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), MemoryError> {
    write_atomic(path, text.as_bytes(), FILE_MODE).map_err(|e| MemoryError::io("write", path, e))
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), MemoryError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(MemoryError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Creates a directory that only its owner can access.
pub(crate) fn create_private_dir(path: &Path) -> Result<(), MemoryError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path).map_err(|e| MemoryError::io("make", path, e))
}

/// Copies a file to a backup next to it.
pub(crate) fn back_up(path: &Path) -> Result<PathBuf, MemoryError> {
    let mut copy = with_suffix(path, &format!(".bak.{}", hermes_core::clock::unix_millis() / 1000));
    let mut more = 0;
    while copy.exists() {
        more += 1;
        copy =
            with_suffix(path, &format!(".bak.{}.{more}", hermes_core::clock::unix_millis() / 1000));
    }
    let bytes = regular_file::read(path).map_err(|e| MemoryError::io("read", path, e))?;
    write_atomic(&copy, &bytes, FILE_MODE).map_err(|e| MemoryError::io("write", &copy, e))?;
    Ok(copy)
}

/// Waits for the lock of a list, which Hermes Agent takes as well. The lock
/// lasts as long as the handle. The file is never removed, or two processes
/// could hold two locks.
pub(crate) fn lock(path: &Path) -> Result<File, MemoryError> {
    let path = with_suffix(path, ".lock");
    if let Some(dir) = path.parent() {
        create_private_dir(dir)?;
    }
    let cannot = |e| MemoryError::io("lock", &path, e);
    let file = regular_file::open_lock(&path, FILE_MODE).map_err(cannot)?;
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(LOCK_POLL_INTERVAL)
            }
            Err(TryLockError::WouldBlock) => return Err(MemoryError::Busy { path }),
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}
