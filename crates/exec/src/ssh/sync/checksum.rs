//! File checksums compatible with `cksum`.

use std::io::{self, Read};

const READ_CHUNK_BYTES: usize = 64 * 1024;

/// Checksum and length of a file.
///
/// The host must be able to compute the same, and `cksum` is available on every
/// system. It detects that a file changed, not who changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileChecksum {
    pub(super) crc: u32,
    pub(super) length: u64,
}

impl FileChecksum {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self::finalize(update_crc(0, bytes), bytes.len() as u64)
    }

    /// Returns the checksum and length of all data in a reader.
    pub(super) fn from_reader(mut from: impl Read) -> io::Result<(Self, u64)> {
        let (mut state, mut length) = (0, 0);
        let mut buffer = vec![0; READ_CHUNK_BYTES];
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok((Self::finalize(state, length), length)),
                read => {
                    state = update_crc(state, buffer.get(..read).unwrap_or_default());
                    length += read as u64;
                }
            }
        }
    }

    fn finalize(mut state: u32, length: u64) -> Self {
        let mut rest = length;
        while rest > 0 {
            state = update_crc(state, &[(rest & 0xff) as u8]);
            rest >>= 8;
        }
        Self { crc: !state, length }
    }
}

const CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
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

fn update_crc(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| {
        let at = (state >> 24) as u8 ^ byte;
        (state << 8) ^ CRC_TABLE.get(usize::from(at)).copied().unwrap_or_default()
    })
}

#[cfg(test)]
#[path = "checksum_tests.rs"]
mod tests;
