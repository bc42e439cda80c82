//! Access of tools to the user's files.

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

/// The user's files, restricted to what a call may touch.
///
/// Paths are absolute. Each function checks that the call declared the effect
/// and was granted it, and then acts on the real path that the policy checked.
/// If a symlink has appeared on that path since, nothing is done and the error
/// kind is `conflict`.
#[derive(Debug, Clone, Copy)]
pub struct FileAccess<'a> {
    grants: &'a Grants,
    walk: WalkMode,
    /// Files cannot be opened, only listed and inspected.
    names_only: bool,
}

static ALL_GRANTS: Grants = Grants::ALLOW_ALL;

impl<'a> FileAccess<'a> {
    /// Creates the access of a running call. Rolls back changes interrupted by
    /// a crash first, so the call never sees half of one.
    pub fn new(cx: &'a ToolContext) -> Self {
        if let Some(journals) = cx.ports.get::<JournalDir>() {
            journals.recover_if_due();
        }
        Self::with_grants(&cx.grants)
    }

    /// Creates an access within these grants.
    pub fn with_grants(grants: &'a Grants) -> Self {
        Self { grants, walk: WalkMode::default(), names_only: false }
    }

    /// Returns the same access with another way to walk paths.
    #[must_use]
    pub fn with_walk(self, walk: WalkMode) -> Self {
        Self { walk, ..self }
    }

    /// Returns an access to the names around a path that the call may read, for
    /// suggestions when the path does not exist. No file can be opened.
    pub fn names_around(self, path: &Path) -> Result<FileAccess<'static>, ToolError> {
        self.grants.real_path(&Scope::FILE_READ, path)?;
        Ok(FileAccess { grants: &ALL_GRANTS, walk: self.walk, names_only: true })
    }

    /// Returns the real path that the call reads for `path`.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf, ToolError> {
        self.locate("look at", &Scope::FILE_READ, path, LinkMode::Follow)
    }

    /// Whether a real path is denied although the call may read its parent
    /// directory.
    pub fn denies(&self, real: &Path) -> bool {
        self.grants.denies(&Scope::FILE_READ, real)
    }

    /// Whether a file is denied because it is a hard link to a denied file.
    pub fn denies_hard_linked(&self, real: &Path, facts: &FileMetadata) -> bool {
        let FileIdentity { dev, ino, links, .. } = facts.identity;
        links > 1
            && facts.kind == FileKind::File
            && self.grants.denies_hard_linked(&Scope::FILE_READ, real, (dev, ino))
    }

    /// Opens a regular file for reading. A file that would block, never end, or
    /// expose a process's secrets is refused before it is opened.
    pub fn open(&self, path: &Path) -> Result<File, ToolError> {
        if self.names_only {
            return Err(ToolError::denied(format!(
                "{} can only be listed, not opened",
                path.display()
            )));
        }
        self.grants.real_path(&Scope::FILE_READ, path)?;
        refuse_traps(path)?;
        let spot = self.anchor("open", &Scope::FILE_READ, path, LinkMode::Follow)?;
        let file =
            spot.open(OFlags::RDONLY).map_err(|error| explain_path_error("open", path, &error))?;
        // The directory grant does not cover hard links to denied files.
        if self.grants.exceptions().is_some()
            && let Some(found) = hard_linked_id(&file)
            && self.grants.denies_hard_linked(&Scope::FILE_READ, &self.real_path(path)?, found)
        {
            let path = path.display();
            return Err(ToolError::denied(format!("{path} is a hard link to a protected file")));
        }
        Ok(file)
    }

    /// Returns the metadata of the file or directory at `path`, following
    /// symlinks.
    pub fn metadata(&self, path: &Path) -> Result<FileMetadata, ToolError> {
        self.metadata_if_exists(path)?
            .ok_or_else(|| explain_path_error("look at", path, &io::ErrorKind::NotFound.into()))
    }

    /// Whether `path` exists, following symlinks.
    pub fn exists(&self, path: &Path) -> Result<bool, ToolError> {
        Ok(self.metadata_if_exists(path)?.is_some())
    }

    /// Fails if a path with a trailing slash leads to something other than a
    /// directory, as the system does. The slash is lost when the path is made
    /// absolute, so this takes the path as written.
    pub fn check_trailing_slash(&self, written: &str, path: &Path) -> Result<(), ToolError> {
        if !written.ends_with('/') && !written.ends_with("/.") {
            return Ok(());
        }
        match self.metadata_if_exists(path)? {
            Some(found) if found.kind != FileKind::Directory => {
                let what = found.kind.describe();
                Err(ToolError::invalid(format!(
                    "'{written}' is {what}, not a directory, but a trailing slash requires a \
                     directory"
                ))
                .with_hint("Omit the trailing slash."))
            }
            _ => Ok(()),
        }
    }

    /// Opens a directory, to list it and what is below. The grant of a
    /// directory covers everything in it.
    pub fn open_dir(&self, path: &Path) -> Result<OpenDir, ToolError> {
        let place = self.locate("list", &Scope::FILE_READ, path, LinkMode::Follow)?;
        let dir =
            AnchoredName::resolve(&place, self.walk).and_then(|spot| spot.open_dir(self.walk));
        let dir = dir.map_err(|error| explain_path_error("list", path, &error))?;
        Ok(dir.with_exceptions(self.grants.exceptions(), place))
    }

    /// Returns the entries of a directory, sorted by name.
    pub fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>, ToolError> {
        let dir = self.open_dir(path)?;
        let entries = dir.entries().and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        let mut entries = entries.map_err(|error| explain_path_error("list", path, &error))?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Returns the target of the symlink at `path` as written; `None` if it is
    /// not a symlink.
    pub fn read_link(&self, path: &Path) -> Result<Option<PathBuf>, ToolError> {
        let spot = self.anchor("look at", &Scope::FILE_READ, path, LinkMode::ReadTarget)?;
        spot.read_link().map_err(|error| explain_path_error("look at", path, &error))
    }

    /// Returns the metadata of a path; `None` if it does not exist.
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

    /// Like [`Self::open`]; `None` if the file does not exist.
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
