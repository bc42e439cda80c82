//! Random bytes, and the bearer token of HTTP clients.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};

/// Minimum length of a token chosen by the user.
const MIN_TOKEN_CHARS: usize = 16;

/// Returns cryptographically secure random bytes.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text is not a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("A token must be at least {MIN_TOKEN_CHARS} visible ASCII characters")]
pub struct InvalidTokenError;

/// The token that a client must present. It is never printed.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// Generates a token.
    pub fn generate() -> io::Result<Self> {
        Ok(Self(hex(&random_bytes::<32>()?)))
    }

    /// Validates a token chosen by the user.
    pub fn new(text: &str) -> Result<Self, InvalidTokenError> {
        let text = text.trim();
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.len() < MIN_TOKEN_CHARS || !visible {
            return Err(InvalidTokenError);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the token, to be stored or shown once.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether an `Authorization` header carries the token. Compares in
    /// constant time.
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
        f.write_str("BearerToken")
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
