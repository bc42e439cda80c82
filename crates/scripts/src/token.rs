//! The word by which a run knows its own script.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _};

/// Bytes of chance in a token.
const TOKEN_BYTES: usize = 32;

/// A word that nobody else can know.
pub(crate) struct RunToken(String);

impl RunToken {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self(text))
    }

    /// The word.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether somebody has said it. How long that takes to find out does not
    /// tell how much of it was right.
    pub(crate) fn matches(&self, said: &str) -> bool {
        let (own, said) = (self.0.as_bytes(), said.as_bytes());
        let differences = own.iter().zip(said).fold(0, |all, (a, b)| all | (a ^ b));
        own.len() == said.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for RunToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
