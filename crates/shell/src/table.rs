//! Tables by name that are made once. The names in them are our own, so the
//! hash need not stand up to anybody.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// What belongs to a name.
pub(crate) type Table<T> = HashMap<&'static str, T, BuildHasherDefault<Quick>>;

/// A set of names.
pub(crate) type Names = HashSet<&'static str, BuildHasherDefault<Quick>>;

/// Entries by their names; the first of a name counts.
pub(crate) fn by_name<T>(
    entries: &'static [T],
    names: impl Fn(&'static T) -> &'static [&'static str],
) -> Table<&'static T> {
    let mut table = Table::default();
    for entry in entries {
        for name in names(entry) {
            table.entry(*name).or_insert(entry);
        }
    }
    table
}

/// A hash of a few instructions for eight letters.
#[derive(Debug)]
pub(crate) struct Quick(u64);

impl Default for Quick {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    // The mark at the end of a text, which no text has in it.
    fn write_u8(&mut self, mark: u8) {
        self.0 ^= u64::from(mark);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
