//! Whether the version that is there may be replaced.

use std::path::Path;

use hermes_core::{ToolContext, ToolError};

use hermes_text::TextDocument;

use super::version::{Effort, LONG_DIFF, compare};
use crate::known::{self, Hash, Standing, Writer};
use crate::original::Original;
use crate::spelling::show;
use crate::versions;

/// Bytes of the diff in an error.
const DIFF: usize = 4_000;

/// How much of the version that is there the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// All, or it says which version it means.
    Whole,
    /// Some of its lines.
    Part,
    /// It has not looked.
    None,
}

/// An error unless the caller knows the version that is there, or has not seen
/// any. The new text is there to explain it.
pub(super) fn check(
    cx: &ToolContext,
    path: &Path,
    expected: Option<&Hash>,
    old: Option<&Original>,
    text: &str,
) -> Result<Sight, ToolError> {
    let shown = show(path);
    let Some(old) = old else {
        return match expected {
            None => Ok(Sight::Whole),
            Some(expected) => Err(ToolError::conflict(format!(
                "{shown} does not exist, so it does not have the hash {expected}"
            ))
            .with_hint("Leave expected_hash out to create it.")),
        };
    };
    if let Some(expected) = expected {
        if expected.matches(old.hash()) {
            return Ok(Sight::Whole);
        }
        let by = known::other_writer(cx, path, || old.hash());
        let message = format!("{shown} is another version than the one that was expected");
        return Err(Conflict { message, seen: Some(expected.clone()), by }.explain(old, text));
    }
    match known::standing(cx, path, || old.hash()) {
        Standing::Same if known::saw_all(cx, path) => Ok(Sight::Whole),
        Standing::Same => Ok(Sight::Part),
        Standing::Changed { seen, by } => {
            let message = format!("{shown} has changed since you last saw it");
            Err(Conflict { message, seen: Some(seen), by }.explain(old, text))
        }
        Standing::Created { by } => {
            let message = format!("{shown} was not there when you looked, and is now");
            Err(Conflict { message, seen: None, by }.explain(old, text))
        }
        Standing::Unseen => match known::other_writer(cx, path, || old.hash()) {
            None => Ok(Sight::None),
            by => {
                let message = format!("{shown} holds work that you have not seen");
                Err(Conflict { message, seen: None, by }.explain(old, text))
            }
        },
    }
}

struct Conflict {
    message: String,
    /// The version that the caller goes by.
    seen: Option<Hash>,
    by: Option<Writer>,
}

impl Conflict {
    fn explain(self, now: &Original, text: &str) -> ToolError {
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

    /// What has changed since the caller looked; if that version is no longer
    /// known, what its write would have changed.
    fn diff(&self, now: &Original, text: &str) -> Option<String> {
        let current = now.text()?;
        let effort = Effort { limit: DIFF, ..LONG_DIFF };
        let seen = self.seen.as_ref().and_then(versions::find);
        let encoding = || now.document().ok().map(|now| now.format().encoding());
        match seen.and_then(|seen| TextDocument::read_with(seen.to_vec(), encoding).ok()) {
            Some(seen) => compare(seen.text(), current, ("as you saw it", "as it is now"), effort),
            None => compare(current, text, ("as it is now", "as you would write it"), effort),
        }
    }
}
