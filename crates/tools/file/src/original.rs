//! A file as it was found, before a call changes it.

use std::path::Path;
use std::sync::OnceLock;

use encoding_rs::Encoding;
use hermes_core::ToolContext;
use hermes_text::{Document, NotText};

use crate::charset;
use crate::known::Hash;

/// How much of a file is looked at closely.
const HEAD: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Original {
    document: Result<Document, NotText>,
    len: u64,
    /// Made when it is asked for, which may be while the disk is busy.
    hash: OnceLock<Hash>,
}

impl Original {
    pub(crate) fn read(cx: &ToolContext, path: &Path, bytes: Vec<u8>) -> Self {
        Self::read_as(cx, path, bytes, None)
    }

    /// The same, in an encoding that the caller names.
    pub(crate) fn read_as(
        cx: &ToolContext,
        path: &Path,
        bytes: Vec<u8>,
        told: Option<&'static Encoding>,
    ) -> Self {
        let (hash, len) = (OnceLock::new(), bytes.len() as u64);
        // Bytes that are not text are gone after the next line.
        if !is_surely_text(&bytes) {
            let _ = hash.set(Hash::of(&bytes));
        }
        Self { document: charset::read_as(cx, path, bytes, told), len, hash }
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn hash(&self) -> &Hash {
        let bytes = self.document.as_ref().map_or(&[][..], Document::bytes);
        self.hash.get_or_init(|| Hash::of(bytes))
    }

    /// The reason if it is not text.
    pub(crate) fn document(&self) -> Result<&Document, NotText> {
        self.document.as_ref().map_err(|reason| *reason)
    }

    /// None if it is not text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.document.as_ref().ok().map(Document::text)
    }

    /// Whether the file holds exactly these bytes.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        match &self.document {
            Ok(document) => document.bytes() == bytes,
            Err(_) => self.len == bytes.len() as u64 && *self.hash() == Hash::of(bytes),
        }
    }
}

/// Whether it is UTF-8, and nothing at its beginning looks like anything else.
fn is_surely_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    // Without a way out in the middle, many are looked at in one step.
    let are_plain = |some: &[u8]| some.iter().fold(true, |all, byte| all & is_plain(byte));
    head.chunks(1024).all(are_plain)
        && memchr::memchr(0x1B, bytes).is_none()
        && std::str::from_utf8(bytes).is_ok()
}
