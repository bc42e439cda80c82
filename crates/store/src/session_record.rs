//! The content of a session file: documents, each kept as raw text until it is
//! read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::StoreError;

/// The format version that is written, and the latest that is read.
const FORMAT_VERSION: u32 = 1;

/// The parser rejects nesting deeper than 128; what cannot be read back must
/// not be written.
const MAX_DOCUMENT_DEPTH: usize = 100;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    version: u32,
    /// The session id; the file name may show only part of it.
    #[serde(default)]
    pub(crate) session: String,
    documents: BTreeMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
struct VersionHeader {
    version: u32,
}

impl SessionRecord {
    /// Creates a record without documents.
    pub(crate) fn new(session: &str) -> Self {
        Self { version: FORMAT_VERSION, session: session.to_owned(), documents: BTreeMap::new() }
    }

    /// Parses the content of the file `path`.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        let parsed = serde_json::from_slice::<Self>(bytes);
        // A later format may have an entirely different structure.
        let version = match &parsed {
            Ok(record) => record.version,
            Err(_) => serde_json::from_slice::<VersionHeader>(bytes)
                .map_or(FORMAT_VERSION, |heading| heading.version),
        };
        if version > FORMAT_VERSION {
            return Err(StoreError::NewerFormat {
                path: path.to_owned(),
                version,
                known: FORMAT_VERSION,
            });
        }
        parsed.map_err(|e| StoreError::damaged(path, e.to_string()))
    }

    /// Returns the document of a key; null if it does not exist.
    pub(crate) fn get(&self, path: &Path, key: &str) -> Result<Value, StoreError> {
        let Some(text) = self.documents.get(key) else {
            return Ok(Value::Null);
        };
        serde_json::from_str(text.get())
            .map_err(|e| StoreError::damaged(path, format!("document '{key}': {e}")))
    }

    /// Sets a document; null removes it. Returns whether anything changed.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Result<bool, StoreError> {
        if value.is_null() {
            return Ok(self.documents.remove(key).is_some());
        }
        if is_deeper_than(value, MAX_DOCUMENT_DEPTH) {
            let reason = format!("it is nested deeper than {MAX_DOCUMENT_DEPTH} levels");
            return Err(StoreError::InvalidDocument { key: key.to_owned(), reason });
        }
        let text = serde_json::value::to_raw_value(value).map_err(|e| {
            StoreError::InvalidDocument { key: key.to_owned(), reason: e.to_string() }
        })?;
        if self.documents.get(key).is_some_and(|old| old.get() == text.get()) {
            return Ok(false);
        }
        self.documents.insert(key.to_owned(), text);
        Ok(true)
    }

    /// Serializes the record.
    pub(crate) fn to_bytes(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        let mut bytes = serde_json::to_vec(self)
            .map_err(|e| StoreError::io("write", path, std::io::Error::other(e)))?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Iterates instead of recursing, since a deep value would overflow the stack.
fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|v| (v, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|v| (v, depth + 1))),
            _ => {}
        }
    }
    false
}
