//! The door through which tools reach the user's files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{ErrorKind, Grants, Scope, ToolContext, ToolError};
use rustix::fs::OFlags;

use crate::facts::{Facts, Identity, Kind};
use crate::folder::{Entry, Folder, shared};
use crate::journal::Journals;
use crate::open::{Spot, Walk};
use crate::place::{Last, locate};
use crate::traps::refuse_traps;
use crate::words::explain_way;

/// The user's files, as far as a call may touch them.
///
/// Paths are absolute. Each function checks that the call declared the effect
/// and was allowed it, and then acts on the real place that was judged. If a
/// link has got in the way since, nothing is done and the error's kind is
/// `conflict`.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    grants: &'a Grants,
    walk: Walk,
    /// Nothing may be opened, only looked at.
    names_only: bool,
}

static EVERYTHING: Grants = Grants::ALLOW_ALL;

impl<'a> Files<'a> {
    /// Those of a running call. A change that somebody was killed at is taken
    /// back first, so that nobody sees one half of it.
    pub fn new(cx: &'a ToolContext) -> Self {
        if let Some(journals) = cx.ports.get::<Journals>() {
            journals.glance();
        }
        Self::with(&cx.grants)
    }

    /// Those within these bounds.
    pub fn with(grants: &'a Grants) -> Self {
        Self { grants, walk: Walk::default(), names_only: false }
    }

    /// The same files, reached in another way.
    #[must_use]
    pub fn walking(self, walk: Walk) -> Self {
        Self { walk, ..self }
    }

    /// The names around a path that the call may read, for telling what may
    /// have been meant by one that leads nowhere. No file can be opened.
    pub fn names_around(self, path: &Path) -> Result<Files<'static>, ToolError> {
        self.grants.real_path(&Scope::FILE_READ, path)?;
        Ok(Files { grants: &EVERYTHING, walk: self.walk, names_only: true })
    }

    /// Where the call reads when it reads `path`.
    pub fn real(&self, path: &Path) -> Result<PathBuf, ToolError> {
        self.place("look at", &Scope::FILE_READ, path, Last::Follow)
    }

    /// Whether a real place stays closed to the call although it may read the
    /// folder above it.
    pub fn closes(&self, real: &Path) -> bool {
        self.grants.denies(&Scope::FILE_READ, real)
    }

    /// The same of a file by what is known of it: under another name it may be
    /// one that stays closed.
    pub fn closes_file(&self, real: &Path, facts: &Facts) -> bool {
        let Identity { dev, ino, links, .. } = facts.identity;
        links > 1
            && facts.kind == Kind::File
            && self.grants.denies_hard_linked(&Scope::FILE_READ, real, (dev, ino))
    }

    /// Opens a regular file for reading. What would hang, never end, or tell a
    /// process's secrets is refused unopened.
    pub fn open(&self, path: &Path) -> Result<File, ToolError> {
        if self.names_only {
            return Err(ToolError::denied(format!("{} may only be looked at", path.display())));
        }
        self.grants.real_path(&Scope::FILE_READ, path)?;
        refuse_traps(path)?;
        let spot = self.spot("open", &Scope::FILE_READ, path, Last::Follow)?;
        let file = spot.open(OFlags::RDONLY).map_err(|error| explain_way("open", path, &error))?;
        // Of the folder above it was not known that this one is in it.
        if self.grants.exceptions().is_some()
            && let Some(found) = shared(&file)
            && self.grants.denies_hard_linked(&Scope::FILE_READ, &self.real(path)?, found)
        {
            let path = path.display();
            return Err(ToolError::denied(format!("{path} is another name of a protected file")));
        }
        Ok(file)
    }

    /// What is known of the file or folder that `path` leads to.
    pub fn metadata(&self, path: &Path) -> Result<Facts, ToolError> {
        self.look(path)?
            .ok_or_else(|| explain_way("look at", path, &io::ErrorKind::NotFound.into()))
    }

    /// Whether `path` leads to anything.
    pub fn exists(&self, path: &Path) -> Result<bool, ToolError> {
        Ok(self.look(path)?.is_some())
    }

    /// An error where a path that ends with a slash leads to something that is
    /// no folder, as the system has it. The slash is lost when the path is made
    /// absolute, so this asks for the path as it was written.
    pub fn heed_slash(&self, written: &str, path: &Path) -> Result<(), ToolError> {
        if !written.ends_with('/') && !written.ends_with("/.") {
            return Ok(());
        }
        match self.look(path)? {
            Some(found) if found.kind != Kind::Folder => {
                let what = found.kind.describe();
                Err(ToolError::invalid(format!(
                    "'{written}' is {what}, not a folder, and a slash at the end asks for a folder"
                ))
                .with_hint("Leave the slash out."))
            }
            _ => Ok(()),
        }
    }

    /// Opens a folder, to list it and what is below. The grant of a folder
    /// holds for all that is in it.
    pub fn folder(&self, path: &Path) -> Result<Folder, ToolError> {
        let place = self.place("list", &Scope::FILE_READ, path, Last::Follow)?;
        let folder = Spot::reach(&place, self.walk).and_then(|spot| spot.folder(self.walk));
        let folder = folder.map_err(|error| explain_way("list", path, &error))?;
        Ok(folder.except(self.grants.exceptions(), place))
    }

    /// The entries of a folder, ordered by name.
    pub fn read_dir(&self, path: &Path) -> Result<Vec<Entry>, ToolError> {
        let folder = self.folder(path)?;
        let entries = folder.entries().and_then(Iterator::collect::<io::Result<Vec<Entry>>>);
        let mut entries = entries.map_err(|error| explain_way("list", path, &error))?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Where the link at `path` leads, as it is written; none if it is no link.
    pub fn read_link(&self, path: &Path) -> Result<Option<PathBuf>, ToolError> {
        let spot = self.spot("look at", &Scope::FILE_READ, path, Last::Peek)?;
        spot.read_link().map_err(|error| explain_way("look at", path, &error))
    }

    /// What is at a path now; none if nothing is.
    pub(crate) fn look(&self, path: &Path) -> Result<Option<Facts>, ToolError> {
        let place = self.place("look at", &Scope::FILE_READ, path, Last::Follow)?;
        let found = match Spot::reach(&place, self.walk) {
            Ok(spot) => spot.look(),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        };
        found.map_err(|error| explain_way("look at", path, &error))
    }

    /// [`Self::open`], none if nothing is there.
    pub(crate) fn open_if_there(&self, path: &Path) -> Result<Option<File>, ToolError> {
        match self.open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound && self.look(path)?.is_none() => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn walk(&self) -> Walk {
        self.walk
    }

    pub(crate) fn place(
        &self,
        verb: &str,
        scope: &Scope,
        path: &Path,
        last: Last,
    ) -> Result<PathBuf, ToolError> {
        locate(self.grants, scope, path, last, verb)
    }

    pub(crate) fn spot(
        &self,
        verb: &str,
        scope: &Scope,
        path: &Path,
        last: Last,
    ) -> Result<Spot, ToolError> {
        let place = self.place(verb, scope, path, last)?;
        Spot::reach(&place, self.walk).map_err(|error| explain_way(verb, path, &error))
    }
}
