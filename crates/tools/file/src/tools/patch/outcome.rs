//! What a call comes to: what is written, and what there is to tell of it.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::Encoding;
use hermes_core::ToolContext;
use hermes_text::matching::{LineSpan, MatchStrategy, MovedRange};

use crate::change::FileChange;
use crate::charset;
use crate::original::OriginalFile;
use crate::path_text::{display_path, follow_link};
use crate::seen_files::{self, FileHash, VersionKnowledge};

/// The text of a file, as it was or as it will be. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum FileText {
    Old(Arc<OriginalFile>),
    New(Arc<String>),
}

impl FileText {
    /// None if it is not text.
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

/// Where something was changed.
#[derive(Debug, Clone)]
pub(super) struct ChangedSpot {
    pub(super) path: PathBuf,
    pub(super) strategy: MatchStrategy,
    pub(super) before: LineSpan,
    pub(super) after: LineSpan,
    pub(super) trace: MovedRange,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileFate {
    Modified,
    Created,
    Deleted,
    Moved(PathBuf),
}

/// A file that is not as it was.
#[derive(Debug)]
pub(super) struct PatchedFile {
    pub(super) path: PathBuf,
    pub(super) fate: FileFate,
    /// Before and after, where they are text.
    pub(super) old: Option<FileText>,
    pub(super) new: Option<FileText>,
    /// Of a file that has only moved.
    pub(super) hash: Option<FileHash>,
    /// Whether it is a program from now on, if that changes.
    pub(super) is_executable: Option<bool>,
}

impl PatchedFile {
    /// Whether it changed as a whole, besides what changed in its text.
    pub(super) fn is_changed_as_whole(&self) -> bool {
        self.fate != FileFate::Modified || self.is_executable.is_some()
    }

    /// The file that is written: where a link leads. A link that goes or moves
    /// is meant itself.
    pub(super) fn written_path(&self) -> PathBuf {
        match self.fate {
            FileFate::Modified | FileFate::Created => follow_link(&self.path),
            FileFate::Deleted | FileFate::Moved(_) => self.path.clone(),
        }
    }
}

/// All that a call does.
#[derive(Debug)]
pub(super) struct PatchOutcome {
    pub(super) changes: Vec<FileChange>,
    pub(super) files: Vec<PatchedFile>,
    /// Those that shall be programs, or none.
    pub(super) programs: HashMap<PathBuf, bool>,
    pub(super) spots: Vec<ChangedSpot>,
    pub(super) warnings: Vec<String>,
    /// The files as they were found.
    pub(super) seen: Vec<(PathBuf, Arc<OriginalFile>)>,
}

impl PatchOutcome {
    /// The version of a file that there will be, given those of the changes.
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

    /// What was written in an encoding that the caller named is in it.
    pub(super) fn remember_encoding(&self, cx: &ToolContext, told: &'static Encoding) {
        for change in &self.changes {
            if let FileChange::Write { path, bytes, .. }
            | FileChange::Move { to: path, bytes: Some(bytes), .. } = change
            {
                charset::remember_encoding(cx, path, bytes, true, told);
            }
        }
    }

    /// A warning for each file of which the caller knows another version. The
    /// patch itself was found in the one that is there.
    pub(super) fn stale_warnings(&self, cx: &ToolContext) -> impl Iterator<Item = String> {
        self.seen.iter().filter_map(|(path, found)| stale_warning(cx, path, found))
    }
}

fn stale_warning(cx: &ToolContext, path: &Path, found: &OriginalFile) -> Option<String> {
    let standing = seen_files::version_knowledge(cx, path, || found.hash());
    let VersionKnowledge::Changed { by, .. } = standing else { return None };
    let who = by.map(|by| format!(" (task '{}' wrote it at {})", by.task_id, by.at));
    Some(format!(
        "{} has changed since you last saw it{}; the change was made in the current version.",
        display_path(path),
        who.unwrap_or_default()
    ))
}
