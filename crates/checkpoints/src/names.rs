//! JSON encoding of paths: as text if valid UTF-8, else as hexadecimal bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum EncodedPath {
    Text(String),
    Bytes { bytes: String },
}

#[derive(Serialize)]
struct NonUtf8Path {
    bytes: String,
}

pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => text.serialize(to),
        None => NonUtf8Path { bytes: hex(path.as_os_str().as_bytes()) }.serialize(to),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    match EncodedPath::deserialize(from)? {
        EncodedPath::Text(text) => Ok(text.into()),
        EncodedPath::Bytes { bytes } => match unhex(&bytes) {
            Some(bytes) => Ok(OsString::from_vec(bytes).into()),
            None => Err(serde::de::Error::custom("invalid path encoding")),
        },
    }
}

/// Encoding of path lists.
pub(crate) mod several {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer};

    #[derive(Serialize)]
    struct SerializedPath<'a>(#[serde(with = "super")] &'a PathBuf);

    #[derive(Deserialize)]
    struct DeserializedPath(#[serde(with = "super")] PathBuf);

    pub(crate) fn serialize<'a, S: Serializer>(
        paths: impl IntoIterator<Item = &'a PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.into_iter().map(SerializedPath))
    }

    pub(crate) fn deserialize<'de, C: FromIterator<PathBuf>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<C, D::Error> {
        Ok(Vec::<DeserializedPath>::deserialize(from)?
            .into_iter()
            .map(|DeserializedPath(path)| path)
            .collect())
    }
}

/// Encodes bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Decodes the output of [`hex`].
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
