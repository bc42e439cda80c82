//! Reads files that the program opens automatically. Only regular files are
//! opened: a pipe would block, opening some devices has side effects, and
//! others never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The error for any other file.
const NOT_REGULAR_FILE: &str = "it is not a regular file";

/// Opens a regular file for reading, without blocking. Symlinks are followed.
pub fn open(path: &Path) -> io::Result<File> {
    require_regular(&std::fs::metadata(path)?)?;
    let file = nonblocking_options().read(true).open(path)?;
    // The file may have been replaced since the check.
    require_regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file as text.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads at most `most` bytes from the start of a regular file.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the lock file of some data; creates it if missing.
pub fn open_lock(path: &Path, mode: u32) -> io::Result<File> {
    if let Ok(found) = std::fs::metadata(path) {
        require_regular(&found)?;
    }
    let mut options = nonblocking_options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    let file = options.open(path)?;
    require_regular(&file.metadata()?)?;
    Ok(file)
}

fn require_regular(found: &std::fs::Metadata) -> io::Result<()> {
    if found.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    if found.is_file() { Ok(()) } else { Err(io::Error::other(NOT_REGULAR_FILE)) }
}

fn nonblocking_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    options
}

#[cfg(test)]
#[path = "regular_file_tests.rs"]
mod tests;
