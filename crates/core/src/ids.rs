//! Ids for jobs, sessions and temporary names.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::unix_nanos;

/// Random bits. Unpredictable enough against collisions, not against attackers:
/// keys and tokens come from the operating system.
pub fn random_bits() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Random hexadecimal digits, at most 16.
pub fn random_hex(digits: usize) -> String {
    let mut hex = format!("{:016x}", random_bits());
    hex.truncate(digits);
    hex
}

/// An id that no other process or call of this machine gets: time, process,
/// sequence number.
pub fn unique_id() -> String {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{number:x}", unix_nanos(), std::process::id())
}

/// A word that no output contains by chance, to delimit it.
pub fn random_marker() -> String {
    format!("h{:016x}", random_bits())
}
