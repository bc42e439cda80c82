//! Edits that a linter proposes and is sure of, which we make ourselves: what
//! makes them for it may need more than its walls allow.

use serde_json::Value;

use super::json::{list, text, whole};
use crate::Said;

/// A piece of a file that is to become another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, as the linter names it.
    pub file: String,
    /// Its first byte.
    pub from: usize,
    /// The byte after it.
    pub to: usize,
    /// What is to be there.
    pub text: String,
}

/// Those that the compiler is sure of; the edits of each go together.
pub(super) fn cargo(said: &Said<'_>) -> Vec<Vec<Edit>> {
    let mut all: Vec<Vec<Edit>> = Vec::new();
    for line in said.stdout.lines().filter(|line| line.starts_with('{')) {
        let Ok(one) = serde_json::from_str::<Value>(line) else { continue };
        let notes = one.pointer("/message/children").map(list).unwrap_or_default();
        let manifest = text(&one, "/manifest_path");
        let sure = notes.iter().find_map(|note| edits(note, manifest));
        // Each target of a package tells of the same.
        all.extend(sure.filter(|group| !all.contains(group)));
    }
    all
}

fn edits(note: &Value, manifest: &str) -> Option<Vec<Edit>> {
    let spans = note.get("spans").map(list).unwrap_or_default();
    let edits: Option<Vec<Edit>> = spans.iter().map(|span| edit(span, manifest)).collect();
    edits.filter(|edits| !edits.is_empty())
}

fn edit(span: &Value, manifest: &str) -> Option<Edit> {
    let place = |name: &str| usize::try_from(span.get(name)?.as_u64()?).ok();
    let is_sure = text(span, "/suggestion_applicability") == "MachineApplicable";
    let is_written = span.get("expansion").is_none_or(Value::is_null);
    let new = span.get("suggested_replacement")?.as_str()?;
    (is_sure && is_written).then_some(Edit {
        file: whole(text(span, "/file_name"), manifest),
        from: place("byte_start")?,
        to: place("byte_end")?,
        text: new.to_owned(),
    })
}

/// A file after these edits; none if one of them does not fit. They must not
/// touch one another.
pub fn apply(bytes: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.from);
    let mut new = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        new.extend_from_slice(bytes.get(at..edit.from)?);
        new.extend_from_slice(edit.text.as_bytes());
        at = edit.to;
    }
    new.extend_from_slice(bytes.get(at..)?);
    Some(new)
}

/// Whether two edits cannot both be made.
pub fn clash(one: &Edit, other: &Edit) -> bool {
    one.file == other.file && one.from <= other.to && other.from <= one.to
}
