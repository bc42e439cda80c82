//! Parallel work whose results are consumed in order.
//!
//! Every piece of work has a key, and everything it produces has keys between
//! its own and the next one. Threads always take the first piece in the order,
//! so few early results have to be buffered. Once enough consecutive results
//! are known, everything after them is dropped.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// A position in the order.
pub(crate) type OrderKey = Vec<u8>;

/// Returns the key of an entry in a directory. The separator is NUL, which no
/// name contains, so the contents of a directory sort before its next sibling.
pub(crate) fn key_in(dir: &[u8], name: &[u8]) -> OrderKey {
    let mut key = Vec::with_capacity(dir.len() + 1 + name.len());
    key.extend_from_slice(dir);
    if !dir.is_empty() {
        key.push(0);
    }
    key.extend_from_slice(name);
    key
}

/// Returns the key of the n-th piece of a list.
pub(crate) fn key_at(number: usize) -> OrderKey {
    (number as u64).to_be_bytes().to_vec()
}

/// Output of a piece of work.
pub(crate) enum WorkOutput<W, D> {
    /// More work.
    Work(W),
    /// Results, with their count.
    Done(D, u64),
}

/// Where a piece of work collects its output.
pub(crate) type WorkOutputs<W, D> = Vec<(OrderKey, WorkOutput<W, D>)>;

/// When a run ends.
pub(crate) struct RunLimits<'a> {
    /// How many results are enough; `None` means all.
    pub(crate) needed: Option<u64>,
    /// Whether to stop immediately.
    pub(crate) is_stopped: &'a (dyn Fn() -> bool + Sync),
}

/// Returns the number of threads a search may use.
pub(crate) fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(12)
}

struct WorkQueue<W, D, T> {
    state: Mutex<WorkQueueState<W, D, T>>,
    changed: Condvar,
}

/// A piece taken by a thread.
struct WorkPiece<W> {
    key: OrderKey,
    work: W,
    dropped: Arc<AtomicBool>,
}

struct WorkQueueState<W, D, T> {
    waiting: BTreeMap<OrderKey, W>,
    /// Pieces in progress; the flag is set when their output is no longer
    /// needed.
    running: BTreeMap<OrderKey, Arc<AtomicBool>>,
    done: BTreeMap<OrderKey, (D, u64)>,
    taken: u64,
    /// Number of results in `done`.
    kept: u64,
    needed: Option<u64>,
    /// Nothing after this key is needed.
    cutoff: Option<OrderKey>,
    idle: usize,
    is_over: bool,
    /// Receives the results in order.
    take: T,
}

/// Runs all the work. Each thread gets its own `hand`; all of them are
/// returned. `take` receives the results in order.
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
        let mut workers = vec![work()];
        for helper in helpers {
            match helper.join() {
                Ok(hand) => workers.push(hand),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        workers
    })
}

/// Stops the other threads when one of them panics.
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

    /// Returns a thread's first piece.
    fn first_piece(&self, plan: &RunLimits<'_>) -> Option<WorkPiece<W>> {
        self.next_piece(plan, self.lock())
    }

    /// Stores the output of a piece and returns the next one, under one lock to
    /// reduce contention.
    fn finish_and_next(
        &self,
        plan: &RunLimits<'_>,
        key: &OrderKey,
        outcome: &mut WorkOutputs<W, D>,
    ) -> Option<WorkPiece<W>> {
        let is_stopped = (plan.is_stopped)();
        let mut state = self.lock();
        if is_stopped {
            // The piece may be unfinished, and results after a gap are not
            // consecutive: its output is dropped.
            state.is_over = true;
            self.changed.notify_all();
            return None;
        }
        let work = state.finish(key, outcome);
        // This thread takes one of the new pieces itself.
        if state.idle > 0 && (work > 1 || state.is_complete()) {
            self.changed.notify_all();
        }
        self.next_piece(plan, state)
    }

    /// Returns the next piece in the order; `None` when all are done.
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
    /// Stores the output of a piece. Returns how many new pieces it contains.
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

    /// Drops everything after the needed number of results.
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
        // Pieces after the cutoff cannot contribute any more.
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
