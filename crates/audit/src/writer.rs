//! The thread that writes: it takes what has gathered, tries until it is on
//! disk, and ends with its log.

use std::collections::VecDeque;
use std::time::Duration;

use crate::journal::Journal;
use crate::log::{Pending, Shared};

/// How long entries gather before they are written together. Callers in a
/// burst then wake the writer once, not once each. Who makes calls one after the
/// other, thousands in a second, is such a burst too.
const LINGER: Duration = Duration::from_millis(5);

/// How long to wait after a failure, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(crate) fn run(shared: &Shared) {
    let mut journal = Journal::new(shared.folder.clone(), shared.options.clone());
    let mut batch = VecDeque::new();
    let mut pause = FIRST_PAUSE;
    loop {
        if batch.is_empty() {
            shared.take(&mut batch, LINGER);
            if batch.is_empty() {
                return;
            }
        }
        let before = cost(&batch);
        let outcome = journal.write(&mut batch, &|waiting| shared.lock_wait(waiting));
        let after = cost(&batch);
        let failed = outcome.is_err();
        if !shared.tell(before.0 - after.0, before.1 - after.1, outcome) {
            return;
        }
        if failed {
            shared.pause(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        } else {
            pause = FIRST_PAUSE;
        }
    }
}

fn cost(batch: &VecDeque<Pending>) -> (usize, usize) {
    (batch.len(), batch.iter().map(Pending::cost).sum())
}
