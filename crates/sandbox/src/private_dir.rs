//! A directory for files that only certain children may reach: those whose
//! confinement names a tree in it, and only that tree.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Limit that leaves room for a socket name, as a socket path may have only
/// about 100 bytes.
const MAX_TEMP_DIR_BYTES: usize = 60;

/// Returns the directory, which only this user may access. Every sandbox masks
/// it.
///
/// # Errors
/// If it cannot be created, or belongs to another user.
pub fn private_dir() -> io::Result<PathBuf> {
    let usual = env::temp_dir();
    let above =
        if usual.as_os_str().len() > MAX_TEMP_DIR_BYTES { Path::new("/tmp") } else { &usual };
    let user = rustix::process::geteuid().as_raw();
    let path = fs::canonicalize(above)?.join(format!("hermes-private-{user}"));
    create_private_dir(&path)?;
    Ok(path)
}

/// Creates a directory that only this user may access, unless it exists. In a
/// shared directory another user may have created it first.
///
/// # Errors
/// If it cannot be created, is a symlink, belongs to another user, or is
/// accessible to others.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let user = rustix::process::geteuid().as_raw();
    let about = fs::symlink_metadata(path)?;
    if about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0 {
        return Ok(());
    }
    let why = format!("{} belongs to another user or is accessible to others", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}
