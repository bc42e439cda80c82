//! From a session's id, which may be anything, to a file name that cannot
//! leave its folder.

/// Between the readable part of a name and its digest. No readable part holds
/// it, so a made name is never equal to a plain one.
pub(crate) const MARK: char = '~';

/// Leaves room for the digest and the longest suffix in 255 bytes.
const LONGEST: usize = 120;
const DIGEST_DIGITS: usize = 16;

/// The file name for a session: the id itself where it is fit for one, else
/// what is left of it and a digest of the whole.
pub(crate) fn file_stem(id: &str) -> String {
    if is_plain(id) {
        return id.to_owned();
    }
    let readable: String =
        id.chars().take(LONGEST).map(|c| if is_safe(c) { c } else { '_' }).collect();
    // A leading dot would hide the file.
    let readable = readable.trim_start_matches('.');
    let digest = blake3::hash(id.as_bytes()).to_hex();
    let digest = digest.get(..DIGEST_DIGITS).unwrap_or(&digest);
    format!("{readable}{MARK}{digest}")
}

fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST && !id.starts_with('.') && id.chars().all(is_safe)
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
