//! A version of the file that was there before, and how the new one differs.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use hermes_core::{ToolContext, ToolError};
use hermes_text::Document;
use hermes_text::diff::{Diff, Layout, Options};
use serde::Serialize;

use crate::charset;
use crate::known::Hash;
use crate::spelling;

/// Bytes of a diff, and the time that it may take.
pub(super) type Effort = (usize, Duration);
/// For a diff that comes along with an answer.
pub(super) const SHORT_DIFF: Effort = (2_000, Duration::from_millis(10));
/// For one that was asked for.
pub(super) const LONG_DIFF: Effort = (20_000, Duration::from_secs(1));

/// How much of a file is looked at closely.
const HEAD: usize = 64 * 1024;
/// Texts that are longer are not compared.
const LONGEST: usize = 16 * 1024 * 1024;
/// Characters of a line of a diff.
const LINE: usize = 500;

#[derive(Debug)]
pub(super) struct Version {
    /// Made when it is asked for, which may be while the disk is busy.
    hash: OnceLock<Hash>,
    len: u64,
    /// None if it is not text.
    pub(super) document: Option<Document>,
}

/// A version that was replaced, in short.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Replaced {
    hash: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
}

impl Version {
    pub(super) fn read(cx: &ToolContext, path: &Path, bytes: Vec<u8>) -> Result<Self, ToolError> {
        let (hash, len) = (OnceLock::new(), bytes.len() as u64);
        let is_text = is_surely_text(&bytes);
        // Bytes that are not text are gone after the next line.
        if !is_text {
            let _ = hash.set(Hash::of(&bytes));
        }
        match charset::read(cx, path, bytes) {
            Ok(document) => Ok(Self { hash, len, document: Some(document) }),
            Err(_) if !is_text => Ok(Self { hash, len, document: None }),
            Err(_) => Err(ToolError::internal("Plain text was not recognised as text")),
        }
    }

    pub(super) fn hash(&self) -> &Hash {
        let bytes = self.document.as_ref().map_or(&[][..], Document::bytes);
        self.hash.get_or_init(|| Hash::of(bytes))
    }

    /// None if it is not text.
    pub(super) fn text(&self) -> Option<&str> {
        self.document.as_ref().map(Document::text)
    }

    /// Whether the file holds exactly these bytes.
    pub(super) fn holds(&self, bytes: &[u8]) -> bool {
        match &self.document {
            Some(document) => document.bytes() == bytes,
            None => *self.hash() == Hash::of(bytes),
        }
    }

    pub(super) fn describe(&self) -> Replaced {
        let lines = self.text().map(lines);
        Replaced { hash: self.hash().to_string(), bytes: self.len, lines }
    }

    /// What a new text changes in it.
    pub(super) fn diff(
        &self,
        new: &str,
        path: &Path,
        cx: &ToolContext,
        effort: Effort,
    ) -> Option<String> {
        let old = self.text()?;
        let short = spelling::shorten(path, &cx.workplace);
        compare(old, new, (&format!("a/{short}"), &format!("b/{short}")), effort)
    }
}

/// The unified diff of two texts, within bounds; none if it is empty.
pub(super) fn compare(
    old: &str,
    new: &str,
    (old_name, new_name): (&str, &str),
    (limit, effort): Effort,
) -> Option<String> {
    if old.len().max(new.len()) > LONGEST {
        return None;
    }
    let diff = Diff::new(old, new, &Options { effort, ..Options::default() });
    let layout = Layout { limit, line_limit: LINE, ..Layout::whole(old_name, new_name) };
    let mut shown = diff.unified(&layout);
    if shown.left_out > 0 {
        shown.text.push_str(&format!("[{} more lines of the diff]\n", shown.left_out));
    }
    (!shown.text.is_empty()).then_some(shown.text)
}

/// Whether it is UTF-8, and nothing at its beginning looks like anything else.
fn is_surely_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    head.iter().all(is_plain)
        && memchr::memchr(0x1B, bytes).is_none()
        && std::str::from_utf8(bytes).is_ok()
}

/// How many lines a text has; a last one without an ending counts.
pub(super) fn lines(text: &str) -> u64 {
    let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    ended + u64::from(!text.is_empty() && !text.ends_with('\n'))
}
