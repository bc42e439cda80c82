//! File names as the headers of unified diffs write them.

use super::Malformed;

/// How a name begins that is no text: an address, in which percent signs stand
/// for bytes. One that does not begin with a slash behind it is relative.
const ADDRESS: &str = "file://";
const RELATIVE: &str = "file://./";

/// A name from a header: a date behind a tab is left out, and quotes are read
/// as git writes them.
pub(super) fn file_name(line: usize, written: &str) -> Result<String, Malformed> {
    if let Some(quoted) = written.trim_end().strip_prefix('"') {
        let name = unquoted(quoted)
            .ok_or_else(|| Malformed::at(line, "the quoted file name cannot be read"))?;
        return Ok(name.0);
    }
    let name = written.split('\t').next().unwrap_or_default().trim_end();
    if name.is_empty() {
        return Err(Malformed::at(line, "the file has no name"));
    }
    Ok(name.to_owned())
}

/// Reads a quoted name up to its closing quote; gives it and what follows.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = quoted;
    loop {
        let c = rest.chars().next()?;
        rest = rest.get(c.len_utf8()..)?;
        match c {
            '"' => return Some((spelt(bytes), rest)),
            '\\' => {
                let escaped = rest.chars().next()?;
                if escaped.is_digit(8) {
                    bytes.push(u8::from_str_radix(rest.get(..3)?, 8).ok()?);
                    rest = rest.get(3..)?;
                    continue;
                }
                rest = rest.get(escaped.len_utf8()..)?;
                bytes.push(match escaped {
                    'a' => 7,
                    'b' => 8,
                    't' => b'\t',
                    'n' => b'\n',
                    'v' => 11,
                    'f' => 12,
                    'r' => b'\r',
                    '"' => b'"',
                    '\\' => b'\\',
                    _ => return None,
                });
            }
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

/// The name of these bytes, which need not be text.
fn spelt(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(name) => return name,
        Err(error) => error.into_bytes(),
    };
    let mark = if bytes.starts_with(b"/") { ADDRESS } else { RELATIVE };
    bytes.iter().fold(mark.to_owned(), |mut name, byte| {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => name.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => name.push(char::from(*byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
        name
    })
}

/// The two names of a `diff --git` line. Unquoted names with spaces can only
/// be told apart where both are the same.
pub(super) fn both_names(names: &str) -> (Option<String>, Option<String>) {
    if let Some(quoted) = names.strip_prefix('"') {
        let Some((old, rest)) = unquoted(quoted) else { return (None, None) };
        let rest = rest.trim_start();
        let new = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted).map(|(name, _)| name),
            None => Some(rest.trim_end().to_owned()),
        };
        return (Some(old), new);
    }
    // Both are the same but for the first letter, so the space is in the middle.
    let names = names.trim_end();
    let (old, new) = (names.get(..names.len() / 2), names.get(names.len() / 2 + 1..));
    fn bare(name: Option<&str>) -> Option<&str> {
        name?.split_once('/').map(|(_, bare)| bare)
    }
    let split = names.as_bytes().get(names.len() / 2) == Some(&b' ');
    if split && bare(old).is_some() && bare(old) == bare(new) {
        return (old.map(str::to_owned), new.map(str::to_owned));
    }
    (None, None)
}

/// The prefixes that git puts before the two names.
const PREFIXES: [(&str, &str); 6] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// The names without git's prefixes, where both have them or there is only
/// one name.
pub(super) fn without_prefixes(
    old: Option<String>,
    new: Option<String>,
) -> (Option<String>, Option<String>) {
    let real = |name: Option<String>| name.filter(|name| name != "/dev/null");
    let (old, new) = (real(old), real(new));
    for (before, after) in PREFIXES {
        let cut_old = old.as_deref().map(|name| without_prefix(name, before));
        let cut_new = new.as_deref().map(|name| without_prefix(name, after));
        let both = !matches!(cut_old, Some(None)) && !matches!(cut_new, Some(None));
        // One name alone is cut only by the usual prefixes.
        if both && (before == "a/" || old.is_some() && new.is_some()) {
            return (cut_old.flatten(), cut_new.flatten());
        }
    }
    (old, new)
}

fn without_prefix(name: &str, prefix: &str) -> Option<String> {
    match name.strip_prefix(RELATIVE) {
        Some(bare) => bare.strip_prefix(prefix).map(|bare| format!("{RELATIVE}{bare}")),
        None => name.strip_prefix(prefix).map(str::to_owned),
    }
}
