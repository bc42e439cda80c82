//! The cron directory: its lock, and files that only the owner can read.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_store::atomic::write_atomic;
use hermes_store::regular_file;

use crate::CronError;

/// How long to wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Permissions of the files: owner only.
const FILE_MODE: u32 = 0o600;

/// Reads a file; none if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, CronError> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CronError::io("read", path, error)),
    }
}

/// Replaces a file atomically.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CronError> {
    write_atomic(path, bytes, FILE_MODE).map_err(|e| CronError::io("write", path, e))
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), CronError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CronError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Creates a directory that only its owner can access.
pub(crate) fn create_private_dir(path: &Path) -> Result<(), CronError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path).map_err(|e| CronError::io("make", path, e))
}

/// Opens a file for reading and writing, creating it if needed.
pub(crate) fn open(path: &Path) -> Result<File, CronError> {
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(FILE_MODE);
    }
    options.open(path).map_err(|e| CronError::io("open", path, e))
}

/// Acquires a lock that lasts as long as the handle. The file is never removed:
/// otherwise two processes could hold two locks.
pub(crate) fn lock(path: &Path) -> Result<File, CronError> {
    let file = open(path)?;
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(LOCK_POLL_INTERVAL)
            }
            Err(TryLockError::WouldBlock) => return Err(CronError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(CronError::io("lock", path, error)),
        }
    }
}
