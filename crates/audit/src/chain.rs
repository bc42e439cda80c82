//! Line format of the log, and the keyed hash that links each line to the
//! previous one.
//!
//! A line is `{"seq":…,"time":"…",` the entry's own fields
//! `,"prev":"…","hash":"…"}`. The hash covers every byte before `,"hash"`. It
//! is truncated from 256 to 128 bits: without the key an attacker can only
//! guess, and with the key no collision is needed. That saves 64 bytes per
//! line.

use std::fmt;

use jiff::Timestamp;

/// Number of hex digits in a hash.
const HASH_CHARS: usize = 32;

/// `,"prev":"…","hash":"…"}`
const TRAILER_BYTES: usize = 9 + HASH_CHARS + 10 + HASH_CHARS + 2;

/// A hash in its written form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainHash([u8; HASH_CHARS]);

impl ChainHash {
    /// The `prev` value of the first line.
    pub(crate) const GENESIS: Self = Self([b'0'; HASH_CHARS]);

    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let letters: [u8; HASH_CHARS] = text.try_into().ok()?;
        letters.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).then_some(Self(letters))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The key of the chain hashes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LogKey([u8; 32]);

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogKey(…)")
    }
}

impl LogKey {
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns a value that identifies the key without revealing it.
    pub(crate) fn fingerprint(&self) -> String {
        format!("{}\n", self.digest(b"anchor"))
    }

    pub(crate) fn digest(&self, bytes: &[u8]) -> ChainHash {
        let hex = blake3::keyed_hash(&self.0, bytes).to_hex();
        let letters = hex.as_bytes().first_chunk().copied();
        ChainHash(letters.unwrap_or(ChainHash::GENESIS.0))
    }
}

/// Appends a line to `out`. `fields` is the content of the entry's object,
/// without braces.
pub(crate) fn compose(
    out: &mut Vec<u8>,
    key: &LogKey,
    seq: u64,
    time: Timestamp,
    fields: &[u8],
    prev: ChainHash,
) -> ChainHash {
    use std::io::Write as _;
    let start = out.len();
    // Writing to a `Vec` does not fail.
    let _ = write!(out, "{{\"seq\":{seq},\"time\":\"{time:.3}\"");
    if !fields.is_empty() {
        out.push(b',');
        out.extend_from_slice(fields);
    }
    out.extend_from_slice(b",\"prev\":\"");
    out.extend_from_slice(prev.as_bytes());
    out.push(b'"');
    let hash = key.digest(out.get(start..).unwrap_or_default());
    out.extend_from_slice(b",\"hash\":\"");
    out.extend_from_slice(hash.as_bytes());
    out.extend_from_slice(b"\"}\n");
    hash
}

/// A line in the log's format; its content is not verified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLine<'a> {
    pub(crate) seq: u64,
    pub(crate) time: &'a str,
    /// Content of the entry's object, without braces.
    pub(crate) fields: &'a [u8],
    pub(crate) prev: ChainHash,
    pub(crate) hash: ChainHash,
    signed: &'a [u8],
}

impl<'a> LogLine<'a> {
    /// Parses a line without its line break.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let (start, end) = line.split_at_checked(line.len().checked_sub(TRAILER_BYTES)?)?;
        let (prev, rest) = end.strip_prefix(b",\"prev\":\"")?.split_at_checked(HASH_CHARS)?;
        let (hash, rest) = rest.strip_prefix(b"\",\"hash\":\"")?.split_at_checked(HASH_CHARS)?;
        if rest != b"\"}" {
            return None;
        }
        let after = start.strip_prefix(b"{\"seq\":")?;
        let digits = after.iter().position(|b| !b.is_ascii_digit())?;
        let (seq, after) = after.split_at_checked(digits)?;
        let after = after.strip_prefix(b",\"time\":\"")?;
        let quote = after.iter().take(40).position(|b| *b == b'"')?;
        let (time, after) = after.split_at_checked(quote)?;
        Some(Self {
            seq: std::str::from_utf8(seq).ok()?.parse().ok()?,
            time: std::str::from_utf8(time).ok()?,
            fields: after.get(1..)?.strip_prefix(b",").unwrap_or_default(),
            prev: ChainHash::parse(prev)?,
            hash: ChainHash::parse(hash)?,
            signed: line.get(..line.len().checked_sub(HASH_CHARS + 11)?)?,
        })
    }

    /// Returns the hash that the line should have.
    pub(crate) fn expected_hash(&self, key: &LogKey) -> ChainHash {
        key.digest(self.signed)
    }

    /// Whether the line is unmodified.
    pub(crate) fn is_intact(&self, key: &LogKey) -> bool {
        self.expected_hash(key) == self.hash
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
