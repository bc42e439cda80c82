//! One side of a comparison.

use std::io::{self, Read};
use std::path::Path;

use encoding_rs::Encoding;
use hermes_core::{ToolContext, ToolError};
use hermes_text::TextDocument;
use serde::Serialize;

use crate::charset;
use crate::content::BinaryKind;
use crate::path_text::display_path;
use crate::seen_files::FileHash;
use crate::source::SeekableFile;

/// Files up to this size are compared line by line.
pub(super) const MAX_COMPARED_BYTES: u64 = 64 * 1024 * 1024;

/// Larger files are not read at all: it would take minutes.
pub(super) const MAX_READ_BYTES: u64 = 8 << 30;

/// One side of a comparison.
#[derive(Debug)]
pub(super) struct DiffSide {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) body: SideBody,
}

#[derive(Debug)]
pub(super) enum SideBody {
    File(TextDocument),
    Given(String),
    /// Binary, or too large to compare by line.
    Opaque {
        what: &'static str,
        hash: String,
    },
    /// The file does not exist.
    Absent,
}

/// A side as returned to the caller.
#[derive(Debug, Serialize)]
pub(crate) struct SideSummary {
    name: String,
    /// Size of a file in bytes; `None` for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_ending: Option<&'static str>,
    /// Set only if the last line has no terminator.
    #[serde(skip_serializing_if = "Option::is_none")]
    final_newline: Option<bool>,
    /// What it is, if not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// Set only if the file does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    exists: Option<bool>,
}

impl DiffSide {
    /// Reads the file at `path`, which is absolute.
    pub(super) fn read(
        name: &str,
        path: &Path,
        shown: Option<&'static Encoding>,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let mut source = SeekableFile::open(path, cx)?;
        let size = source.len();
        if size > MAX_READ_BYTES {
            let what = format!(
                "{} has {size} bytes; files of more than {MAX_READ_BYTES} are not compared",
                display_path(path)
            );
            let hint = "Compare them with cmp or sha256sum in the terminal, or compare parts.";
            return Err(ToolError::limit(what).with_hint(hint));
        }
        let side = Self::from_reader(name.to_owned(), &mut source, size, shown, path, cx);
        side.map_err(|error| SeekableFile::read_error(path, cx, &error))
    }

    /// Reads a file of `size` bytes. A file that is too large is only hashed.
    pub(super) fn from_reader(
        name: String,
        source: &mut impl Read,
        size: u64,
        shown: Option<&'static Encoding>,
        place: &Path,
        cx: &ToolContext,
    ) -> io::Result<Self> {
        if size > MAX_COMPARED_BYTES {
            let mut hasher = blake3::Hasher::new();
            let size = read_blocks(source, cx, |block| {
                hasher.update(block);
            })?;
            let what = "too large to compare line by line";
            return Ok(Self { name, size, body: SideBody::opaque(what, &hasher.finalize()) });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // Do not follow a file that keeps growing.
        let mut source = source.take(MAX_COMPARED_BYTES + 1);
        read_blocks(&mut source, cx, |block| bytes.extend_from_slice(block))?;
        Ok(Self::from_bytes(name, bytes, shown, || charset::known_encoding(cx, place)))
    }

    /// Creates a side from bytes, in the given encoding or, if none is given
    /// and the bytes are ambiguous, the one that `hint` returns.
    pub(super) fn from_bytes(
        name: String,
        bytes: Vec<u8>,
        shown: Option<&'static Encoding>,
        hint: impl FnOnce() -> Option<&'static Encoding>,
    ) -> Self {
        let (size, hash) = (bytes.len() as u64, blake3::hash(&bytes));
        let kind = BinaryKind::detect(&bytes);
        let document = match shown {
            Some(encoding) => TextDocument::read(bytes, Some(encoding)).ok(),
            None if BinaryKind::detect_certain(&bytes).is_some() => None,
            None => TextDocument::read_with(bytes, hint).ok(),
        };
        let body = match document {
            Some(document) => SideBody::File(document),
            None => SideBody::opaque(kind.name, &hash),
        };
        Self { name, size, body }
    }

    /// Creates a side from a text given by the caller.
    pub(super) fn from_text(name: &str, text: &str) -> Self {
        let (name, size) = (name.to_owned(), text.len() as u64);
        Self { name, size, body: SideBody::Given(text.to_owned()) }
    }

    /// Creates a side for a file that does not exist.
    pub(super) fn absent(name: String) -> Self {
        Self { name, size: 0, body: SideBody::Absent }
    }

    /// Returns the text; empty if the file does not exist, `None` if it is not
    /// text.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.body {
            SideBody::File(document) => Some(document.text()),
            SideBody::Given(text) => Some(text),
            SideBody::Absent => Some(""),
            SideBody::Opaque { .. } => None,
        }
    }

    /// Whether both are identical byte for byte. A text given by the caller has
    /// no encoding, so it is compared as text.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (SideBody::File(old), SideBody::File(new)) => old.bytes() == new.bytes(),
            (SideBody::Opaque { hash: old, .. }, SideBody::Opaque { hash: new, .. }) => {
                old == new && self.size == other.size
            }
            (SideBody::Absent, SideBody::Absent) => true,
            (SideBody::Absent, _) | (_, SideBody::Absent) => false,
            _ => self.text().is_some() && self.text() == other.text(),
        }
    }

    /// Returns the name of a file's encoding.
    pub(super) fn encoding(&self) -> Option<String> {
        match &self.body {
            SideBody::File(document) => {
                Some(document.format().label().unwrap_or_else(|| "utf-8".to_owned()))
            }
            _ => None,
        }
    }

    pub(super) fn summary(&self) -> SideSummary {
        let endings = self.text().map(hermes_text::LineEndings::detect).unwrap_or_default();
        let (kind, hash) = match &self.body {
            SideBody::Opaque { what, hash } => (Some(*what), Some(hash.clone())),
            _ => (None, None),
        };
        let is_absent = matches!(self.body, SideBody::Absent);
        let has_text = self.text().is_some_and(|text| !text.is_empty());
        SideSummary {
            name: self.name.clone(),
            size: Some(self.size),
            encoding: self.encoding().filter(|name| name != "utf-8"),
            line_ending: endings.label(),
            final_newline: (has_text && !endings.final_newline).then_some(false),
            kind,
            hash,
            exists: is_absent.then_some(false),
        }
    }
}

impl SideSummary {
    /// Returns the summary of a directory.
    pub(super) fn for_directory(name: String) -> Self {
        Self {
            name,
            size: None,
            encoding: None,
            line_ending: None,
            final_newline: None,
            kind: Some("folder"),
            hash: None,
            exists: None,
        }
    }
}

impl SideBody {
    fn opaque(what: &'static str, hash: &blake3::Hash) -> Self {
        let digits = hash.to_hex().to_string();
        let hash = digits.parse::<FileHash>().map(|hash| hash.to_string());
        Self::Opaque { what, hash: hash.unwrap_or(digits) }
    }
}

/// Reads to the end in blocks and returns the number of bytes.
pub(super) fn read_blocks(
    source: &mut impl Read,
    cx: &ToolContext,
    mut take: impl FnMut(&[u8]),
) -> io::Result<u64> {
    let mut buffer = vec![0; 256 * 1024];
    let mut all = 0;
    loop {
        if cx.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        match source.read(&mut buffer) {
            Ok(0) => return Ok(all),
            Ok(read) => {
                take(buffer.get(..read).unwrap_or_default());
                all += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
