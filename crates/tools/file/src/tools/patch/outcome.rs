//! Outcome of a call: what to write and what to report.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::Encoding;
use hermes_core::{ToolContext, ToolError};
use hermes_text::matching::{LineSpan, MatchStrategy, MovedRange};

use crate::change::FileChange;
use crate::charset;
use crate::original::OriginalFile;
use crate::path_text::{display_path, follow_link};
use crate::placeholders;
use crate::seen_files::{self, FileHash, VersionKnowledge};

/// Old or new text of a file. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum FileText {
    Old(Arc<OriginalFile>),
    New(Arc<String>),
}

impl FileText {
    /// Returns the old text; `None` if the file is not text.
    pub(super) fn old(file: Arc<OriginalFile>) -> Option<Self> {
        file.text().is_some().then_some(Self::Old(file))
    }
}

impl Deref for FileText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Old(file) => file.text().unwrap_or_default(),
            Self::New(text) => text,
        }
    }
}

/// A changed place in a file.
#[derive(Debug, Clone)]
pub(super) struct ChangedSpot {
    pub(super) path: PathBuf,
    pub(super) strategy: MatchStrategy,
    pub(super) before: LineSpan,
    pub(super) after: LineSpan,
    pub(super) trace: MovedRange,
}

/// Kind of change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileFate {
    Modified,
    Created,
    Deleted,
    Moved(PathBuf),
}

/// A file that the patch changes.
#[derive(Debug)]
pub(super) struct PatchedFile {
    pub(super) path: PathBuf,
    pub(super) fate: FileFate,
    /// Old and new text, if the file is text.
    pub(super) old: Option<FileText>,
    pub(super) new: Option<FileText>,
    /// Hash of a file that is only moved.
    pub(super) hash: Option<FileHash>,
    /// New executable bit, if it changes.
    pub(super) is_executable: Option<bool>,
}

impl PatchedFile {
    /// Whether more than the file's text changed.
    pub(super) fn is_changed_as_whole(&self) -> bool {
        self.fate != FileFate::Modified || self.is_executable.is_some()
    }

    /// Returns the file that is written, with links resolved. A link that is
    /// deleted or moved is not followed.
    pub(super) fn written_path(&self) -> PathBuf {
        match self.fate {
            FileFate::Modified | FileFate::Created => follow_link(&self.path),
            FileFate::Deleted | FileFate::Moved(_) => self.path.clone(),
        }
    }
}

/// All changes of a call.
#[derive(Debug)]
pub(super) struct PatchOutcome {
    pub(super) changes: Vec<FileChange>,
    pub(super) files: Vec<PatchedFile>,
    /// New executable bits.
    pub(super) programs: HashMap<PathBuf, bool>,
    pub(super) spots: Vec<ChangedSpot>,
    pub(super) warnings: Vec<String>,
    /// The files as found.
    pub(super) seen: Vec<(PathBuf, Arc<OriginalFile>)>,
}

impl PatchOutcome {
    /// Returns the new version of a file, given the hashes of the changes.
    pub(super) fn version<'a>(
        &'a self,
        file: &'a PatchedFile,
        hashes: &'a [Option<FileHash>],
    ) -> Option<&'a FileHash> {
        let is_it = |change: &FileChange| match change {
            FileChange::Write { path, .. } | FileChange::Move { to: path, .. } => {
                *path == file.path
            }
            FileChange::Remove { .. } => false,
        };
        let written = self.changes.iter().zip(hashes).find(|(change, _)| is_it(change));
        written.and_then(|(_, hash)| hash.as_ref()).or(file.hash.as_ref())
    }

    /// Rejects new texts in which a placeholder replaces a secret.
    pub(super) fn refuse_overwritten_secrets(&self) -> Result<(), ToolError> {
        for file in &self.files {
            if let (Some(old), Some(new)) = (&file.old, &file.new) {
                placeholders::refuse_overwritten_secret(&file.path, old, new)?;
            }
        }
        Ok(())
    }

    /// Records the encoding given by the caller for the written files.
    pub(super) fn remember_encoding(&self, cx: &ToolContext, shown: &'static Encoding) {
        for change in &self.changes {
            if let FileChange::Write { path, bytes, .. }
            | FileChange::Move { to: path, bytes: Some(bytes), .. } = change
            {
                charset::remember_encoding(cx, path, bytes, true, shown);
            }
        }
    }

    /// Returns a warning for each file that changed since the caller saw it.
    /// The patch itself matched the current version.
    pub(super) fn stale_warnings(&self, cx: &ToolContext) -> impl Iterator<Item = String> {
        self.seen.iter().filter_map(|(path, found)| stale_warning(cx, path, found))
    }
}

fn stale_warning(cx: &ToolContext, path: &Path, found: &OriginalFile) -> Option<String> {
    let standing = seen_files::version_knowledge(cx, path, || found.hash());
    let VersionKnowledge::Changed { by, .. } = standing else { return None };
    let who = by.map(|by| format!(" (task '{}' wrote it at {})", by.task_id, by.at));
    Some(format!(
        "{} has changed since you last saw it{}; the patch was applied to the current version.",
        display_path(path),
        who.unwrap_or_default()
    ))
}
