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
use crate::known::{self, Hash, Standing};
use crate::original::Original;
use crate::spelling::{led, show};

/// The text of a file, as it was or as it will be. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum Text {
    Old(Arc<Original>),
    New(Arc<String>),
}

impl Text {
    /// None if it is not text.
    pub(super) fn old(file: Arc<Original>) -> Option<Self> {
        file.text().is_some().then_some(Self::Old(file))
    }
}

impl Deref for Text {
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
pub(super) struct Spot {
    pub(super) path: PathBuf,
    pub(super) strategy: MatchStrategy,
    pub(super) before: LineSpan,
    pub(super) after: LineSpan,
    pub(super) trace: MovedRange,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Modified,
    Created,
    Deleted,
    Moved(PathBuf),
}

/// A file that is not as it was.
#[derive(Debug)]
pub(super) struct Turned {
    pub(super) path: PathBuf,
    pub(super) fate: Fate,
    /// Before and after, where they are text.
    pub(super) old: Option<Text>,
    pub(super) new: Option<Text>,
    /// Of a file that has only moved.
    pub(super) hash: Option<Hash>,
    /// Whether it is a program from now on, if that changes.
    pub(super) runs: Option<bool>,
}

impl Turned {
    /// Whether it changed as a whole, besides what changed in its text.
    pub(super) fn is_turned(&self) -> bool {
        self.fate != Fate::Modified || self.runs.is_some()
    }

    /// The file that is written: where a link leads. A link that goes or moves
    /// is meant itself.
    pub(super) fn place(&self) -> PathBuf {
        match self.fate {
            Fate::Modified | Fate::Created => led(&self.path),
            Fate::Deleted | Fate::Moved(_) => self.path.clone(),
        }
    }
}

/// All that a call does.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) changes: Vec<FileChange>,
    pub(super) files: Vec<Turned>,
    /// Those that shall be programs, or none.
    pub(super) programs: HashMap<PathBuf, bool>,
    pub(super) spots: Vec<Spot>,
    pub(super) warnings: Vec<String>,
    /// The files as they were found.
    pub(super) seen: Vec<(PathBuf, Arc<Original>)>,
}

impl Outcome {
    /// The version of a file that there will be, given those of the changes.
    pub(super) fn version<'a>(
        &'a self,
        file: &'a Turned,
        hashes: &'a [Option<Hash>],
    ) -> Option<&'a Hash> {
        let is_it = |change: &FileChange| match change {
            FileChange::Write { path, .. } | FileChange::Move { to: path, .. } => *path == file.path,
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
                charset::remember(cx, path, bytes, true, told);
            }
        }
    }

    /// A warning for each file of which the caller knows another version. The
    /// patch itself was found in the one that is there.
    pub(super) fn stale(&self, cx: &ToolContext) -> impl Iterator<Item = String> {
        self.seen.iter().filter_map(|(path, found)| stale(cx, path, found))
    }
}

fn stale(cx: &ToolContext, path: &Path, found: &Original) -> Option<String> {
    let standing = known::standing(cx, path, || found.hash());
    let Standing::Changed { by, .. } = standing else { return None };
    let who = by.map(|by| format!(" (task '{}' wrote it at {})", by.task_id, by.at));
    Some(format!(
        "{} has changed since you last saw it{}; the change was made in the current version.",
        show(path),
        who.unwrap_or_default()
    ))
}
