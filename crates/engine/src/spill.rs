//! Keeping large results out of the model's window: the whole goes to a file,
//! the head and the tail stay.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use hermes_core::ResultLimit;
use serde_json::{Map, Value, json};

/// How long a spilled file is kept.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of each end stays in the result.
const HEAD: usize = 1_000;
const TAIL: usize = 1_000;

/// A text that makes up this share of a result is spilled as it is, lines and
/// all; otherwise the whole JSON is.
const DOMINANT: f64 = 0.7;

/// How many characters reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of one result.
    pub per_result: usize,
    /// Of all results of a batch together.
    pub per_batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_result: 100_000, per_batch: 200_000 }
    }
}

impl Limits {
    /// Limits for a model with that many tokens of context, four characters
    /// each: 15 % for a result, 30 % for a batch, within bounds.
    pub fn for_window(tokens: Option<u64>) -> Self {
        let Some(tokens) = tokens else { return Self::default() };
        let chars = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
        Self {
            per_result: (chars / 100 * 15 + chars % 100 * 15 / 100).clamp(8_000, 100_000),
            per_batch: (chars / 100 * 30 + chars % 100 * 30 / 100).clamp(16_000, 200_000),
        }
    }

    /// The limit for a tool; none if it bounds itself.
    pub fn for_tool(&self, limit: ResultLimit) -> Option<usize> {
        match limit {
            ResultLimit::Default => Some(self.per_result),
            ResultLimit::Chars(chars) => Some(chars.min(self.per_result)),
            ResultLimit::Unbounded => None,
        }
    }
}

/// Whether `text` has more than `limit` characters, without counting those
/// of short texts.
pub(crate) fn exceeds(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().nth(limit).is_some()
}

/// Where large results go.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    swept: AtomicBool,
}

/// A result that was too large.
#[derive(Debug)]
pub(crate) struct Spilled {
    pub(crate) content: String,
    pub(crate) path: Option<PathBuf>,
}

impl Spill {
    /// Results go below `folder`, which is made when first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), swept: AtomicBool::new(false) }
    }

    /// Puts `content` into a file and returns what stands in its place.
    pub(crate) fn spill(&self, call_id: &str, content: &str) -> Spilled {
        let value: Value = serde_json::from_str(content).unwrap_or(Value::Null);
        let chars = content.chars().count();
        let dominant = longest_text(&value)
            .filter(|(_, text)| text.len() as f64 >= content.len() as f64 * DOMINANT)
            .map(|(pointer, text)| (pointer, text.to_owned()));
        if let Some((pointer, text)) = dominant {
            let saved = self.save(call_id, "txt", &text);
            return Spilled {
                content: excerpted(value, &pointer, &text, &saved),
                path: saved.ok(),
            };
        }
        let pretty = serde_json::to_string_pretty(&value).unwrap_or_else(|_| content.to_owned());
        let saved = self.save(call_id, "json", &pretty);
        let summary = json!({
            "truncated": true,
            "head": head(content, HEAD),
            "tail": tail(content, TAIL),
            "spilled": describe(&saved, chars, None),
        });
        Spilled { content: summary.to_string(), path: saved.ok() }
    }

    fn save(&self, call_id: &str, extension: &str, text: &str) -> std::io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        if !self.swept.swap(true, Ordering::Relaxed) {
            self.sweep();
        }
        // Ids repeat across sessions and within damaged batches; files never do.
        for attempt in 0..1000u32 {
            let path = self.folder.join(format!("{}-{attempt}.{extension}", file_stem(call_id)));
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            let mut file = match file {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            return match file.write_all(text.as_bytes()) {
                Ok(()) => Ok(path),
                Err(error) => {
                    // Half a result must not be taken for the whole.
                    let _ = fs::remove_file(&path);
                    Err(error)
                }
            };
        }
        Err(std::io::Error::other("too many results of the same name"))
    }

    /// Removes what has outlived its use.
    pub fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let old = entry
                .metadata()
                .and_then(|m| m.modified())
                .is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > LIFETIME));
            if old {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Where results go.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn describe(saved: &std::io::Result<PathBuf>, chars: usize, field: Option<&str>) -> Value {
    let mut note = Map::new();
    note.insert("chars".into(), chars.into());
    if let Some(field) = field {
        note.insert("field".into(), field.into());
    }
    match saved {
        Ok(path) => {
            note.insert("path".into(), path.display().to_string().into());
            note.insert("hint".into(), "Read it in pages with read_file (offset, limit).".into());
        }
        Err(error) => {
            note.insert(
                "hint".into(),
                format!("The whole could not be saved ({error}); ask for less.").into(),
            );
        }
    }
    Value::Object(note)
}

/// The result with its longest text cut down to its ends.
fn excerpted(
    mut value: Value,
    pointer: &str,
    text: &str,
    saved: &std::io::Result<PathBuf>,
) -> String {
    let chars = text.chars().count();
    let left_out = chars.saturating_sub(HEAD + TAIL);
    let short =
        format!("{}\n… [{left_out} characters left out] …\n{}", head(text, HEAD), tail(text, TAIL));
    if let Some(slot) = value.pointer_mut(pointer) {
        *slot = short.into();
    }
    let note = describe(saved, chars, Some(pointer.trim_start_matches('/')));
    match value {
        Value::Object(mut fields) => {
            fields.insert("truncated".into(), true.into());
            fields.insert("spilled".into(), note);
            Value::Object(fields).to_string()
        }
        other => json!({ "result": other, "truncated": true, "spilled": note }).to_string(),
    }
}

/// The longest string in a value, and the pointer to it.
fn longest_text(value: &Value) -> Option<(String, &str)> {
    let mut best: Option<(String, &str)> = None;
    let mut open = vec![(String::new(), value)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::String(text) if best.as_ref().is_none_or(|(_, b)| text.len() > b.len()) => {
                best = Some((pointer, text));
            }
            Value::Array(items) => {
                open.extend(
                    items.iter().enumerate().map(|(i, item)| (format!("{pointer}/{i}"), item)),
                );
            }
            Value::Object(fields) => open.extend(fields.iter().map(|(key, field)| {
                (format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), field)
            })),
            _ => {}
        }
    }
    best
}

/// The first `chars` characters, cut back to a line's end if one is near.
fn head(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let cut = text.get(..end).unwrap_or(text);
    match cut.rfind('\n') {
        Some(at) if end < text.len() && at > end / 2 => cut.get(..at).unwrap_or(cut),
        _ => cut,
    }
}

/// The last `chars` characters, from a line's start if one is near.
fn tail(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    let cut = text.get(start..).unwrap_or(text);
    match cut.find('\n') {
        Some(at) if start > 0 && at < cut.len() / 2 => cut.get(at + 1..).unwrap_or(cut),
        _ => cut,
    }
}

/// An id as a file's name.
fn file_stem(id: &str) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let safe: String = id
        .chars()
        .take(80)
        .map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' })
        .collect();
    let safe = safe.trim_matches(['.', '_', '-']);
    if safe == id {
        return safe.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{safe}_{:012x}", hasher.finish() & 0xffff_ffff_ffff)
}

#[cfg(test)]
#[path = "spill_tests.rs"]
mod tests;
