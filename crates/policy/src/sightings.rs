//! What was seen a moment ago.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a look at the files counts. A child process that starts later is
/// looked after anew.
const FRESH: Duration = Duration::from_millis(500);

/// The last look, and from where it was taken.
#[derive(Debug, Default)]
pub(crate) struct Sightings(Mutex<Option<Sighting>>);

#[derive(Debug)]
struct Sighting {
    at: Instant,
    from: PathBuf,
    found: Vec<PathBuf>,
}

impl Sightings {
    /// What is there, seen from that folder; looks only if the last look is old.
    pub(crate) fn get(&self, from: &Path, look: impl FnOnce() -> Vec<PathBuf>) -> Vec<PathBuf> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = last.as_ref().filter(|s| s.from == from && s.at.elapsed() < FRESH) {
            return seen.found.clone();
        }
        let found = look();
        *last = Some(Sighting { at: Instant::now(), from: from.to_owned(), found: found.clone() });
        found
    }
}
