//! What a file shall hold.

use std::ops::Deref;
use std::sync::Arc;

/// All that a file shall hold. Cheap to clone.
#[derive(Debug, Clone)]
pub enum FileContent {
    /// Text in UTF-8, which nobody needs to check again.
    Text(Arc<String>),
    /// Any bytes.
    Bytes(Arc<Vec<u8>>),
}

impl FileContent {
    /// The text, if it is known to be one.
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
