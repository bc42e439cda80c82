//! Snapshots stored in the session, so the next call, in this process or
//! another, can report what changed in between.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hermes_core::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

use super::WatchRequest;
use super::snapshot::{EntryStamp, EntryType, TreeSnapshot};

/// The session document.
const WATCH_DOCUMENT: &str = "file_watch";
/// Maximum number of cursors per session.
const MAX_CURSORS: usize = 16;
/// Maximum total size of all snapshots; the newest is always kept.
const MAX_STATE_BYTES: usize = 64 << 20;

/// Snapshots of a session, newest last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WatchCursors {
    next: u64,
    cursors: Vec<SavedCursor>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedCursor {
    id: String,
    /// Key of the watch, see [`watch_key`].
    watch: String,
    state: String,
}

impl WatchCursors {
    /// Returns the snapshot of a cursor, which must belong to the same watch.
    pub(super) fn find(
        cx: &ToolContext,
        cursor: &str,
        request: &WatchRequest,
    ) -> Result<TreeSnapshot, ToolError> {
        let kept: Self = cx.session.read(WATCH_DOCUMENT)?;
        let Some(found) = kept.cursors.iter().find(|kept| kept.id == cursor) else {
            return Err(ToolError::not_found(format!("Cursor {cursor:?} does not exist"))
                .with_hint(format!(
                    "A session keeps the last {MAX_CURSORS} cursors, and separate processes \
                     must use the same session. Call without since and check the files \
                     yourself."
                )));
        };
        if found.watch != watch_key(request) {
            return Err(ToolError::invalid(format!("Cursor {cursor:?} belongs to another watch"))
                .with_hint("Use it with the same paths, recursive and gitignore as before."));
        }
        parse_snapshot(&found.state)
            .ok_or_else(|| ToolError::internal(format!("Cursor {cursor:?} is corrupt")))
    }

    /// Saves a snapshot and returns its cursor.
    pub(super) fn save(
        cx: &ToolContext,
        request: &WatchRequest,
        state: &TreeSnapshot,
    ) -> Result<String, ToolError> {
        let (watch, state) = (watch_key(request), serialize_snapshot(state));
        let id = cx.session.update(WATCH_DOCUMENT, |kept: &mut Self| {
            kept.next += 1;
            let id = format!("w{}", kept.next);
            kept.cursors.push(SavedCursor { id: id.clone(), watch, state });
            kept.drop_oldest();
            id
        })?;
        Ok(id)
    }

    fn drop_oldest(&mut self) {
        let size = |cursors: &[SavedCursor]| cursors.iter().map(|c| c.state.len()).sum::<usize>();
        while self.cursors.len() > 1
            && (self.cursors.len() > MAX_CURSORS || size(&self.cursors) > MAX_STATE_BYTES)
        {
            self.cursors.remove(0);
        }
    }
}

/// Returns the options that identify a watch: a cursor is only valid for the
/// same ones.
fn watch_key(request: &WatchRequest) -> String {
    let roots: Vec<String> = request.roots.iter().map(|root| escape(root)).collect();
    format!("{}{} {}", u8::from(request.recursive), u8::from(request.gitignore), roots.join(" "))
}

/// Serializes one entry per line.
fn serialize_snapshot(state: &TreeSnapshot) -> String {
    let mut text = String::new();
    for (path, stamp) in state {
        let EntryStamp { kind, size, modified, mode, identity: (dev, ino), born } = stamp;
        let kind = kind.name();
        let path = escape(path);
        // Writing to a string cannot fail.
        let _ = write!(text, "{kind} {size} {modified} {mode:o} {dev} {ino} {path}");
        if let Some(born) = born {
            let _ = write!(text, " {born}");
        }
        text.push('\n');
    }
    text
}

fn parse_snapshot(text: &str) -> Option<TreeSnapshot> {
    text.lines().map(parse_entry).collect()
}

fn parse_entry(line: &str) -> Option<(PathBuf, EntryStamp)> {
    let mut parts = line.split(' ');
    let kind = match parts.next()? {
        "file" => EntryType::File,
        "dir" => EntryType::Directory,
        "symlink" => EntryType::Link,
        _ => EntryType::Other,
    };
    let mut stamp = EntryStamp {
        kind,
        size: parts.next()?.parse().ok()?,
        modified: parts.next()?.parse().ok()?,
        mode: u32::from_str_radix(parts.next()?, 8).ok()?,
        identity: (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?),
        born: None,
    };
    let path = unescape(parts.next()?)?;
    // Set only for directories; missing in snapshots of older versions.
    stamp.born = parts.next().map(str::parse).transpose().ok()?;
    Some((path, stamp))
}

/// Escapes a path to contain no whitespace or line breaks.
fn escape(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c <= ' ' || c == '\u{7f}' {
                let _ = write!(text, "%{:02x}", u32::from(c));
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

fn unescape(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
#[path = "cursors_tests.rs"]
mod tests;
