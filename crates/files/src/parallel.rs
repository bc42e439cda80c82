//! Runs a small task on another thread while this one waits for the disk.
//! Starting a thread costs a large part of such a task's time, so a small pool
//! is kept.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Size of the pool. If all threads are busy or stuck, the caller starts a new
/// one.
const POOL_THREADS: usize = 2;

static WORKER_POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let named = |number| format!("hermes-beside-{number}");
    ThreadPoolBuilder::new().num_threads(POOL_THREADS).thread_name(named).build().ok()
});

static BUSY_WORKERS: AtomicUsize = AtomicUsize::new(0);

/// A pool thread in use, until dropped.
struct WorkerSlot;

impl WorkerSlot {
    fn acquire() -> Option<Self> {
        let take = |busy: usize| (busy < POOL_THREADS).then_some(busy + 1);
        BUSY_WORKERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok().map(|_| Self)
    }
}

impl Drop for WorkerSlot {
    fn drop(&mut self) {
        BUSY_WORKERS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs both closures and returns both results. Propagates a panic of either.
pub(crate) fn run_in_parallel<A: Send, H>(
    aside: impl FnOnce() -> A + Send,
    here: impl FnOnce() -> H,
) -> (H, Option<A>) {
    let mut done = None;
    let work = || done = Some(aside());
    let here = match (WorkerSlot::acquire(), &*WORKER_POOL) {
        (Some(_seat), Some(pool)) => pool.in_place_scope(|scope| {
            scope.spawn(|_| work());
            here()
        }),
        _ => thread::scope(|scope| {
            scope.spawn(work);
            here()
        }),
    };
    (here, done)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn both_are_done_also_by_more_than_there_are_threads_that_stay() {
        let together = Barrier::new(POOL_THREADS + 3);
        thread::scope(|scope| {
            for number in 0..POOL_THREADS + 3 {
                let together = &together;
                scope.spawn(move || {
                    // None of them ends before all of them have begun.
                    let answers = run_in_parallel(|| together.wait().is_leader(), || number);
                    assert_eq!((answers.0, answers.1.is_some()), (number, true));
                });
            }
        });
        // A panic is not lost, and neither is the seat.
        for _ in 0..2 * POOL_THREADS {
            let broken = std::panic::catch_unwind(|| run_in_parallel(|| panic!("aside"), || ()));
            assert!(broken.is_err());
        }
        assert_eq!(run_in_parallel(|| 1, || 2), (2, Some(1)));
        assert_eq!(BUSY_WORKERS.load(Ordering::Acquire), 0);
    }
}
