//! Machine-applicable edits of a linter, applied by us: the linter's own fix
//! command may need more than its sandbox allows.

use serde_json::Value;

use super::json::{absolute_path, as_list, str_at};
use crate::CheckOutput;

/// A replacement of a byte range of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintEdit {
    /// The file, as the linter names it.
    pub file: String,
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
    /// The new text.
    pub replacement: String,
}

/// Parses machine-applicable suggestions; each group must be applied together.
pub(super) fn parse_cargo_edits(said: &CheckOutput<'_>) -> Vec<Vec<LintEdit>> {
    let mut all: Vec<Vec<LintEdit>> = Vec::new();
    for line in said.stdout.lines().filter(|line| line.starts_with('{')) {
        let Ok(one) = serde_json::from_str::<Value>(line) else { continue };
        let notes = one.pointer("/message/children").map(as_list).unwrap_or_default();
        let manifest = str_at(&one, "/manifest_path");
        let sure = notes.iter().find_map(|note| note_edits(note, manifest));
        // Every target of a package reports the same edits.
        all.extend(sure.filter(|group| !all.contains(group)));
    }
    all
}

fn note_edits(note: &Value, manifest: &str) -> Option<Vec<LintEdit>> {
    let spans = note.get("spans").map(as_list).unwrap_or_default();
    let edits: Option<Vec<LintEdit>> = spans.iter().map(|span| span_edit(span, manifest)).collect();
    edits.filter(|edits| !edits.is_empty())
}

fn span_edit(span: &Value, manifest: &str) -> Option<LintEdit> {
    let place = |name: &str| usize::try_from(span.get(name)?.as_u64()?).ok();
    let is_sure = str_at(span, "/suggestion_applicability") == "MachineApplicable";
    let is_written = span.get("expansion").is_none_or(Value::is_null);
    let new = span.get("suggested_replacement")?.as_str()?;
    (is_sure && is_written).then_some(LintEdit {
        file: absolute_path(str_at(span, "/file_name"), manifest),
        start: place("byte_start")?,
        end: place("byte_end")?,
        replacement: new.to_owned(),
    })
}

/// Applies edits to a file; `None` if one of them does not fit. They must not
/// overlap.
pub fn apply_edits(bytes: &[u8], edits: &[LintEdit]) -> Option<Vec<u8>> {
    let mut edits: Vec<&LintEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.start);
    let mut new = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        new.extend_from_slice(bytes.get(at..edit.start)?);
        new.extend_from_slice(edit.replacement.as_bytes());
        at = edit.end;
    }
    new.extend_from_slice(bytes.get(at..)?);
    Some(new)
}

/// Whether two edits conflict.
pub fn edits_overlap(one: &LintEdit, other: &LintEdit) -> bool {
    one.file == other.file && one.start <= other.end && other.start <= one.end
}
