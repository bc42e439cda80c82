//! Random numbers, and the token that a client over HTTP must show.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};

/// The shortest token that somebody may choose.
const MIN_TOKEN_CHARS: usize = 16;

/// Bytes that nobody can guess.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text that cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("A token has at least {MIN_TOKEN_CHARS} characters, all of them visible ASCII")]
pub struct InvalidTokenError;

/// What a client must show to be let in. It is never printed.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// A new one.
    pub fn generate() -> io::Result<Self> {
        Ok(Self(hex(&random_bytes::<32>()?)))
    }

    /// One that somebody has chosen.
    pub fn new(text: &str) -> Result<Self, InvalidTokenError> {
        let text = text.trim();
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.len() < MIN_TOKEN_CHARS || !visible {
            return Err(InvalidTokenError);
        }
        Ok(Self(text.to_owned()))
    }

    /// The token itself, to be kept or shown once.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the value of an `Authorization` header shows it. Takes as long
    /// for a near miss as for a far one.
    pub(crate) fn matches_header(&self, header: &[u8]) -> bool {
        let Some((scheme, shown)) = header.split_at_checked(7) else { return false };
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return false;
        }
        let shown = shown.trim_ascii();
        let differ = shown.iter().zip(self.0.as_bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
        shown.len() == self.0.len() && differ == 0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
