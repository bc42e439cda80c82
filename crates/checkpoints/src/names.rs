//! Paths in JSON: as text where they are text, else byte by byte.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Text(String),
    Bytes { bytes: String },
}

#[derive(Serialize)]
struct Bytes {
    bytes: String,
}

pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => text.serialize(to),
        None => Bytes { bytes: hex(path.as_os_str().as_bytes()) }.serialize(to),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    match Spelling::deserialize(from)? {
        Spelling::Text(text) => Ok(text.into()),
        Spelling::Bytes { bytes } => match unhex(&bytes) {
            Some(bytes) => Ok(OsString::from_vec(bytes).into()),
            None => Err(serde::de::Error::custom("a path is damaged")),
        },
    }
}

/// Several of them.
pub(crate) mod several {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer};

    #[derive(Serialize)]
    struct Out<'a>(#[serde(with = "super")] &'a PathBuf);

    #[derive(Deserialize)]
    struct In(#[serde(with = "super")] PathBuf);

    pub(crate) fn serialize<'a, S: Serializer>(
        paths: impl IntoIterator<Item = &'a PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.into_iter().map(Out))
    }

    pub(crate) fn deserialize<'de, C: FromIterator<PathBuf>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<C, D::Error> {
        Ok(Vec::<In>::deserialize(from)?.into_iter().map(|In(path)| path).collect())
    }
}

/// Two digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What [`hex`] was made from.
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
