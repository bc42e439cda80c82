//! What is known of files and could not be written down: a full disk, a home
//! folder that cannot be written. It is known as long as the process lives, so
//! that nobody's work is overwritten unseen for want of a note.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use hermes_core::Session;

use crate::known::Record;

/// How many files are remembered.
const FILES: usize = 2000;

/// By session and file; none for a file that was to be forgotten.
type Unsaved = HashMap<(String, String), Option<Record>>;

static UNSAVED: LazyLock<Mutex<Unsaved>> = LazyLock::new(Mutex::default);

/// What could not be written down of a file, if there is anything.
pub(crate) fn find(session: &Session, key: &str) -> Option<Option<Record>> {
    let unsaved = lock();
    if unsaved.is_empty() {
        return None;
    }
    unsaved.get(&(session.id().to_owned(), key.to_owned())).cloned()
}

/// This could not be written down.
pub(crate) fn keep(session: &Session, key: &str, record: Option<Record>) {
    let mut unsaved = lock();
    // Nobody reads so many files while nothing can be written.
    if unsaved.len() >= FILES {
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

fn lock() -> MutexGuard<'static, Unsaved> {
    UNSAVED.lock().unwrap_or_else(PoisonError::into_inner)
}
