//! One side of a directory comparison, held open.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_files::{FileAccess, OpenDir, refuse_traps};
use hermes_search::DirIgnoreRules;

use super::side::{DiffSide, MAX_READ_BYTES};
use crate::lines::fill_buffer;
use crate::missing::{MissingKind, explain_missing};
use crate::path_text::display_below;

/// The only mode bit that counts as a difference, as in git.
const OWNER_EXEC_BIT: u32 = 0o100;

/// One of two directories being compared.
#[derive(Debug)]
pub(super) struct ComparedDir {
    pub(super) name: String,
    pub(super) place: PathBuf,
    pub(super) root: OpenDir,
    /// Ignore rules of the parent directories, if they apply.
    pub(super) above: Option<DirIgnoreRules>,
}

impl ComparedDir {
    /// Opens the directory at `path`, which is absolute.
    pub(super) fn open(
        name: String,
        path: &Path,
        gitignore: bool,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let files = FileAccess::new(cx);
        let root = files.open_dir(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => explain_missing(MissingKind::Directory, path, cx),
            _ => error,
        })?;
        let place = files.real_path(path)?;
        let rules = || {
            files.ignore_rules_above(path).map(|above| DirIgnoreRules::from_parents(&place, &above))
        };
        let above = if gitignore { Some(rules()?) } else { None };
        Ok(Self { name, place, root, above })
    }

    /// Formats a path below the directory.
    pub(super) fn display_path(&self, relative: &Path) -> String {
        display_below(&self.name, &self.place, relative)
    }

    /// Opens a subdirectory, or the directory itself.
    pub(super) fn open_dir(&self, relative: &Path) -> io::Result<OpenDir> {
        if relative.as_os_str().is_empty() {
            self.root.try_clone()
        } else {
            self.root.open_dir(relative)
        }
    }

    /// Opens a file; refuses files that could block or expose process secrets.
    fn open_file(&self, relative: &Path) -> io::Result<File> {
        refuse_traps(&self.place.join(relative))
            .map_err(|error| io::Error::new(io::ErrorKind::PermissionDenied, error.to_string()))?;
        self.root.open(relative)
    }

    /// Whether the files at a path in both directories are identical.
    pub(super) fn holds_same(
        &self,
        other: &Self,
        relative: &Path,
        cx: &ToolContext,
    ) -> io::Result<bool> {
        let (before, after) = (self.root.metadata(relative)?, other.root.metadata(relative)?);
        if before.identity.is_same(&after.identity) {
            return Ok(true);
        }
        if before.len != after.len || before.mode & OWNER_EXEC_BIT != after.mode & OWNER_EXEC_BIT {
            return Ok(false);
        }
        require_readable_size(before.len)?;
        has_same_content(self.open_file(relative)?, other.open_file(relative)?, cx)
    }

    /// Whether the owner can execute the file at a path.
    pub(super) fn is_executable(&self, relative: &Path) -> Option<bool> {
        self.root.metadata(relative).ok().map(|facts| facts.mode & OWNER_EXEC_BIT != 0)
    }

    /// Reads the file at a path.
    pub(super) fn read_side(
        &self,
        relative: &Path,
        shown: Option<&'static Encoding>,
        cx: &ToolContext,
    ) -> io::Result<DiffSide> {
        let place = self.place.join(relative);
        let mut file = self.open_file(relative)?;
        let size = file.metadata()?.len();
        require_readable_size(size)?;
        DiffSide::from_reader(self.display_path(relative), &mut file, size, shown, &place, cx)
    }
}

/// Fails for a file that is too large to read.
fn require_readable_size(size: u64) -> io::Result<()> {
    if size > MAX_READ_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

/// Whether two files of the same length have the same content.
fn has_same_content(mut old: File, mut new: File, cx: &ToolContext) -> io::Result<bool> {
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        if cx.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let before = fill_buffer(&mut old, &mut left)?;
        if fill_buffer(&mut new, &mut right)? != before {
            return Ok(false);
        }
        if before.is_empty() {
            return Ok(true);
        }
    }
}
