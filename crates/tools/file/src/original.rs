//! The original content of a file, before a call changes it.

use std::path::Path;
use std::sync::OnceLock;

use encoding_rs::Encoding;
use hermes_core::ToolContext;
use hermes_text::{NotTextReason, TextDocument};

use crate::charset;
use crate::seen_files::FileHash;

#[derive(Debug)]
pub(crate) struct OriginalFile {
    document: Result<TextDocument, NotTextReason>,
    len: u64,
    /// Computed lazily, possibly while the disk is busy.
    hash: OnceLock<FileHash>,
}

impl OriginalFile {
    pub(crate) fn read(cx: &ToolContext, path: &Path, bytes: Vec<u8>) -> Self {
        Self::read_as(cx, path, bytes, None)
    }

    /// Like [`OriginalFile::read`], in an encoding given by the caller.
    pub(crate) fn read_as(
        cx: &ToolContext,
        path: &Path,
        bytes: Vec<u8>,
        shown: Option<&'static Encoding>,
    ) -> Self {
        let (hash, len) = (OnceLock::new(), bytes.len() as u64);
        let document = charset::read_as(cx, path, bytes, shown).map_err(|rejected| {
            let _ = hash.set(FileHash::from_bytes(&rejected.bytes));
            rejected.reason
        });
        Self { document, len, hash }
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn hash(&self) -> &FileHash {
        let bytes = self.document.as_ref().map_or(&[][..], TextDocument::bytes);
        self.hash.get_or_init(|| FileHash::from_bytes(bytes))
    }

    /// Returns the document, or the reason why it is not text.
    pub(crate) fn document(&self) -> Result<&TextDocument, NotTextReason> {
        self.document.as_ref().map_err(|reason| *reason)
    }

    /// Returns the text; `None` if the file is not text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.document.as_ref().ok().map(TextDocument::text)
    }

    /// Whether the file content equals `bytes`.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        match &self.document {
            Ok(document) => document.bytes() == bytes,
            Err(_) => self.len == bytes.len() as u64 && *self.hash() == FileHash::from_bytes(bytes),
        }
    }
}
