//! New content of a file.

use std::ops::Deref;
use std::sync::Arc;

/// Complete content of a file. Cheap to clone.
#[derive(Debug, Clone)]
pub enum FileContent {
    /// Valid UTF-8 text, which needs no further check.
    Text(Arc<String>),
    /// Arbitrary bytes.
    Bytes(Arc<Vec<u8>>),
}

impl FileContent {
    /// Returns the text, if it is known to be UTF-8.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }
}

impl Deref for FileContent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl PartialEq for FileContent {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for FileContent {}

impl From<String> for FileContent {
    fn from(text: String) -> Self {
        Self::Text(Arc::new(text))
    }
}

impl From<&str> for FileContent {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Vec<u8>> for FileContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Arc::new(bytes))
    }
}
