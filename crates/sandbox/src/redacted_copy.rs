//! Redacted copies of configuration files that children need but that contain
//! credentials. Without its configuration, a package manager would use another
//! registry than the user's.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::private_dir;

/// Maximum size of a file. A part of a larger one would mislead its reader.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Substrings of setting names that mark a credential.
const CREDENTIAL_NAMES: &[&str] =
    &["auth", "password", "passwd", "token", "secret", "username", "email", "keyfile", "apikey"];

/// XML elements that contain credentials.
const CREDENTIAL_ELEMENTS: &[&str] =
    &["password", "passphrase", "privateKey", "username", "configuration"];

/// How many names of temporary files to try.
const MAX_NAME_ATTEMPTS: usize = 100;

/// Returns the text of a file without its credentials. Fails if the file is too
/// large.
pub(crate) fn redacted_text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let is_xml = file.extension().is_some_and(|extension| extension == "xml");
    Ok(if is_xml { strip_credential_elements(&text) } else { strip_credential_lines(&text) })
}

/// Writes a copy of a file without its credentials, and returns the path of the
/// copy. Fails if the file is too large.
pub(crate) fn redacted_copy(file: &Path) -> io::Result<PathBuf> {
    let clean = redacted_text(file)?;
    let dir = private_dir()?.join("redacted");
    fs::create_dir_all(&dir)?;
    let name = file.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("_");
    let copy = dir.join(name.replace('/', ""));
    let (mut written, fresh) = open_new(&dir)?;
    let moved = written.write_all(clean.as_bytes()).and_then(|()| fs::rename(&fresh, &copy));
    if moved.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    moved.map(|()| copy)
}

/// Creates a temporary file that no other thread or process writes to.
fn open_new(dir: &Path) -> io::Result<(fs::File, PathBuf)> {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    for _ in 0..MAX_NAME_ATTEMPTS {
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".{}-{number}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Drops settings whose name marks a credential, and the user part of URLs.
fn strip_credential_lines(text: &str) -> String {
    let mut clean = String::new();
    let mut is_continuation = false;
    // A lone carriage return ends a line, too.
    for line in text.replace("\r\n", "\n").split_terminator(['\n', '\r']) {
        let is_credential = is_continuation || is_credential_setting(line);
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        is_continuation = is_credential && backslashes % 2 == 1;
        if !is_credential {
            clean.push_str(&strip_url_users(line));
            clean.push('\n');
        }
    }
    clean
}

/// Whether the name of a setting marks a credential. A name may contain a colon
/// (`//host/:_authToken`), or end at one or at a space, so all text before the
/// equals sign counts; without one, the whole line does.
fn is_credential_setting(line: &str) -> bool {
    let name = line.split('=').next().unwrap_or_default().to_lowercase();
    CREDENTIAL_NAMES.iter().any(|credential| name.contains(credential))
}

/// Removes elements that contain credentials, and the user part of URLs.
fn strip_credential_elements(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        clean.push_str(before);
        let name = tag_name(tag.get(1..).unwrap_or_default());
        let is_credential = CREDENTIAL_ELEMENTS.iter().any(|it| it.eq_ignore_ascii_case(name));
        if is_credential {
            // Drop everything after an unclosed element.
            rest = after_element(tag, name).unwrap_or_default();
        } else {
            clean.push('<');
            rest = tag.get(1..).unwrap_or_default();
        }
    }
    clean.push_str(rest);
    strip_url_users(&clean)
}

/// Returns the name at the start of a tag, without a namespace prefix.
fn tag_name(tag: &str) -> &str {
    let end = tag.find(|sign: char| sign.is_whitespace() || matches!(sign, '/' | '>' | '<'));
    let name = tag.get(..end.unwrap_or(tag.len())).unwrap_or_default();
    name.rsplit(':').next().unwrap_or_default()
}

/// Returns the text after an element that starts `text`, which may contain
/// elements of the same name; `None` if it is not closed.
fn after_element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        let tag = rest.get(rest.find('<')? + 1..)?;
        let (is_closing, inner) = tag.strip_prefix('/').map_or((false, tag), |inner| (true, inner));
        if !tag_name(inner).eq_ignore_ascii_case(name) {
            rest = tag;
            continue;
        }
        let end = tag_end(inner)?;
        rest = inner.get(end + 1..)?;
        let is_empty = inner.get(..end)?.ends_with('/');
        depth = match (is_closing, is_empty) {
            (true, _) => depth.saturating_sub(1),
            (false, true) => depth,
            (false, false) => depth + 1,
        };
        if depth == 0 {
            return Some(rest);
        }
    }
}

/// Returns the position of the `>` that ends a tag, outside of quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, sign) in tag.char_indices() {
        match (quote, sign) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(sign),
            (Some(open), _) if open == sign => quote = None,
            _ => {}
        }
    }
    None
}

/// Removes the user part of URLs: `https://me:word@host` becomes
/// `https://host`.
fn strip_url_users(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let end = after.find(|sign: char| sign.is_whitespace() || matches!(sign, '/' | '"' | '<'));
        let authority = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
        let skipped = authority.rfind('@').map_or(0, |user| user + 1);
        rest = after.get(skipped..).unwrap_or_default();
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
#[path = "redacted_copy_tests.rs"]
mod tests;
