//! A folder for what only certain children may reach: those whose confinement
//! names a tree in it, and they reach no more than that tree.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A socket's name may have about a hundred bytes, all in all.
const MAX_TEMP_DIR_BYTES: usize = 60;

/// The folder, which is the user's alone. Every sandbox covers it.
///
/// # Errors
/// If it cannot be made, or somebody else has made it.
pub fn private_dir() -> io::Result<PathBuf> {
    let usual = env::temp_dir();
    let above =
        if usual.as_os_str().len() > MAX_TEMP_DIR_BYTES { Path::new("/tmp") } else { &usual };
    let user = rustix::process::geteuid().as_raw();
    let path = fs::canonicalize(above)?.join(format!("hermes-private-{user}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&path)?;
    if about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0 {
        return Ok(path);
    }
    let why = format!("{} belongs to somebody else", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}
