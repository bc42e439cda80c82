//! Parts of a zip's central directory that the library does not expose: mode
//! bits that it drops, and duplicate names.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use crate::dropped_attributes::SPECIAL_MODE_BITS;

/// Signature of a directory entry.
const ENTRY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// Bytes of an entry before its name.
const FIXED_ENTRY_BYTES: usize = 46;
/// Host system with Unix modes.
const UNIX_HOST_SYSTEM: u8 = 3;

/// The relevant parts of a central directory.
#[derive(Debug, Default)]
pub(super) struct CentralDirectory {
    /// Special mode bits, by the offset of the entry.
    special: HashMap<u64, u32>,
    /// Names of entries replaced by later ones.
    pub(super) replaced: Vec<Vec<u8>>,
}

impl CentralDirectory {
    /// Reads the central directory, which starts at `at`. The library has
    /// validated it before and exposes the last entry of each name.
    pub(super) fn read(mut list: impl Read, mut at: u64) -> io::Result<Self> {
        let (mut directory, mut seen) = (Self::default(), HashSet::new());
        loop {
            let mut fixed = Vec::with_capacity(FIXED_ENTRY_BYTES);
            (&mut list).take(FIXED_ENTRY_BYTES as u64).read_to_end(&mut fixed)?;
            // What follows the last entry may be shorter than an entry.
            if fixed.len() < FIXED_ENTRY_BYTES || !fixed.starts_with(ENTRY_SIGNATURE) {
                break;
            }
            let number = |at: usize| match fixed.get(at..at + 2) {
                Some(&[low, high]) => u16::from_le_bytes([low, high]),
                _ => 0,
            };
            let system = fixed.get(5).copied().unwrap_or_default();
            let mut name = vec![0; number(28).into()];
            list.read_exact(&mut name)?;
            let rest = u64::from(number(30)) + u64::from(number(32));
            io::copy(&mut (&mut list).take(rest), &mut io::sink())?;
            let bits = u32::from(number(40)) & SPECIAL_MODE_BITS;
            if bits != 0 && system == UNIX_HOST_SYSTEM {
                directory.special.insert(at, bits);
            }
            at += FIXED_ENTRY_BYTES as u64 + name.len() as u64 + rest;
            if !seen.insert(name.clone()) {
                directory.replaced.push(name);
            }
        }
        Ok(directory)
    }

    /// Returns the special mode bits of the entry at this offset.
    pub(super) fn special_bits(&self, at: u64) -> u32 {
        self.special.get(&at).copied().unwrap_or(0)
    }
}
