//! What the callers of a session know about files: the version that each saw
//! last, and who wrote the latest one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::SystemTime;

use encoding_rs::Encoding;
use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;
use serde::{Deserialize, Serialize};

use crate::shards::{shard, shards};
use crate::unsaved;

/// The sharded session document.
const FILES_DOCUMENT: &str = "files";
/// Maximum number of files per shard; the least recently touched is evicted
/// first.
const MAX_FILES_PER_SHARD: usize = 64;
/// Maximum number of tasks recorded per file.
const MAX_TASKS_PER_FILE: usize = 64;

/// Version of a file: a hash of its bytes. A hash given by a caller may be only
/// a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FileHash(String);

impl FileHash {
    /// Number of digits stored, shown, and required.
    const STORED_DIGITS: usize = 32;
    const SHOWN_DIGITS: usize = 16;
    const MIN_DIGITS: usize = 8;

    /// Hashes the content of a whole file.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// Whether both denote the same version: one may be a prefix of the other.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }
}

impl From<blake3::Hash> for FileHash {
    fn from(digest: blake3::Hash) -> Self {
        Self(digest.to_hex().chars().take(Self::STORED_DIGITS).collect())
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get(..Self::SHOWN_DIGITS).unwrap_or(&self.0))
    }
}

impl FromStr for FileHash {
    type Err = ToolError;

    fn from_str(text: &str) -> Result<Self, ToolError> {
        let digits = text.trim();
        if digits.len() < Self::MIN_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            return Err(ToolError::invalid(format!(
                "'{text}' is not a file hash: expected at least {} hexadecimal digits",
                Self::MIN_DIGITS
            ))
            .with_hint(
                "Use the `hash` that read_file, write_file or patch returned for the file.",
            ));
        }
        Ok(Self(digits.chars().take(Self::STORED_DIGITS).collect::<String>().to_ascii_lowercase()))
    }
}

/// Facts about a file at the time it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileSighting {
    /// Size in bytes.
    pub(crate) len: u64,
    /// Modification time.
    pub(crate) modified: Option<SystemTime>,
    /// Whether the caller saw the whole file.
    pub(crate) whole: bool,
}

/// Origin of a file version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileWriter {
    /// Task that the file was written for.
    pub(crate) task_id: String,
    /// Call that wrote it.
    pub(crate) call_id: String,
    /// Time of the write, in UTC.
    pub(crate) at: String,
}

/// What a caller knows about the current version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionKnowledge {
    /// The caller has seen no version.
    Unseen,
    /// The file did not exist when the caller looked.
    Created {
        /// The other task of the session that wrote the current version.
        by: Option<FileWriter>,
    },
    /// The caller has seen the current version.
    Same,
    /// The caller has seen a different version.
    Changed {
        /// The version that the caller saw.
        seen: FileHash,
        /// The other task of the session that wrote the current version.
        by: Option<FileWriter>,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SeenFiles {
    #[serde(default)]
    clock: u64,
    #[serde(default)]
    files: BTreeMap<String, SeenFileRecord>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SeenFileRecord {
    touched: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wrote: Option<WriteRecord>,
    /// Last sighting per task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    seen: BTreeMap<String, SightingRecord>,
    /// Tasks that found no file, and when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    missed: BTreeMap<String, u64>,
    /// Encoding the file was written in, if detection would yield a different
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct WriteRecord {
    hash: FileHash,
    by: FileWriter,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SightingRecord {
    hash: FileHash,
    len: u64,
    /// Nanoseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified: Option<u64>,
    whole: bool,
    at: u64,
}

/// Records that the caller saw this version of a file, or a part of it. `hash`
/// is that of the whole file.
pub(crate) fn record_seen(cx: &ToolContext, path: &Path, hash: FileHash, facts: FileSighting) {
    update_record(cx, path, |record, at| record.add_sighting(cx, hash.clone(), facts, at));
}

/// Records that the caller looked for a file that does not exist.
pub(crate) fn record_missing(cx: &ToolContext, path: &Path) {
    update_record(cx, path, |record, at| {
        record.seen.remove(&*cx.task_id);
        record.missed.insert(cx.task_id.to_string(), at);
        if record.missed.len() > MAX_TASKS_PER_FILE {
            let oldest = record.missed.iter().min_by_key(|(_, at)| **at);
            if let Some(task) = oldest.map(|(task, _)| task.clone()) {
                record.missed.remove(&task);
            }
        }
    });
}

/// Records an encoding that cannot be detected from the bytes; `None` if it
/// can.
pub(crate) fn record_encoding(cx: &ToolContext, path: &Path, encoding: Option<&'static Encoding>) {
    if self::recorded_encoding(cx, path) != encoding {
        let name = encoding.map(|encoding| encoding.name().to_owned());
        update_record(cx, path, |record, _| record.encoding.clone_from(&name));
    }
}

/// Returns the recorded encoding of a file, if it cannot be detected.
pub(crate) fn recorded_encoding(cx: &ToolContext, path: &Path) -> Option<&'static Encoding> {
    Encoding::for_label(find_record(cx, path)?.encoding?.as_bytes())
}

/// Records that the caller wrote this version of a file.
pub(crate) fn record_written(cx: &ToolContext, path: &Path, hash: FileHash, facts: FileSighting) {
    let by = FileWriter {
        task_id: cx.task_id.to_string(),
        call_id: cx.call_id.to_string(),
        at: format!(
            "{:.0}",
            jiff::Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(jiff::Timestamp::MAX)
        ),
    };
    update_record(cx, path, |record, at| {
        record.wrote = Some(WriteRecord { hash: hash.clone(), by: by.clone() });
        record.add_sighting(cx, hash.clone(), facts, at);
    });
}

/// Drops the record of a deleted file.
pub(crate) fn forget(cx: &ToolContext, path: &Path) {
    let key = file_key(cx, path);
    let forget = |known: &mut SeenFiles| known.files.remove(&key).is_some();
    let kept = cx.session.update(&shard(FILES_DOCUMENT, &key), forget);
    match kept {
        Ok(_) => unsaved::clear(&cx.session, &key),
        Err(_) => unsaved::keep(&cx.session, &key, None),
    }
}

/// Returns what the caller knows about the current version of a file. `current`
/// is evaluated only if a record exists.
pub(crate) fn version_knowledge<'h>(
    cx: &ToolContext,
    path: &Path,
    current: impl FnOnce() -> &'h FileHash,
) -> VersionKnowledge {
    let Some(record) = find_record(cx, path) else { return VersionKnowledge::Unseen };
    let current = current();
    let by = record.written_by_another(cx, current);
    match record.seen.get(&*cx.task_id) {
        None if record.missed.contains_key(&*cx.task_id) => VersionKnowledge::Created { by },
        None => VersionKnowledge::Unseen,
        Some(sight) if sight.hash == *current => VersionKnowledge::Same,
        Some(sight) => VersionKnowledge::Changed { seen: sight.hash.clone(), by },
    }
}

/// Whether the caller has seen a version of the file.
pub(crate) fn has_seen(cx: &ToolContext, path: &Path) -> bool {
    find_record(cx, path).is_some_and(|record| record.seen.contains_key(&*cx.task_id))
}

/// Returns the last seen version of every file in the session.
pub(crate) fn seen_versions(cx: &ToolContext) -> Vec<FileHash> {
    let read = |shard: String| cx.session.read::<SeenFiles>(&shard).unwrap_or_default();
    let records = shards(FILES_DOCUMENT).map(read).flat_map(|known| known.files.into_values());
    let sights = records.flat_map(|record| record.seen.into_values());
    sights.map(|sight| sight.hash).collect()
}

/// Whether the caller saw all of the version that it saw last.
pub(crate) fn has_seen_all(cx: &ToolContext, path: &Path) -> bool {
    let record = find_record(cx, path);
    record.is_some_and(|record| record.seen.get(&*cx.task_id).is_some_and(|sight| sight.whole))
}

/// Returns the other task of the session that wrote the current version.
/// `current` is evaluated only if a write is recorded.
pub(crate) fn other_writer<'h>(
    cx: &ToolContext,
    path: &Path,
    current: impl FnOnce() -> &'h FileHash,
) -> Option<FileWriter> {
    find_record(cx, path).filter(|record| record.wrote.is_some())?.written_by_another(cx, current())
}

impl SeenFileRecord {
    /// Merges records that this process could not save, which take precedence.
    fn merged_with(mut self, unsaved: Self) -> Self {
        for task in unsaved.seen.keys() {
            self.missed.remove(task);
        }
        for task in unsaved.missed.keys() {
            self.seen.remove(task);
        }
        self.seen.extend(unsaved.seen);
        self.missed.extend(unsaved.missed);
        self.wrote = unsaved.wrote.or(self.wrote);
        Self { encoding: unsaved.encoding, touched: self.touched.max(unsaved.touched), ..self }
    }

    fn add_sighting(&mut self, cx: &ToolContext, hash: FileHash, facts: FileSighting, at: u64) {
        let since = |moment: SystemTime| moment.duration_since(SystemTime::UNIX_EPOCH).ok();
        let modified = facts.modified.and_then(since);
        let modified = modified.and_then(|since| u64::try_from(since.as_nanos()).ok());
        let sight = SightingRecord { hash, len: facts.len, modified, whole: facts.whole, at };
        self.missed.remove(&*cx.task_id);
        self.seen.insert(cx.task_id.to_string(), sight);
        if self.seen.len() > MAX_TASKS_PER_FILE {
            let oldest = self.seen.iter().min_by_key(|(_, sight)| sight.at);
            if let Some(task) = oldest.map(|(task, _)| task.clone()) {
                self.seen.remove(&task);
            }
        }
    }

    fn written_by_another(&self, cx: &ToolContext, current: &FileHash) -> Option<FileWriter> {
        let wrote = self.wrote.as_ref()?;
        let is_another = wrote.hash == *current && *wrote.by.task_id != *cx.task_id;
        is_another.then(|| wrote.by.clone())
    }
}

fn find_record(cx: &ToolContext, path: &Path) -> Option<SeenFileRecord> {
    let key = file_key(cx, path);
    let known = cx.session.read(&shard(FILES_DOCUMENT, &key));
    let kept = known.ok().and_then(|mut known: SeenFiles| known.files.remove(&key));
    match unsaved::find(&cx.session, &key) {
        None => kept,
        Some(unsaved) => Some(kept.unwrap_or_default().merged_with(unsaved?)),
    }
}

/// Updates a record. A failure to save does not fail the call: the record is
/// kept in this process.
fn update_record(cx: &ToolContext, path: &Path, change: impl Fn(&mut SeenFileRecord, u64)) {
    let key = file_key(cx, path);
    let unsaved = unsaved::find(&cx.session, &key);
    let is_saved = unsaved.is_none();
    let kept = cx.session.update(&shard(FILES_DOCUMENT, &key), |known: &mut SeenFiles| {
        known.clock += 1;
        let at = known.clock;
        let record = known.files.entry(key.clone()).or_default();
        match unsaved {
            None => {}
            Some(None) => *record = SeenFileRecord::default(),
            Some(Some(unsaved)) => *record = std::mem::take(record).merged_with(unsaved),
        }
        record.touched = at;
        change(record, at);
        if known.files.len() > MAX_FILES_PER_SHARD {
            let oldest = known.files.iter().min_by_key(|(_, record)| record.touched);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                known.files.remove(&path);
            }
        }
    });
    match kept {
        Ok(()) if is_saved => {}
        Ok(()) => unsaved::clear(&cx.session, &key),
        Err(_) => {
            let mut record = find_record(cx, path).unwrap_or_default();
            record.touched += 1;
            let at = record.touched;
            change(&mut record, at);
            unsaved::keep(&cx.session, &key, Some(record));
        }
    }
}

/// Returns the key of a file, independent of the link used to reach it.
fn file_key(cx: &ToolContext, path: &Path) -> String {
    let real = FileAccess::new(cx).real_path(path);
    let path = real.as_deref().unwrap_or(path);
    match path.to_str() {
        Some(path) => path.to_owned(),
        // Not UTF-8: two such names may have the same lossy form.
        None => format!(
            "{}\0{}",
            path.display(),
            FileHash::from_bytes(path.as_os_str().as_encoded_bytes())
        ),
    }
}

#[cfg(test)]
#[path = "seen_files_tests.rs"]
mod tests;
