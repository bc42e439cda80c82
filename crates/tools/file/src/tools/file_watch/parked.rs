//! Watches kept alive between two calls of a process. They detect changes that
//! a scan cannot, such as a second write within one clock tick.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use parking_lot::Mutex;

use super::watcher::TreeWatcher;

/// Maximum number of parked watches; the oldest is dropped first.
const MAX_PARKED_WATCHES: usize = 8;
/// Maximum number of entries of a parked watch, to bound memory.
const MAX_PARKED_ENTRIES: usize = 50_000;
/// How long a parked watch waits for the next call.
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

/// Takes the parked watch of a cursor, if it is still alive.
pub(super) fn take(cx: &ToolContext, cursor: &str) -> Option<TreeWatcher> {
    let is_it = |parked: &ParkedWatch| parked.session == cx.session.id() && parked.cursor == cursor;
    with_parked(|parked| {
        let at = parked.iter().position(is_it)?;
        Some(parked.remove(at).lookout)
    })
}

/// Parks a watch until the next call or the timeout.
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
    // Dropped after the lock is released: ending a watch is slow.
    let _old = with_parked(|parked| {
        parked.push(new);
        let surplus = parked.len().saturating_sub(MAX_PARKED_WATCHES);
        parked.drain(..surplus).collect::<Vec<_>>()
    });
}

/// Drops watches that timed out.
pub(super) fn drop_expired() {
    let _old = with_parked(|parked| {
        let (kept, old) =
            std::mem::take(parked).into_iter().partition(|p| p.since.elapsed() < PARK_TIMEOUT);
        *parked = kept;
        old
    });
}

/// Schedules the drop of a watch parked now.
pub(super) fn drop_expired_later() {
    tokio::spawn(async {
        tokio::time::sleep(PARK_TIMEOUT + Duration::from_secs(1)).await;
        drop_expired();
    });
}
