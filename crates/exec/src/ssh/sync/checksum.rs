//! What a file holds, in a number that `cksum` says as well.

use std::io::{self, Read};

const CHUNK: usize = 64 * 1024;

/// What a file holds, in short.
///
/// The host's own tool has to be able to say the same, and `cksum` is the one
/// that every system has. It tells that something has changed, not who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) check: u32,
    pub(super) length: u64,
}

impl Sum {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self::end(update(0, bytes), bytes.len() as u64)
    }

    /// Of all that can be read, and how much that is.
    pub(super) fn read(mut from: impl Read) -> io::Result<(Self, u64)> {
        let (mut state, mut length) = (0, 0);
        let mut buffer = vec![0; CHUNK];
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok((Self::end(state, length), length)),
                read => {
                    state = update(state, buffer.get(..read).unwrap_or_default());
                    length += read as u64;
                }
            }
        }
    }

    fn end(mut state: u32, length: u64) -> Self {
        let mut rest = length;
        while rest > 0 {
            state = update(state, &[(rest & 0xff) as u8]);
            rest >>= 8;
        }
        Self { check: !state, length }
    }
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = (at as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            value = if value >> 31 == 1 { (value << 1) ^ 0x04c1_1db7 } else { value << 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
}

fn update(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| {
        let at = (state >> 24) as u8 ^ byte;
        (state << 8) ^ TABLE.get(usize::from(at)).copied().unwrap_or_default()
    })
}

#[cfg(test)]
#[path = "checksum_tests.rs"]
mod tests;
