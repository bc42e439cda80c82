//! Atomic file replacement: readers see the old content or the new, never a
//! mix.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_store::atomic::write_atomic;

use crate::document::read_text;
use crate::error::ConfigError;

/// How long to wait for another process that is writing the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Reads a file, changes its text and replaces it, under a lock against other
/// processes that do the same.
///
/// A missing file counts as empty. If `change` returns an error or the same
/// text, nothing is written. A concurrent change by a program that ignores the
/// lock is detected and not overwritten.
pub fn update<E: Into<ConfigError>>(
    path: &Path,
    change: impl FnOnce(&str) -> Result<String, E>,
) -> Result<(), ConfigError> {
    let lock = lock_for(path, LOCK_TIMEOUT)?;
    let before = read_text(path)?;
    let old = before.as_deref().unwrap_or("");
    let after = change(old).map_err(Into::into)?;
    if after == old {
        return Ok(());
    }
    if read_text(path)? != before {
        return Err(ConfigError::Changed { path: path.to_owned() });
    }
    write(path, after.as_bytes())?;
    drop(lock);
    Ok(())
}

/// Replaces a file atomically. A symlink is kept and its target replaced; the
/// mode is kept; a new file is readable only by its owner.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    create_private_dir(parent_dir(path))
        .and_then(|()| write_atomic(path, bytes, 0o600))
        .map_err(|source| write_error(path, source))
}

fn write_error(path: &Path, source: io::Error) -> ConfigError {
    ConfigError::Write { path: path.to_owned(), source }
}

fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(dir)
}

/// Locks the lock file beside the file; dropping the handle releases the lock.
/// The lock file is never removed, because then two processes could hold
/// different locks.
fn lock_for(path: &Path, timeout: Duration) -> Result<File, ConfigError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let lock_path = parent_dir(path).join(name);
    let fail = |source| write_error(&lock_path, source);
    create_private_dir(parent_dir(path)).map_err(fail)?;
    let file = hermes_store::regular_file::open_lock(&lock_path, 0o600).map_err(fail)?;
    let deadline = Instant::now() + timeout;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_POLL_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Err(ConfigError::Locked { path: lock_path }),
            Err(TryLockError::Error(source)) => return Err(write_error(&lock_path, source)),
        }
    }
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
