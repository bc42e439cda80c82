//! Static lookup tables by name. The keys are our own, so the hash need not
//! resist collision attacks.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from static names.
pub(crate) type StaticNameMap<T> = HashMap<&'static str, T, BuildHasherDefault<FastHasher>>;

/// A set of static names.
pub(crate) type StaticNameSet = HashSet<&'static str, BuildHasherDefault<FastHasher>>;

/// Indexes entries by their names; the first entry of a name wins.
pub(crate) fn by_name<T>(
    entries: &'static [T],
    names: impl Fn(&'static T) -> &'static [&'static str],
) -> StaticNameMap<&'static T> {
    let mut table = StaticNameMap::default();
    for entry in entries {
        for name in names(entry) {
            table.entry(*name).or_insert(entry);
        }
    }
    table
}

/// A hasher that takes a few instructions per eight bytes.
#[derive(Debug)]
pub(crate) struct FastHasher(u64);

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Default for FastHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        chunks.iter().for_each(|chunk| self.add(u64::from_le_bytes(*chunk)));
        // The first and last four bytes of the rest, which meet or overlap.
        match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
                self.add(u64::from(first) << 32 | u64::from(last));
            }
            _ => {
                if let [first, .., last] | [first @ last] = rest {
                    let middle = rest.get(rest.len() / 2).unwrap_or(last);
                    self.add(u64::from(u32::from_le_bytes([*first, *middle, *last, 1])));
                }
            }
        }
    }

    // The terminator of a string, a byte that no string contains.
    fn write_u8(&mut self, mark: u8) {
        self.0 ^= u64::from(mark);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
