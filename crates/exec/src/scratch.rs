//! Folders for what jobs write beside their output, one for each session.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use hermes_sandbox::private_dir;

use crate::run_dir::RunDir;

/// Where they are if the usual place has no room, or is not there.
const FALLBACK_DIRS: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// What a shell reports of itself is seldom more, and never much.
const MIN_FREE_BYTES: u64 = 1 << 20;

/// The folders of all sessions.
#[derive(Debug, Default)]
pub(crate) struct ScratchDirs {
    current: Option<RunDir>,
    /// Each has the folder of its number.
    sessions: Vec<String>,
    /// Those whose disk was full at some time: a job may still write there.
    retired: Vec<RunDir>,
}

impl ScratchDirs {
    /// That of a session. It lies where a job sees no more than it was told of,
    /// if there is such a place: what a shell remembers is nobody else's.
    pub(crate) fn session_dir(&mut self, session: &str) -> io::Result<PathBuf> {
        let is_short = self.current.as_ref().is_none_or(|top| !has_room(top.path()));
        if is_short {
            let usual = private_dir().or_else(|_| std::env::temp_dir().canonicalize());
            self.choose_dir(usual.into_iter().chain(FALLBACK_DIRS.map(PathBuf::from)))?;
        }
        let Some(top) = &self.current else { return Err(io::ErrorKind::NotFound.into()) };
        let known = self.sessions.iter().position(|known| known == session);
        let folder = top.path().join(known.unwrap_or(self.sessions.len()).to_string());
        if known.is_none() {
            DirBuilder::new().mode(0o700).create(&folder)?;
            self.sessions.push(session.to_owned());
        }
        Ok(folder)
    }

    /// Finds a place with room. The one that there is stays if no other is
    /// better.
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

/// Whether a report of a shell can be written to a folder.
fn has_room(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|found| {
        // Some file systems make their numbers as they need them.
        let has_names = found.f_files == 0 || found.f_favail > 0;
        has_names && found.f_bavail.saturating_mul(found.f_frsize) >= MIN_FREE_BYTES
    })
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
