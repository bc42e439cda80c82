//! Shell text: bytes without NUL.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A shell value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShellBytes(pub(super) Vec<u8>);

/// Documents are JSON, so values that are not UTF-8 are stored as numbers.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SerializedBytes {
    Text(String),
    Numbers(Vec<u8>),
}

impl Serialize for ShellBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => SerializedBytes::Numbers(self.0.clone()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ShellBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match SerializedBytes::deserialize(deserializer)? {
            SerializedBytes::Text(text) => Self(text.into_bytes()),
            SerializedBytes::Numbers(bytes) => Self(bytes),
        })
    }
}

impl From<&[u8]> for ShellBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}
