//! Checks whether the current version of a file may be replaced.

use std::path::Path;

use hermes_core::{ToolContext, ToolError};

use hermes_text::TextDocument;

use super::version::{DiffBudget, LONG_DIFF, compare};
use crate::original::OriginalFile;
use crate::path_text::display_path;
use crate::placeholders;
use crate::seen_files::{self, FileHash, FileWriter, VersionKnowledge};
use crate::versions;

/// Maximum bytes of the diff in an error.
const MAX_DIFF_BYTES: usize = 4_000;

/// How much of the current version the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallerKnowledge {
    /// All of it, or the caller named the version.
    Whole,
    /// Some of its lines.
    Part,
    /// The caller has not read it.
    None,
}

/// Fails unless the caller knows the current version or has never seen the
/// file, and the new text keeps the secrets that the caller cannot see.
pub(super) fn check(
    cx: &ToolContext,
    path: &Path,
    expected: Option<&FileHash>,
    old: Option<&OriginalFile>,
    text: &str,
) -> Result<CallerKnowledge, ToolError> {
    if let Some(old) = old.and_then(OriginalFile::text) {
        placeholders::refuse_overwritten_secret(path, old, text)?;
    }
    let shown = display_path(path);
    let Some(old) = old else {
        return match expected {
            None => Ok(CallerKnowledge::Whole),
            Some(expected) => Err(ToolError::conflict(format!(
                "{shown} does not exist, so it does not have the hash {expected}"
            ))
            .with_hint("Omit expected_hash to create it.")),
        };
    };
    if let Some(expected) = expected {
        if expected.matches(old.hash()) {
            return Ok(CallerKnowledge::Whole);
        }
        let by = seen_files::other_writer(cx, path, || old.hash());
        let message = format!("{shown} is not the expected version");
        return Err(WriteConflict { message, seen: Some(expected.clone()), by }.explain(old, text));
    }
    match seen_files::version_knowledge(cx, path, || old.hash()) {
        VersionKnowledge::Same if seen_files::has_seen_all(cx, path) => Ok(CallerKnowledge::Whole),
        VersionKnowledge::Same => Ok(CallerKnowledge::Part),
        VersionKnowledge::Changed { seen, by } => {
            let message = format!("{shown} has changed since you last read it");
            Err(WriteConflict { message, seen: Some(seen), by }.explain(old, text))
        }
        VersionKnowledge::Created { by } => {
            let message = format!("{shown} did not exist when you looked, and does now");
            Err(WriteConflict { message, seen: None, by }.explain(old, text))
        }
        VersionKnowledge::Unseen => match seen_files::other_writer(cx, path, || old.hash()) {
            None => Ok(CallerKnowledge::None),
            by => {
                let message = format!("{shown} contains work that you have not seen");
                Err(WriteConflict { message, seen: None, by }.explain(old, text))
            }
        },
    }
}

struct WriteConflict {
    message: String,
    /// The version that the caller last saw or expects.
    seen: Option<FileHash>,
    by: Option<FileWriter>,
}

impl WriteConflict {
    fn explain(self, now: &OriginalFile, text: &str) -> ToolError {
        let who = match &self.by {
            Some(by) => format!(": task '{}' wrote it at {}", by.task_id, by.at),
            None => String::new(),
        };
        let hint = format!(
            "Nothing was written. Read it again and merge, or pass expected_hash={} to replace \
             this version.",
            now.hash()
        );
        let mut error = ToolError::conflict(format!("{}{who}", self.message))
            .with_hint(hint)
            .with("current_hash", now.hash().to_string());
        if let Some(seen) = &self.seen {
            error = error.with("seen_hash", seen.to_string());
        }
        if let Some(by) = &self.by {
            error = error.with("written_by", serde_json::to_value(by).unwrap_or_default());
        }
        match self.diff(now, text) {
            Some(diff) => error.with("diff", diff),
            None => error,
        }
    }

    /// The changes since the caller read the file; if that version is no longer
    /// cached, what its write would have changed.
    fn diff(&self, now: &OriginalFile, text: &str) -> Option<String> {
        let current = now.text()?;
        let effort = DiffBudget { limit: MAX_DIFF_BYTES, ..LONG_DIFF };
        let seen = self.seen.as_ref().and_then(versions::find);
        let encoding = || now.document().ok().map(|now| now.format().encoding());
        match seen.and_then(|seen| TextDocument::read_with(seen.to_vec(), encoding).ok()) {
            Some(seen) => compare(seen.text(), current, ("last seen", "current"), effort),
            None => compare(current, text, ("current", "proposed"), effort),
        }
    }
}
