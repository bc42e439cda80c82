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

/// A hash of a few instructions a letter.
#[derive(Debug)]
pub(crate) struct Quick(u64);

impl Default for Quick {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
