//! Directories shared by many programs and users. Most of their contents are
//! unrelated, so they are not snapshotted as a whole.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Shared directories, besides those named by the environment.
const SHARED_DIRS: [&str; 8] =
    ["/tmp", "/var/tmp", "/dev/shm", "/run", "/usr/bin", "/home", "/proc", "/sys"];

/// World-writable and sticky: everyone may write, but not remove others' files.
const STICKY_WORLD_WRITABLE: u32 = 0o1002;

/// Whether a directory is shared, or contains a shared or the home directory.
pub(crate) fn is_shared_dir(dir: &Path, home: Option<&Path>) -> bool {
    let holds =
        |place: &Path| hermes_files::real_path(place).is_ok_and(|real| real.starts_with(dir));
    dir.parent().is_none()
        || home.is_some_and(holds)
        || holds(&env::temp_dir())
        || SHARED_DIRS.iter().any(|place| holds(Path::new(place)))
        || fs::metadata(dir)
            .is_ok_and(|found| found.mode() & STICKY_WORLD_WRITABLE == STICKY_WORLD_WRITABLE)
}

#[cfg(test)]
#[path = "shared_dirs_tests.rs"]
mod tests;
