//! Spills large results: the complete text goes to a file, head and tail stay
//! in the result.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::ResultLimit;
use parking_lot::Mutex;
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

/// Lifetime of a spilled file.
const SPILL_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Minimum time between sweeps of the directory.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Prefix of spilled files; the sweep removes nothing else.
const FILE_PREFIX: &str = "hermes-result-";

/// Maximum number of characters kept of head and tail each.
const MAX_EXCERPT_CHARS: usize = 1_000;

/// Fields up to this size, including the name, stay in a spilled result.
const MAX_SHORT_FIELD_BYTES: usize = 300;

/// A text that makes up this percentage of a result is spilled verbatim;
/// otherwise the whole JSON is. Above 50, so at most one text qualifies.
const DOMINANT_TEXT_PERCENT: usize = 70;

/// Maximum number of characters that reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultSizeLimits {
    /// Per result.
    pub per_result: usize,
    /// Per batch, all results together.
    pub per_batch: usize,
}

impl Default for ResultSizeLimits {
    fn default() -> Self {
        Self { per_result: 100_000, per_batch: 200_000 }
    }
}

impl ResultSizeLimits {
    /// Limits for a model with this context size, at four characters per token:
    /// 15 % for a result, 30 % for a batch, within bounds.
    pub fn for_window(tokens: Option<u64>) -> Self {
        let Some(tokens) = tokens else { return Self::default() };
        let chars = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
        Self {
            per_result: (chars / 100 * 15 + chars % 100 * 15 / 100).clamp(8_000, 100_000),
            per_batch: (chars / 100 * 30 + chars % 100 * 30 / 100).clamp(16_000, 200_000),
        }
    }

    /// The limit for a tool; `None` if the tool limits itself.
    pub fn for_tool(&self, limit: ResultLimit) -> Option<usize> {
        match limit {
            ResultLimit::Default => Some(self.per_result),
            ResultLimit::Chars(chars) => Some(chars.min(self.per_result)),
            ResultLimit::Unbounded => None,
        }
    }
}

/// Whether `text` has more than `limit` characters. Short texts are not
/// counted.
pub(crate) fn exceeds(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().nth(limit).is_some()
}

/// The directory for spilled results.
#[derive(Debug)]
pub struct SpillStore {
    dir: PathBuf,
    last_sweep: Mutex<Option<Instant>>,
}

/// A result that was spilled.
#[derive(Debug)]
pub(crate) struct SpilledResult {
    pub(crate) content: String,
    pub(crate) path: Option<PathBuf>,
}

impl SpillStore {
    /// Creates a store in `folder`, which is created on first use.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        // Strips a trailing slash, which would make a symlink be followed.
        let directory = directory.into().components().collect();
        Self { dir: directory, last_sweep: Mutex::new(None) }
    }

    /// Writes `content` to a file and returns its replacement, which has at
    /// most `limit` characters unless the limit is very small.
    pub(crate) fn spill(&self, call_id: &str, content: &str, limit: usize) -> SpilledResult {
        // Escaping can double the length of head and tail; even then they take
        // half the limit.
        let end = (limit / 8).clamp(100, MAX_EXCERPT_CHARS);
        let Ok(mut value) = serde_json::from_str::<Value>(content) else {
            return self.spill_whole(call_id, "txt", content, content, end, Map::new());
        };
        if let Some(pointer) = dominant_text(&value, dominance_threshold(content))
            && let Some(text) = value.pointer_mut(&pointer).map(Value::take)
        {
            let spilled = self.spill_text(call_id, value, &pointer, &text, end);
            if !exceeds(&spilled.content, limit) {
                return spilled;
            }
            if let Some(path) = spilled.path {
                let _ = fs::remove_file(path);
            }
            value = serde_json::from_str(content).unwrap_or_default();
        }
        let lines = to_paged_json(&value, content.len()).unwrap_or_else(|_| content.to_owned());
        self.spill_whole(call_id, "json", content, &lines, end, short_fields(value, limit / 4))
    }

    /// Spills the one long text of a result; the rest stays.
    fn spill_text(
        &self,
        call_id: &str,
        value: Value,
        pointer: &str,
        text: &Value,
        end: usize,
    ) -> SpilledResult {
        let text = text.as_str().unwrap_or_default();
        let saved = self.save(call_id, "txt", text);
        SpilledResult {
            content: excerpt_result(value, pointer, text, end, &saved),
            path: saved.ok(),
        }
    }

    /// Spills a whole result as `lines`; keeps head, tail and the fields in
    /// `kept`.
    fn spill_whole(
        &self,
        call_id: &str,
        extension: &str,
        content: &str,
        lines: &str,
        end: usize,
        kept: Map<String, Value>,
    ) -> SpilledResult {
        let saved = self.save(call_id, extension, lines);
        let mut summary = kept;
        summary.insert("truncated".into(), true.into());
        summary.insert("head".into(), head(content, end).into());
        summary.insert("tail".into(), tail(content, end).into());
        let note = spill_note(&saved, content.chars().count(), None);
        summary.insert("spilled".into(), note);
        SpilledResult { content: Value::Object(summary).to_string(), path: saved.ok() }
    }

    pub(crate) fn save(&self, call_id: &str, extension: &str, text: &str) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let owner = self.checked_owner()?;
        let path = self.dir.join(file_name(call_id, extension));
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = file.metadata().and_then(|made| {
            // The owner of a new file is the current user.
            if made.uid() != owner {
                return Err(self.unsafe_dir_error("belongs to another user"));
            }
            file.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            // An incomplete file must not be taken for the whole result.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        if self.is_sweep_due(Instant::now()) {
            self.sweep();
        }
        Ok(path)
    }

    /// The owner of the directory; an error if it is not a directory, or if
    /// others can write to it.
    fn checked_owner(&self) -> io::Result<u32> {
        let dir = fs::symlink_metadata(&self.dir)?;
        if !dir.is_dir() {
            return Err(self.unsafe_dir_error("is a symlink or a file, not a directory"));
        }
        if dir.mode() & 0o022 != 0 {
            return Err(self.unsafe_dir_error("can be written by other users"));
        }
        Ok(dir.uid())
    }

    fn unsafe_dir_error(&self, why: &str) -> io::Error {
        let text = format!("{} {why}", self.dir.display());
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    }

    /// Whether a sweep is due; if so, marks it as done.
    fn is_sweep_due(&self, now: Instant) -> bool {
        let mut swept = self.last_sweep.lock();
        let due = swept.is_none_or(|at| now.saturating_duration_since(at) >= SWEEP_INTERVAL);
        if due {
            *swept = Some(now);
        }
        due
    }

    /// Removes expired files.
    pub fn sweep(&self) {
        if self.checked_owner().is_err() {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            if !entry.file_name().as_encoded_bytes().starts_with(FILE_PREFIX.as_bytes()) {
                continue;
            }
            let old = fs::symlink_metadata(entry.path())
                .and_then(|found| Ok((found.is_file(), found.modified()?)))
                .is_ok_and(|(is_file, at)| {
                    is_file && now.duration_since(at).is_ok_and(|age| age > SPILL_LIFETIME)
                });
            if old {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// The directory of spilled results.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn spill_note(saved: &io::Result<PathBuf>, chars: usize, field: Option<&str>) -> Value {
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
                format!("The full result could not be saved ({error}); request less.").into(),
            );
        }
    }
    Value::Object(note)
}

/// The result with `text` replaced by its head and tail.
fn excerpt_result(
    mut value: Value,
    pointer: &str,
    text: &str,
    end: usize,
    saved: &io::Result<PathBuf>,
) -> String {
    let chars = text.chars().count();
    let (head, tail) = (head(text, end), tail(text, end));
    let left_out = chars.saturating_sub(head.chars().count() + tail.chars().count());
    let short = format!("{head}\n… [{left_out} characters left out] …\n{tail}");
    if let Some(slot) = value.pointer_mut(pointer) {
        *slot = short.into();
    }
    let note = spill_note(saved, chars, Some(pointer.trim_start_matches('/')));
    match value {
        Value::Object(mut fields) => {
            fields.insert("truncated".into(), true.into());
            fields.insert("spilled".into(), note);
            Value::Object(fields).to_string()
        }
        other => json!({ "result": other, "truncated": true, "spilled": note }).to_string(),
    }
}

/// The short fields of an object, such as an exit code, a directory or a count.
/// They take at most `room` together, shortest first.
fn short_fields(value: Value, room: usize) -> Map<String, Value> {
    let Value::Object(fields) = value else { return Map::new() };
    let size = |name: &str, value: &Value| name.len() + value.to_string().len();
    let mut sizes: Vec<usize> = fields.iter().map(|(name, value)| size(name, value)).collect();
    sizes.sort_unstable();
    let mut used = 0;
    let fitting = sizes.into_iter().take_while(|size| {
        used += size;
        *size <= MAX_SHORT_FIELD_BYTES && used <= room
    });
    let most = fitting.last().unwrap_or_default();
    let mut left = room;
    let mut short = fields;
    short.retain(|name, value| {
        let size = size(name, value);
        let is_kept = size <= most && size <= left;
        left -= if is_kept { size } else { 0 };
        is_kept
    });
    short
}

/// The length from which a text dominates `content`.
fn dominance_threshold(content: &str) -> usize {
    content.len().saturating_mul(DOMINANT_TEXT_PERCENT).div_ceil(100)
}

/// The JSON pointer to a string of at least `floor` bytes. Recursion is safe:
/// the parser limits the nesting.
fn dominant_text(value: &Value, floor: usize) -> Option<String> {
    match value {
        Value::String(text) => (text.len() >= floor).then(String::new),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| Some(format!("/{at}{}", dominant_text(item, floor)?))),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| {
            let below = dominant_text(field, floor)?;
            Some(format!("/{}{below}", key.replace('~', "~0").replace('/', "~1")))
        }),
        _ => None,
    }
}

/// JSON in lines, for paging: indented, unless that would multiply its `size`.
fn to_paged_json(value: &Value, size: usize) -> io::Result<String> {
    let print = |indent: &[u8], left: usize| {
        let mut room = BoundedBuffer { bytes: Vec::new(), left };
        let format = PrettyFormatter::with_indent(indent);
        value.serialize(&mut Serializer::with_formatter(&mut room, format))?;
        String::from_utf8(room.bytes).map_err(io::Error::other)
    };
    print(b"  ", size.saturating_mul(8)).or_else(|_| print(b"", usize::MAX))
}

/// A buffer with a size limit.
struct BoundedBuffer {
    bytes: Vec<u8>,
    left: usize,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first `chars` characters, cut at a line end if one is near.
fn head(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let cut = text.get(..end).unwrap_or(text);
    match cut.rfind('\n') {
        Some(at) if end < text.len() && at > end / 2 => cut.get(..at).unwrap_or(cut),
        _ => cut,
    }
}

/// The last `chars` characters, starting at a line start if one is near.
fn tail(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    let cut = text.get(start..).unwrap_or(text);
    match cut.find('\n') {
        Some(at) if start > 0 && at < cut.len() / 2 => cut.get(at + 1..).unwrap_or(cut),
        _ => cut,
    }
}

/// Returns a unique file name: call ids repeat across sessions and within
/// malformed batches, process ids across restarts and containers.
fn file_name(id: &str, extension: &str) -> String {
    static NEXT_FILE: LazyLock<AtomicU64> = LazyLock::new(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        AtomicU64::new(u64::try_from(now.as_micros()).unwrap_or_default())
    });
    let safe: String = id
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' })
        .collect();
    let safe = match safe.trim_matches(['.', '_', '-']) {
        "" => "call",
        some => some,
    };
    let count = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
    format!("{FILE_PREFIX}{safe}-{}-{count:x}.{extension}", std::process::id())
}

#[cfg(test)]
#[path = "spill_tests.rs"]
mod tests;
