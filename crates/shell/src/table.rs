//! Tables by name that are made once. The names in them are our own, so the
//! hash need not stand up to anybody.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// What belongs to a name.
pub(crate) type Table<T> = HashMap<&'static str, T, BuildHasherDefault<Quick>>;

/// A set of names.
pub(crate) type Names = HashSet<&'static str, BuildHasherDefault<Quick>>;

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
