//! Scratch directories of jobs, one per session.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use hermes_sandbox::private_dir;

use crate::run_dir::RunDir;

/// Locations to use if the default is full or missing.
const FALLBACK_DIRS: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// The state that a shell reports is rarely larger, and never by much.
const MIN_FREE_BYTES: u64 = 1 << 20;

/// Scratch directories of all sessions.
#[derive(Debug, Default)]
pub(crate) struct ScratchDirs {
    current: Option<RunDir>,
    /// The index of a session is the name of its directory.
    sessions: Vec<String>,
    /// Directories whose disk was full: a job may still write there.
    retired: Vec<RunDir>,
}

impl ScratchDirs {
    /// Returns the directory of a session. It is in a place hidden from
    /// confined jobs, if there is one: shell state must not leak to other
    /// sessions.
    pub(crate) fn session_dir(&mut self, session: &str) -> io::Result<PathBuf> {
        let is_short = self.current.as_ref().is_none_or(|top| !has_room(top.path()));
        if is_short {
            let usual = private_dir().or_else(|_| std::env::temp_dir().canonicalize());
            self.choose_dir(usual.into_iter().chain(FALLBACK_DIRS.map(PathBuf::from)))?;
        }
        let Some(top) = &self.current else { return Err(io::ErrorKind::NotFound.into()) };
        let known = self.sessions.iter().position(|known| known == session);
        let dir = top.path().join(known.unwrap_or(self.sessions.len()).to_string());
        if known.is_none() {
            DirBuilder::new().mode(0o700).create(&dir)?;
            self.sessions.push(session.to_owned());
        }
        Ok(dir)
    }

    /// Selects a location with free space. Keeps the current one if no other
    /// qualifies.
    fn choose_dir(&mut self, places: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let mut trouble = None;
        for place in places.filter(|place| has_room(place)) {
            match RunDir::create(&place) {
                Ok(made) => {
                    self.retired.extend(self.current.replace(made));
                    self.sessions.clear();
                    return Ok(());
                }
                Err(error) => trouble = Some(error),
            }
        }
        match &self.current {
            Some(_) => Ok(()),
            None => Err(trouble.unwrap_or_else(|| io::ErrorKind::StorageFull.into())),
        }
    }
}

/// Whether a shell's state can be written to a directory.
fn has_room(dir: &Path) -> bool {
    rustix::fs::statvfs(dir).is_ok_and(|found| {
        // Some file systems allocate inodes on demand and report none.
        let has_names = found.f_files == 0 || found.f_favail > 0;
        has_names && found.f_bavail.saturating_mul(found.f_frsize) >= MIN_FREE_BYTES
    })
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
