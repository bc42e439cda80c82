//! Paths in arguments and results, which are text: a path that is not UTF-8 is
//! written as a `file://` URL.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hermes_core::WorkingDir;
use hermes_text::diff::{close_name, quote_name_bytes};

const FILE_SCHEME: &str = "file://";
/// Prefix of a URL below the working directory; only patches use it.
const CWD_SCHEME: &str = "file://./";

/// Returns the absolute form of a path written by a caller. Does not access the
/// file system.
pub(crate) fn resolve(at: &WorkingDir, written: &str) -> PathBuf {
    if let Some(rest) = written.strip_prefix(CWD_SCHEME) {
        return at.normalize(&at.cwd().join(percent_decode(rest)));
    }
    match written.strip_prefix(FILE_SCHEME).filter(|rest| rest.starts_with('/')) {
        Some(rest) => at.normalize(Path::new(&percent_decode(rest))),
        None => at.resolve(written),
    }
}

/// Formats a path so that [`resolve`] accepts it.
pub(crate) fn display_path(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => {
            path.as_os_str().as_bytes().iter().fold(FILE_SCHEME.to_owned(), |mut text, &byte| {
                match byte {
                    b'/' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
                    byte if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
                    byte => text.push_str(&format!("%{byte:02X}")),
                }
                text
            })
        }
    }
}

/// Like [`display_path`], but relative for paths below the working directory.
pub(crate) fn display_relative(path: &Path, at: &WorkingDir) -> String {
    match path.strip_prefix(at.cwd()).ok().and_then(Path::to_str) {
        Some(short) if !short.is_empty() => short.to_owned(),
        _ => display_path(path),
    }
}

/// Formats a path for a diff header that `patch` and git accept: with a prefix
/// below the working directory, absolute elsewhere.
pub(crate) fn diff_header(prefix: &str, path: &Path, at: &WorkingDir) -> String {
    match path.strip_prefix(at.cwd()) {
        Ok(short) => quote_name_bytes(&[prefix.as_bytes(), short.as_os_str().as_bytes()].concat()),
        Err(_) => quote_name_bytes(path.as_os_str().as_bytes()),
    }
}

/// Like [`diff_header`], after `---` or `+++`, with its end marked.
pub(crate) fn diff_heading(prefix: &str, path: &Path, at: &WorkingDir) -> String {
    close_name(diff_header(prefix, path, at))
}

/// Resolves a path that may be a symlink to the file that is read and written.
pub(crate) fn follow_link(path: &Path) -> PathBuf {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let real = is_link.then(|| hermes_files::real_path(path).ok()).flatten();
    real.unwrap_or_else(|| path.to_path_buf())
}

/// Formats a path below a directory that the caller wrote as `lead`: in the
/// same style, or as a URL if it is not UTF-8. `folder` is absolute.
pub(crate) fn display_below(lead: &str, dir: &Path, relative: &Path) -> String {
    let is_here = relative.as_os_str().is_empty();
    match relative.to_str().filter(|_| !lead.starts_with(FILE_SCHEME)) {
        Some(_) if is_here => lead.to_owned(),
        Some(below) if lead.is_empty() => below.to_owned(),
        Some(below) => format!("{}/{below}", lead.trim_end_matches('/')),
        None if is_here => display_path(dir),
        None => display_path(&dir.join(relative)),
    }
}

/// Decodes percent escapes; a `%` without two hex digits is literal.
fn percent_decode(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
#[path = "path_text_tests.rs"]
mod tests;
