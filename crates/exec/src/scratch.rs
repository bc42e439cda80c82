//! Folders for what jobs write beside their output, one for each session.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use hermes_sandbox::den;

use crate::fleeting::Fleeting;

/// The folders of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    top: Option<Fleeting>,
    /// Each has the folder of its number.
    sessions: Vec<String>,
}

impl Scratch {
    /// That of a session. It lies where a job sees no more than it was told of,
    /// if there is such a place: what a shell remembers is nobody else's.
    pub(crate) fn folder(&mut self, session: &str) -> io::Result<PathBuf> {
        let top = match &mut self.top {
            Some(top) => top,
            none => {
                let place = den().or_else(|_| std::env::temp_dir().canonicalize())?;
                none.insert(Fleeting::make(&place)?)
            }
        };
        let known = self.sessions.iter().position(|known| known == session);
        let folder = top.path().join(known.unwrap_or(self.sessions.len()).to_string());
        if known.is_none() {
            DirBuilder::new().mode(0o700).create(&folder)?;
            self.sessions.push(session.to_owned());
        }
        Ok(folder)
    }
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
