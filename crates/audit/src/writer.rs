//! The writer thread: takes queued entries, retries until they are on disk, and
//! ends with its log.

use std::collections::VecDeque;
use std::time::Duration;

use crate::journal::AuditJournal;
use crate::log::{PendingEntry, SharedLog};

/// How long to collect entries before writing them together. A burst of calls
/// then wakes the writer once, not once per call. Sequential calls at thousands
/// per second count as a burst too.
const BATCH_DELAY: Duration = Duration::from_millis(5);

/// Delay before a retry after a failure, initially and at most.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(2);

pub(crate) fn run_writer(shared: &SharedLog) {
    let mut journal = AuditJournal::new(shared.dir.clone(), shared.options.clone());
    let mut batch = VecDeque::new();
    let mut pause = FIRST_RETRY_DELAY;
    loop {
        if batch.is_empty() {
            shared.take_batch(&mut batch, BATCH_DELAY);
            if batch.is_empty() {
                return;
            }
        }
        let before = batch_cost(&batch);
        let outcome = journal.write(&mut batch, &|waiting| shared.set_lock_wait(waiting));
        let after = batch_cost(&batch);
        let failed = outcome.is_err();
        if !shared.record_write(before.0 - after.0, before.1 - after.1, outcome) {
            return;
        }
        if failed {
            shared.wait_before_retry(pause);
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        } else {
            pause = FIRST_RETRY_DELAY;
        }
    }
}

fn batch_cost(batch: &VecDeque<PendingEntry>) -> (usize, usize) {
    (batch.len(), batch.iter().map(PendingEntry::cost).sum())
}
