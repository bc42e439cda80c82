//! Work that many threads do at once and whose results are taken in order.
//!
//! Every piece has a key, and all that comes of it has keys that lie between
//! its own and the next one. The first piece in the order is always the next
//! to be done, so that little has to be kept that came too early. Once enough
//! results are known in a row, all that lies behind them is dropped.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// A place in the order.
pub(crate) type OrderKey = Vec<u8>;

/// The key of something in a folder; `/` becomes a byte that no name has, so
/// that what is in a folder comes before its next neighbour.
pub(crate) fn key_in(folder: &[u8], name: &[u8]) -> OrderKey {
    let mut key = Vec::with_capacity(folder.len() + 1 + name.len());
    key.extend_from_slice(folder);
    if !folder.is_empty() {
        key.push(0);
    }
    key.extend_from_slice(name);
    key
}

/// The key of the n-th piece of a list.
pub(crate) fn key_at(number: usize) -> OrderKey {
    (number as u64).to_be_bytes().to_vec()
}

/// What comes of a piece of work.
pub(crate) enum WorkOutput<W, D> {
    /// More work.
    Work(W),
    /// Results, with their number.
    Done(D, u64),
}

/// What a piece of work puts its outcome into.
pub(crate) type WorkOutputs<W, D> = Vec<(OrderKey, WorkOutput<W, D>)>;

/// What is to be done, and how.
pub(crate) struct RunLimits<'a> {
    /// How many results are enough; none means all.
    pub(crate) needed: Option<u64>,
    /// Whether to stop at once.
    pub(crate) is_stopped: &'a (dyn Fn() -> bool + Sync),
}

/// The threads that a search may use.
pub(crate) fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(12)
}

struct WorkQueue<W, D, T> {
    state: Mutex<WorkQueueState<W, D, T>>,
    changed: Condvar,
}

/// A piece that a thread has taken on.
struct WorkPiece<W> {
    key: OrderKey,
    work: W,
    dropped: Arc<AtomicBool>,
}

struct WorkQueueState<W, D, T> {
    waiting: BTreeMap<OrderKey, W>,
    /// What is being done; the mark says that nobody needs it any more.
    running: BTreeMap<OrderKey, Arc<AtomicBool>>,
    done: BTreeMap<OrderKey, (D, u64)>,
    taken: u64,
    /// Results among the done.
    kept: u64,
    needed: Option<u64>,
    /// Nothing behind this is needed.
    cutoff: Option<OrderKey>,
    idle: usize,
    is_over: bool,
    /// Gets the results in order.
    take: T,
}

/// Does all the work. Each thread has its own `hand`, which are given back in
/// the end; `take` gets the results in order, and says when it has enough.
pub(crate) fn run_ordered<W: Send, D: Send, H: Send>(
    plan: &RunLimits<'_>,
    start: Vec<(OrderKey, W)>,
    hand: impl Fn() -> H + Sync,
    step: impl Fn(&mut H, &OrderKey, W, &AtomicBool, &mut WorkOutputs<W, D>) + Sync,
    take: impl FnMut(D) + Send,
) -> Vec<H> {
    let line = WorkQueue::new(start, plan.needed, take);
    let work = || {
        let mut hand = hand();
        let mut outcome = Vec::new();
        let mut next = line.first_piece(plan);
        while let Some(WorkPiece { key, work, dropped }) = next {
            let guard = PanicGuard { queue: &line };
            step(&mut hand, &key, work, &dropped, &mut outcome);
            std::mem::forget(guard);
            next = line.finish_and_next(plan, &key, &mut outcome);
        }
        hand
    };
    let others = thread_count() - 1;
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
struct PanicGuard<'a, W, D, T: FnMut(D)> {
    queue: &'a WorkQueue<W, D, T>,
}

impl<W, D, T: FnMut(D)> Drop for PanicGuard<'_, W, D, T> {
    fn drop(&mut self) {
        self.queue.lock().is_over = true;
        self.queue.changed.notify_all();
    }
}

impl<W, D, T: FnMut(D)> WorkQueue<W, D, T> {
    fn new(start: Vec<(OrderKey, W)>, needed: Option<u64>, take: T) -> Self {
        let state = WorkQueueState {
            waiting: start.into_iter().collect(),
            running: BTreeMap::new(),
            done: BTreeMap::new(),
            taken: 0,
            kept: 0,
            needed,
            cutoff: None,
            idle: 0,
            is_over: false,
            take,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, WorkQueueState<W, D, T>> {
        self.state.lock()
    }

    /// The first piece of a thread.
    fn first_piece(&self, plan: &RunLimits<'_>) -> Option<WorkPiece<W>> {
        self.next_piece(plan, self.lock())
    }

    /// Hands in what came of a piece, and gives the next one. Both at once, so
    /// that threads seldom wait for each other.
    fn finish_and_next(
        &self,
        plan: &RunLimits<'_>,
        key: &OrderKey,
        outcome: &mut WorkOutputs<W, D>,
    ) -> Option<WorkPiece<W>> {
        let is_stopped = (plan.is_stopped)();
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
        self.next_piece(plan, state)
    }

    /// The next piece in the order; none when all is done.
    fn next_piece(
        &self,
        plan: &RunLimits<'_>,
        mut state: MutexGuard<'_, WorkQueueState<W, D, T>>,
    ) -> Option<WorkPiece<W>> {
        loop {
            if !state.is_over && ((plan.is_stopped)() || state.is_complete()) {
                state.is_over = true;
                self.changed.notify_all();
            }
            if state.is_over {
                return None;
            }
            if let Some((key, work)) = state.waiting.pop_first() {
                let dropped = Arc::new(AtomicBool::new(false));
                state.running.insert(key.clone(), Arc::clone(&dropped));
                return Some(WorkPiece { key, work, dropped });
            }
            state.idle += 1;
            self.changed.wait(&mut state);
            state.idle -= 1;
        }
    }
}

impl<W, D, T: FnMut(D)> WorkQueueState<W, D, T> {
    /// Puts in what came of a piece; says how much work that is.
    fn finish(&mut self, key: &OrderKey, outcome: &mut WorkOutputs<W, D>) -> usize {
        self.running.remove(key);
        let mut has_results = false;
        let mut work = 0;
        for (key, item) in outcome.drain(..) {
            if self.cutoff.as_ref().is_some_and(|cut| key > *cut) {
                continue;
            }
            match item {
                WorkOutput::Work(piece) => {
                    work += 1;
                    self.waiting.insert(key, piece);
                }
                WorkOutput::Done(_, 0) => {}
                WorkOutput::Done(results, number) => {
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
        for (_, dropped) in self.running.range::<OrderKey, _>(behind) {
            dropped.store(true, Ordering::Relaxed);
        }
        // Nothing can come of a piece behind the cut, so that it may go.
        self.running.retain(|key, _| *key <= cut);
        self.waiting.retain(|key, _| *key <= cut);
        self.done.retain(|key, _| *key <= cut);
        self.kept = self.done.values().map(|(_, number)| number).sum();
        self.cutoff = Some(cut);
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
#[path = "ordered_work_tests.rs"]
mod tests;
