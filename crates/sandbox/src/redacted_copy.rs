//! Redacted copies of configuration files that children need but that contain
//! credentials. Without its configuration, a package manager would use another
//! registry than the user's.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::private_dir;

/// Maximum number of bytes read from a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Substrings of setting names that mark a credential.
const CREDENTIAL_NAMES: &[&str] =
    &["auth", "password", "passwd", "token", "secret", "username", "email", "keyfile", "apikey"];

/// XML elements that contain credentials.
const CREDENTIAL_ELEMENTS: &[&str] =
    &["password", "passphrase", "privateKey", "username", "configuration"];

/// Writes a copy of a file without its credentials, and returns the path of the
/// copy.
pub(crate) fn redacted_copy(file: &Path) -> io::Result<PathBuf> {
    let mut text = String::new();
    fs::File::open(file)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    let is_xml = file.extension().is_some_and(|extension| extension == "xml");
    let clean =
        if is_xml { strip_credential_elements(&text) } else { strip_credential_lines(&text) };
    let folder = private_dir()?.join("redacted");
    fs::create_dir_all(&folder)?;
    let name = file.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("_");
    let copy = folder.join(name.replace('/', ""));
    let fresh = folder.join(format!(".{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let mut written = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    written.write_all(clean.as_bytes())?;
    fs::rename(&fresh, &copy)?;
    Ok(copy)
}

/// Drops `key = value` lines whose key names a credential, and the user part of
/// URLs.
fn strip_credential_lines(text: &str) -> String {
    let is_plain = |line: &&str| {
        let key = line.split(['=', ' ']).next().unwrap_or_default().to_lowercase();
        !CREDENTIAL_NAMES.iter().any(|name| key.contains(name))
    };
    let mut clean = String::new();
    for line in text.lines().filter(is_plain) {
        clean.push_str(&strip_url_users(line));
        clean.push('\n');
    }
    clean
}

/// Removes elements that contain credentials, and the user part of URLs.
fn strip_credential_elements(text: &str) -> String {
    let mut clean = text.to_owned();
    for element in CREDENTIAL_ELEMENTS {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let mut rest = clean.as_str();
        let mut kept = String::new();
        while let Some((before, after)) = rest.split_once(&open) {
            kept.push_str(before);
            // Drop everything after an unclosed element.
            rest = after.split_once(&close).map_or("", |(_, behind)| behind);
        }
        kept.push_str(rest);
        clean = kept;
    }
    strip_url_users(&clean)
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
