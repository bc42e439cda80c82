//! Watches that go on between two calls of one process. They hear what a look
//! cannot see, such as a second write within one tick of the clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use parking_lot::Mutex;

use super::watcher::TreeWatcher;

/// How many there are at the same time; the oldest goes first.
const MAX_PARKED_WATCHES: usize = 8;
/// Entries of a watch that is worth its memory.
const MAX_PARKED_ENTRIES: usize = 50_000;
/// How long one waits for the next call.
const PARK_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Debug)]
struct ParkedWatch {
    session: String,
    cursor: String,
    lookout: TreeWatcher,
    since: Instant,
}

static PARKED_WATCHES: OnceLock<Mutex<Vec<ParkedWatch>>> = OnceLock::new();

fn with_parked<T>(change: impl FnOnce(&mut Vec<ParkedWatch>) -> T) -> T {
    let parked = PARKED_WATCHES.get_or_init(Mutex::default);
    change(&mut parked.lock())
}

/// The watch that ended with this cursor, if it still goes on.
pub(super) fn take(cx: &ToolContext, cursor: &str) -> Option<TreeWatcher> {
    let is_it = |parked: &ParkedWatch| parked.session == cx.session.id() && parked.cursor == cursor;
    with_parked(|parked| {
        let at = parked.iter().position(is_it)?;
        Some(parked.remove(at).lookout)
    })
}

/// Lets a watch go on until the next call, or for a while.
pub(super) fn park(cx: &ToolContext, cursor: &str, lookout: TreeWatcher) {
    if lookout.state().len() > MAX_PARKED_ENTRIES {
        return;
    }
    let new = ParkedWatch {
        session: cx.session.id().to_owned(),
        cursor: cursor.to_owned(),
        lookout,
        since: Instant::now(),
    };
    // Dropped after the lock is given back: ending a watch takes a moment.
    let _old = with_parked(|parked| {
        parked.push(new);
        let surplus = parked.len().saturating_sub(MAX_PARKED_WATCHES);
        parked.drain(..surplus).collect::<Vec<_>>()
    });
}

/// Ends those that nobody came back for.
pub(super) fn drop_expired() {
    let _old = with_parked(|parked| {
        let (kept, old) =
            std::mem::take(parked).into_iter().partition(|p| p.since.elapsed() < PARK_TIMEOUT);
        *parked = kept;
        old
    });
}

/// Sees to it that a watch that was parked now is ended in time.
pub(super) fn drop_expired_later() {
    tokio::spawn(async {
        tokio::time::sleep(PARK_TIMEOUT + Duration::from_secs(1)).await;
        drop_expired();
    });
}
