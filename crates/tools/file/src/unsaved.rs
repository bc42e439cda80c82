//! What is known of files and could not be written down: a full disk, a home
//! folder that cannot be written. It is known as long as the process lives, so
//! that nobody's work is overwritten unseen for want of a note.

use std::collections::HashMap;
use std::sync::LazyLock;

use hermes_core::Session;
use parking_lot::{Mutex, MutexGuard};

use crate::seen_files::SeenFileRecord;

/// How many files are remembered.
const MAX_UNSAVED_FILES: usize = 2000;

/// By session and file; none for a file that was to be forgotten.
type UnsavedRecords = HashMap<(String, String), Option<SeenFileRecord>>;

static UNSAVED_RECORDS: LazyLock<Mutex<UnsavedRecords>> = LazyLock::new(Mutex::default);

/// What could not be written down of a file, if there is anything.
pub(crate) fn find(session: &Session, key: &str) -> Option<Option<SeenFileRecord>> {
    let unsaved = lock();
    if unsaved.is_empty() {
        return None;
    }
    unsaved.get(&(session.id().to_owned(), key.to_owned())).cloned()
}

/// This could not be written down.
pub(crate) fn keep(session: &Session, key: &str, record: Option<SeenFileRecord>) {
    let mut unsaved = lock();
    // Nobody reads so many files while nothing can be written.
    if unsaved.len() >= MAX_UNSAVED_FILES {
        unsaved.clear();
    }
    unsaved.insert((session.id().to_owned(), key.to_owned()), record);
}

/// It is written down now.
pub(crate) fn clear(session: &Session, key: &str) {
    let mut unsaved = lock();
    if !unsaved.is_empty() {
        unsaved.remove(&(session.id().to_owned(), key.to_owned()));
    }
}

fn lock() -> MutexGuard<'static, UnsavedRecords> {
    UNSAVED_RECORDS.lock()
}
