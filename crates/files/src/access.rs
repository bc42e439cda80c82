//! The door through which tools reach the user's files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{ErrorKind, Grants, Scope, ToolContext, ToolError};
use rustix::fs::OFlags;

use crate::dir::{DirEntry, OpenDir, hard_linked_id};
use crate::error_text::explain_path_error;
use crate::journal::JournalDir;
use crate::locate::{LinkMode, locate};
use crate::metadata::{FileIdentity, FileKind, FileMetadata};
use crate::open::{AnchoredName, WalkMode};
use crate::traps::refuse_traps;

/// The user's files, as far as a call may touch them.
///
/// Paths are absolute. Each function checks that the call declared the effect
/// and was allowed it, and then acts on the real place that was judged. If a
/// link has got in the way since, nothing is done and the error's kind is
/// `conflict`.
#[derive(Debug, Clone, Copy)]
pub struct FileAccess<'a> {
    grants: &'a Grants,
    walk: WalkMode,
    /// Nothing may be opened, only looked at.
    names_only: bool,
}

static ALL_GRANTS: Grants = Grants::ALLOW_ALL;

impl<'a> FileAccess<'a> {
    /// Those of a running call. A change that somebody was killed at is taken
    /// back first, so that nobody sees one half of it.
    pub fn new(cx: &'a ToolContext) -> Self {
        if let Some(journals) = cx.ports.get::<JournalDir>() {
            journals.recover_if_due();
        }
        Self::with_grants(&cx.grants)
    }

    /// Those within these bounds.
    pub fn with_grants(grants: &'a Grants) -> Self {
        Self { grants, walk: WalkMode::default(), names_only: false }
    }

    /// The same files, reached in another way.
    #[must_use]
    pub fn with_walk(self, walk: WalkMode) -> Self {
        Self { walk, ..self }
    }

    /// The names around a path that the call may read, for telling what may
    /// have been meant by one that leads nowhere. No file can be opened.
    pub fn names_around(self, path: &Path) -> Result<FileAccess<'static>, ToolError> {
        self.grants.real_path(&Scope::FILE_READ, path)?;
        Ok(FileAccess { grants: &ALL_GRANTS, walk: self.walk, names_only: true })
    }

    /// Where the call reads when it reads `path`.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf, ToolError> {
        self.locate("look at", &Scope::FILE_READ, path, LinkMode::Follow)
    }

    /// Whether a real place stays closed to the call although it may read the
    /// folder above it.
    pub fn denies(&self, real: &Path) -> bool {
        self.grants.denies(&Scope::FILE_READ, real)
    }

    /// The same of a file by what is known of it: under another name it may be
    /// one that stays closed.
    pub fn denies_hard_linked(&self, real: &Path, facts: &FileMetadata) -> bool {
        let FileIdentity { dev, ino, links, .. } = facts.identity;
        links > 1
            && facts.kind == FileKind::File
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
        let spot = self.anchor("open", &Scope::FILE_READ, path, LinkMode::Follow)?;
        let file =
            spot.open(OFlags::RDONLY).map_err(|error| explain_path_error("open", path, &error))?;
        // Of the folder above it was not known that this one is in it.
        if self.grants.exceptions().is_some()
            && let Some(found) = hard_linked_id(&file)
            && self.grants.denies_hard_linked(&Scope::FILE_READ, &self.real_path(path)?, found)
        {
            let path = path.display();
            return Err(ToolError::denied(format!("{path} is another name of a protected file")));
        }
        Ok(file)
    }

    /// What is known of the file or folder that `path` leads to.
    pub fn metadata(&self, path: &Path) -> Result<FileMetadata, ToolError> {
        self.metadata_if_exists(path)?
            .ok_or_else(|| explain_path_error("look at", path, &io::ErrorKind::NotFound.into()))
    }

    /// Whether `path` leads to anything.
    pub fn exists(&self, path: &Path) -> Result<bool, ToolError> {
        Ok(self.metadata_if_exists(path)?.is_some())
    }

    /// An error where a path that ends with a slash leads to something that is
    /// no folder, as the system has it. The slash is lost when the path is made
    /// absolute, so this asks for the path as it was written.
    pub fn check_trailing_slash(&self, written: &str, path: &Path) -> Result<(), ToolError> {
        if !written.ends_with('/') && !written.ends_with("/.") {
            return Ok(());
        }
        match self.metadata_if_exists(path)? {
            Some(found) if found.kind != FileKind::Directory => {
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
    pub fn open_dir(&self, path: &Path) -> Result<OpenDir, ToolError> {
        let place = self.locate("list", &Scope::FILE_READ, path, LinkMode::Follow)?;
        let folder =
            AnchoredName::resolve(&place, self.walk).and_then(|spot| spot.open_dir(self.walk));
        let folder = folder.map_err(|error| explain_path_error("list", path, &error))?;
        Ok(folder.with_exceptions(self.grants.exceptions(), place))
    }

    /// The entries of a folder, ordered by name.
    pub fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>, ToolError> {
        let folder = self.open_dir(path)?;
        let entries = folder.entries().and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        let mut entries = entries.map_err(|error| explain_path_error("list", path, &error))?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Where the link at `path` leads, as it is written; none if it is no link.
    pub fn read_link(&self, path: &Path) -> Result<Option<PathBuf>, ToolError> {
        let spot = self.anchor("look at", &Scope::FILE_READ, path, LinkMode::ReadTarget)?;
        spot.read_link().map_err(|error| explain_path_error("look at", path, &error))
    }

    /// What is at a path now; none if nothing is.
    pub(crate) fn metadata_if_exists(
        &self,
        path: &Path,
    ) -> Result<Option<FileMetadata>, ToolError> {
        let place = self.locate("look at", &Scope::FILE_READ, path, LinkMode::Follow)?;
        let found = match AnchoredName::resolve(&place, self.walk) {
            Ok(spot) => spot.metadata_if_exists(),
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
        found.map_err(|error| explain_path_error("look at", path, &error))
    }

    /// [`Self::open`], none if nothing is there.
    pub(crate) fn open_if_exists(&self, path: &Path) -> Result<Option<File>, ToolError> {
        match self.open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && self.metadata_if_exists(path)?.is_none() =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn walk(&self) -> WalkMode {
        self.walk
    }

    pub(crate) fn locate(
        &self,
        verb: &str,
        scope: &Scope,
        path: &Path,
        last: LinkMode,
    ) -> Result<PathBuf, ToolError> {
        locate(self.grants, scope, path, last, verb)
    }

    pub(crate) fn anchor(
        &self,
        verb: &str,
        scope: &Scope,
        path: &Path,
        last: LinkMode,
    ) -> Result<AnchoredName, ToolError> {
        let place = self.locate(verb, scope, path, last)?;
        AnchoredName::resolve(&place, self.walk)
            .map_err(|error| explain_path_error(verb, path, &error))
    }
}
