//! The secret with which a run authenticates its own script.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _};

/// Random bytes in a token.
const TOKEN_BYTES: usize = 32;

/// An unguessable token.
pub(crate) struct RunToken(String);

impl RunToken {
    /// Generates a token.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self(text))
    }

    /// Returns the token's text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time, so the duration reveals nothing about the
    /// token.
    pub(crate) fn matches(&self, candidate: &str) -> bool {
        let (own, candidate) = (self.0.as_bytes(), candidate.as_bytes());
        let differences = own.iter().zip(candidate).fold(0, |all, (a, b)| all | (a ^ b));
        own.len() == candidate.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for RunToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunToken")
    }
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
