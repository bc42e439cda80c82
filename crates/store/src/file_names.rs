//! Maps an arbitrary session id to a file name that cannot leave its directory.

/// Separates the readable part of a name from its digest. No readable part
/// contains it, so a generated name never equals a plain one.
pub(crate) const DIGEST_SEPARATOR: char = '~';

/// Leaves room for the digest and the longest suffix in 255 bytes.
const MAX_STEM_CHARS: usize = 120;
const DIGEST_HEX_DIGITS: usize = 16;

/// Returns the file name of a session: the id if it is a valid name, or else
/// its readable part and a digest of the whole.
pub(crate) fn file_stem(id: &str) -> String {
    if is_safe_stem(id) {
        return id.to_owned();
    }
    let readable: String =
        id.chars().take(MAX_STEM_CHARS).map(|c| if is_safe_char(c) { c } else { '_' }).collect();
    // A leading dot would hide the file.
    let readable = readable.trim_start_matches('.');
    let digest = blake3::hash(id.as_bytes()).to_hex();
    let digest = digest.get(..DIGEST_HEX_DIGITS).unwrap_or(&digest);
    format!("{readable}{DIGEST_SEPARATOR}{digest}")
}

fn is_safe_stem(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= MAX_STEM_CHARS
        && !id.starts_with('.')
        && id.chars().all(is_safe_char)
}

fn is_safe_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

#[cfg(test)]
#[path = "file_names_tests.rs"]
mod tests;
