//! File records that could not be saved, for instance because the disk is full
//! or the home directory is read-only. They live as long as the process, so a
//! failed save does not let unseen work be overwritten.

use std::collections::HashMap;
use std::sync::LazyLock;

use hermes_core::Session;
use parking_lot::{Mutex, MutexGuard};

use crate::seen_files::SeenFileRecord;

/// Maximum number of records.
const MAX_UNSAVED_FILES: usize = 2000;

/// Keyed by session and file; `None` for a file that was to be forgotten.
type UnsavedRecords = HashMap<(String, String), Option<SeenFileRecord>>;

static UNSAVED_RECORDS: LazyLock<Mutex<UnsavedRecords>> = LazyLock::new(Mutex::default);

/// The unsaved record of a file, if any.
pub(crate) fn find(session: &Session, key: &str) -> Option<Option<SeenFileRecord>> {
    let unsaved = lock();
    if unsaved.is_empty() {
        return None;
    }
    unsaved.get(&(session.id().to_owned(), key.to_owned())).cloned()
}

/// Keeps a record that could not be saved.
pub(crate) fn keep(session: &Session, key: &str, record: Option<SeenFileRecord>) {
    let mut unsaved = lock();
    // Practically unreachable while nothing can be saved.
    if unsaved.len() >= MAX_UNSAVED_FILES {
        unsaved.clear();
    }
    unsaved.insert((session.id().to_owned(), key.to_owned()), record);
}

/// Drops the record of a file once it is saved.
pub(crate) fn clear(session: &Session, key: &str) {
    let mut unsaved = lock();
    if !unsaved.is_empty() {
        unsaved.remove(&(session.id().to_owned(), key.to_owned()));
    }
}

fn lock() -> MutexGuard<'static, UnsavedRecords> {
    UNSAVED_RECORDS.lock()
}
