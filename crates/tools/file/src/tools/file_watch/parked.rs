//! Watches that go on between two calls of one process. They hear what a look
//! cannot see, such as a second write within one tick of the clock.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::ToolContext;

use super::lookout::Lookout;

/// How many there are at the same time; the oldest goes first.
const WATCHES: usize = 8;
/// Entries of a watch that is worth its memory.
const ENTRIES: usize = 50_000;
/// How long one waits for the next call.
const IDLE: Duration = Duration::from_secs(300);

#[derive(Debug)]
struct Parked {
    session: String,
    cursor: String,
    lookout: Lookout,
    since: Instant,
}

static PARKED: OnceLock<Mutex<Vec<Parked>>> = OnceLock::new();

fn with_parked<T>(change: impl FnOnce(&mut Vec<Parked>) -> T) -> T {
    let parked = PARKED.get_or_init(Mutex::default);
    change(&mut parked.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The watch that ended with this cursor, if it still goes on.
pub(super) fn take(cx: &ToolContext, cursor: &str) -> Option<Lookout> {
    let is_it = |parked: &Parked| parked.session == cx.session.id() && parked.cursor == cursor;
    with_parked(|parked| {
        let at = parked.iter().position(is_it)?;
        Some(parked.remove(at).lookout)
    })
}

/// Lets a watch go on until the next call, or for a while.
pub(super) fn park(cx: &ToolContext, cursor: &str, lookout: Lookout) {
    if lookout.state().len() > ENTRIES {
        return;
    }
    let new = Parked {
        session: cx.session.id().to_owned(),
        cursor: cursor.to_owned(),
        lookout,
        since: Instant::now(),
    };
    // Dropped after the lock is given back: ending a watch takes a moment.
    let _old = with_parked(|parked| {
        parked.push(new);
        let surplus = parked.len().saturating_sub(WATCHES);
        parked.drain(..surplus).collect::<Vec<_>>()
    });
}

/// Ends those that nobody came back for.
pub(super) fn sweep() {
    let _old = with_parked(|parked| {
        let (kept, old) =
            std::mem::take(parked).into_iter().partition(|p| p.since.elapsed() < IDLE);
        *parked = kept;
        old
    });
}

/// Sees to it that a watch that was parked now is ended in time.
pub(super) fn sweep_later() {
    tokio::spawn(async {
        tokio::time::sleep(IDLE + Duration::from_secs(1)).await;
        sweep();
    });
}
