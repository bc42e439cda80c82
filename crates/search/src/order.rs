//! Work that many threads do at once and whose results are taken in order.
//!
//! Every piece has a key, and all that comes of it has keys that lie between
//! its own and the next one. The first piece in the order is always the next
//! to be done, so that little has to be kept that came too early. Once enough
//! results are known in a row, all that lies behind them is dropped.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A place in the order.
pub(crate) type Key = Vec<u8>;

/// The key of something in a folder; `/` becomes a byte that no name has, so
/// that what is in a folder comes before its next neighbour.
pub(crate) fn key_in(folder: &[u8], name: &[u8]) -> Key {
    let mut key = Vec::with_capacity(folder.len() + 1 + name.len());
    key.extend_from_slice(folder);
    if !folder.is_empty() {
        key.push(0);
    }
    key.extend_from_slice(name);
    key
}

/// The key of the n-th piece of a list.
pub(crate) fn key_at(number: usize) -> Key {
    (number as u64).to_be_bytes().to_vec()
}

/// What comes of a piece of work.
pub(crate) enum Item<W, D> {
    /// More work.
    Work(W),
    /// Results, with their number.
    Done(D, u64),
}

/// What a piece of work puts its outcome into.
pub(crate) type Outcome<W, D> = Vec<(Key, Item<W, D>)>;

/// What is to be done, and how.
pub(crate) struct Plan<'a> {
    /// How many results are enough; none means all.
    pub(crate) needed: Option<u64>,
    /// Whether to stop at once.
    pub(crate) stopped: &'a (dyn Fn() -> bool + Sync),
}

/// The threads that a search may use.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(12)
}

struct Line<W, D, T> {
    state: Mutex<State<W, D, T>>,
    changed: Condvar,
}

/// A piece that a thread has taken on.
struct Piece<W> {
    key: Key,
    work: W,
    dropped: Arc<AtomicBool>,
}

struct State<W, D, T> {
    waiting: BTreeMap<Key, W>,
    /// What is being done; the mark says that nobody needs it any more.
    running: BTreeMap<Key, Arc<AtomicBool>>,
    done: BTreeMap<Key, (D, u64)>,
    taken: u64,
    /// Results among the done.
    kept: u64,
    needed: Option<u64>,
    /// Nothing behind this is needed.
    cut: Option<Key>,
    idle: usize,
    is_over: bool,
    /// Gets the results in order.
    take: T,
}

/// Does all the work. Each thread has its own `hand`, which are given back in
/// the end; `take` gets the results in order, and says when it has enough.
pub(crate) fn run<W: Send, D: Send, H: Send>(
    plan: &Plan<'_>,
    start: Vec<(Key, W)>,
    hand: impl Fn() -> H + Sync,
    step: impl Fn(&mut H, &Key, W, &AtomicBool, &mut Outcome<W, D>) + Sync,
    take: impl FnMut(D) + Send,
) -> Vec<H> {
    let line = Line::new(start, plan.needed, take);
    let work = || {
        let mut hand = hand();
        let mut outcome = Vec::new();
        let mut next = line.begin(plan);
        while let Some(Piece { key, work, dropped }) = next {
            let guard = Unfinished { line: &line };
            step(&mut hand, &key, work, &dropped, &mut outcome);
            std::mem::forget(guard);
            next = line.go_on(plan, &key, &mut outcome);
        }
        hand
    };
    let others = threads() - 1;
    thread::scope(|scope| {
        let helpers: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let mut hands = vec![work()];
        for helper in helpers {
            match helper.join() {
                Ok(hand) => hands.push(hand),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        hands
    })
}

/// Lets the other threads end when one of them panics.
struct Unfinished<'a, W, D, T: FnMut(D)> {
    line: &'a Line<W, D, T>,
}

impl<W, D, T: FnMut(D)> Drop for Unfinished<'_, W, D, T> {
    fn drop(&mut self) {
        self.line.lock().is_over = true;
        self.line.changed.notify_all();
    }
}

impl<W, D, T: FnMut(D)> Line<W, D, T> {
    fn new(start: Vec<(Key, W)>, needed: Option<u64>, take: T) -> Self {
        let state = State {
            waiting: start.into_iter().collect(),
            running: BTreeMap::new(),
            done: BTreeMap::new(),
            taken: 0,
            kept: 0,
            needed,
            cut: None,
            idle: 0,
            is_over: false,
            take,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<W, D, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first piece of a thread.
    fn begin(&self, plan: &Plan<'_>) -> Option<Piece<W>> {
        self.next(plan, self.lock())
    }

    /// Hands in what came of a piece, and gives the next one. Both at once, so
    /// that threads seldom wait for each other.
    fn go_on(&self, plan: &Plan<'_>, key: &Key, outcome: &mut Outcome<W, D>) -> Option<Piece<W>> {
        let is_stopped = (plan.stopped)();
        let mut state = self.lock();
        if is_stopped {
            // The piece may be unfinished, and what lies behind a gap is not
            // next: it stays where it is.
            state.is_over = true;
            self.changed.notify_all();
            return None;
        }
        let work = state.finish(key, outcome);
        // One of the new pieces is for this thread.
        if state.idle > 0 && (work > 1 || state.is_complete()) {
            self.changed.notify_all();
        }
        self.next(plan, state)
    }

    /// The next piece in the order; none when all is done.
    fn next(&self, plan: &Plan<'_>, mut state: MutexGuard<'_, State<W, D, T>>) -> Option<Piece<W>> {
        loop {
            if !state.is_over && ((plan.stopped)() || state.is_complete()) {
                state.is_over = true;
                self.changed.notify_all();
            }
            if state.is_over {
                return None;
            }
            if let Some((key, work)) = state.waiting.pop_first() {
                let dropped = Arc::new(AtomicBool::new(false));
                state.running.insert(key.clone(), Arc::clone(&dropped));
                return Some(Piece { key, work, dropped });
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl<W, D, T: FnMut(D)> State<W, D, T> {
    /// Puts in what came of a piece; says how much work that is.
    fn finish(&mut self, key: &Key, outcome: &mut Outcome<W, D>) -> usize {
        self.running.remove(key);
        let mut has_results = false;
        let mut work = 0;
        for (key, item) in outcome.drain(..) {
            if self.cut.as_ref().is_some_and(|cut| key > *cut) {
                continue;
            }
            match item {
                Item::Work(piece) => {
                    work += 1;
                    self.waiting.insert(key, piece);
                }
                Item::Done(_, 0) => {}
                Item::Done(results, number) => {
                    has_results = true;
                    self.kept = self.kept.saturating_add(number);
                    self.done.insert(key, (results, number));
                }
            }
        }
        if has_results {
            self.cut_behind_enough();
        }
        self.take_in_order();
        work
    }

    fn is_complete(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Drops all that lies behind as many results as are needed.
    fn cut_behind_enough(&mut self) {
        let Some(needed) = self.needed else { return };
        let mut known = self.taken;
        if known.saturating_add(self.kept) < needed {
            return;
        }
        let enough = self.done.iter().find(|(_, (_, number))| {
            known = known.saturating_add(*number);
            known >= needed
        });
        let Some((key, _)) = enough else { return };
        let cut = key.clone();
        let behind = (std::ops::Bound::Excluded(&cut), std::ops::Bound::Unbounded);
        for (_, dropped) in self.running.range::<Key, _>(behind) {
            dropped.store(true, Ordering::Relaxed);
        }
        // Nothing can come of a piece behind the cut, so that it may go.
        self.running.retain(|key, _| *key <= cut);
        self.waiting.retain(|key, _| *key <= cut);
        self.done.retain(|key, _| *key <= cut);
        self.kept = self.done.values().map(|(_, number)| number).sum();
        self.cut = Some(cut);
    }

    fn take_in_order(&mut self) {
        loop {
            let Some(first) = self.done.first_key_value().map(|(key, _)| key) else { return };
            let is_behind = self.waiting.first_key_value().is_some_and(|(key, _)| key < first)
                || self.running.first_key_value().is_some_and(|(key, _)| key < first);
            if is_behind {
                return;
            }
            if let Some((_, (results, number))) = self.done.pop_first() {
                self.taken = self.taken.saturating_add(number);
                self.kept = self.kept.saturating_sub(number);
                (self.take)(results);
            }
        }
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
