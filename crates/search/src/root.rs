//! The root of a search: an open directory or a single file.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{ErrorKind, ToolError};
use hermes_files::{FileAccess, FileKind, IgnoreRules, OpenDir, explain_error};

use crate::dir_handle::DirHandle;

/// The root of a search.
#[derive(Debug)]
pub struct SearchRoot {
    /// Its canonical path.
    pub(crate) real_path: Arc<Path>,
    pub(crate) kind: RootKind,
}

#[derive(Debug)]
pub(crate) enum RootKind {
    Dir { base: RootDir, parent_rules: Vec<IgnoreRules> },
    File { file: File, name: OsString },
}

/// An open directory, with the handle used for the walk.
#[derive(Debug)]
pub(crate) struct RootDir {
    pub(crate) dir: OpenDir,
    pub(crate) handle: DirHandle,
}

impl SearchRoot {
    /// Opens the file or directory at `path`, which is absolute.
    pub fn open(files: &FileAccess<'_>, path: &Path) -> Result<Self, ToolError> {
        let refused = match files.open_dir(path) {
            Ok(dir) => return Self::open_dir(files, path, dir),
            Err(error) => error,
        };
        let is_file = refused.kind() == ErrorKind::InvalidArguments
            && files.metadata(path).is_ok_and(|found| found.kind == FileKind::File);
        if !is_file {
            return Err(refused);
        }
        let file = files.open(path)?;
        let name = path.file_name().map_or_else(OsString::new, ToOwned::to_owned);
        Ok(Self { real_path: files.real_path(path)?.into(), kind: RootKind::File { file, name } })
    }

    fn open_dir(files: &FileAccess<'_>, path: &Path, dir: OpenDir) -> Result<Self, ToolError> {
        let place: PathBuf = files.real_path(path)?;
        let above = files.ignore_rules_above(path)?;
        let handle = DirHandle::open_verified(&dir, &place)
            .map_err(|error| explain_error("search", path, &error))?;
        let base = RootDir { dir, handle };
        Ok(Self { real_path: place.into(), kind: RootKind::Dir { base, parent_rules: above } })
    }

    /// Whether it is a single file.
    pub fn is_file(&self) -> bool {
        matches!(self.kind, RootKind::File { .. })
    }
}
