//! Paths as text for users and programs: a non-UTF-8 path becomes a `file://`
//! URL.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::names::unhex;

const FILE_SCHEME: &str = "file://";

/// Converts a path to text that [`path_from_text`] can parse.
pub fn path_to_text(path: &Path) -> String {
    let Some(text) = path.to_str() else {
        let bytes = path.as_os_str().as_bytes().iter();
        return bytes.fold(FILE_SCHEME.to_owned(), |text, byte| match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => text + char::from(*byte).encode_utf8(&mut [0; 4]),
            byte if byte.is_ascii_alphanumeric() => {
                text + char::from(*byte).encode_utf8(&mut [0; 4])
            }
            byte => format!("{text}%{byte:02X}"),
        });
    };
    text.to_owned()
}

/// [`path_to_text`] relative to a directory, if the path is inside it and valid
/// UTF-8.
pub fn relative_path_text(path: &Path, dir: &Path) -> String {
    let below = path.strip_prefix(dir).ok().and_then(Path::to_str);
    below.filter(|below| !below.is_empty()).map_or_else(|| path_to_text(path), str::to_owned)
}

/// Parses a path or a `file://` URL.
pub fn path_from_text(path: &Path) -> PathBuf {
    let address = path.to_str().and_then(|text| text.strip_prefix(FILE_SCHEME));
    let Some(address) = address.filter(|rest| rest.starts_with('/')) else {
        return path.to_path_buf();
    };
    let mut parts = address.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        // `%` with two hexadecimal digits is a byte; any other `%` is literal.
        match part.get(..2).and_then(unhex) {
            Some(byte) => {
                bytes.extend(byte);
                bytes.extend(part.as_bytes().iter().skip(2));
            }
            None => {
                bytes.push(b'%');
                bytes.extend(part.as_bytes());
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
#[path = "path_text_tests.rs"]
mod tests;
