//! Public handle of the log: a queue that never blocks its callers.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex, MutexGuard};
use serde::Serialize;

use crate::error::LogError;
use crate::writer;

/// How long dropping a log waits for pending writes.
const DROP_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// A longer wait for the lock is reported as a problem.
const LOCK_WAIT_WARNING: Duration = Duration::from_secs(2);

/// Memory cost of a queued entry besides its text.
const ENTRY_OVERHEAD_BYTES: usize = 64;

/// Limits of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// A file that would exceed this size is rotated.
    pub rotate_bytes: u64,
    /// Number of rotated files to keep, at least one.
    pub keep_files: usize,
    /// Whether to sync to disk after every write. Entries then survive a power
    /// failure, at a cost of some milliseconds per write.
    pub sync: bool,
    /// Maximum number of queued entries; further entries are dropped and
    /// counted.
    pub queue_entries: usize,
    /// Maximum memory of the queued entries.
    pub queue_bytes: usize,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            rotate_bytes: 16 << 20,
            keep_files: 20,
            sync: false,
            queue_entries: 100_000,
            queue_bytes: 64 << 20,
        }
    }
}

/// A log to append to. Several logs, in this process or others, may share a
/// directory.
pub struct AuditLog {
    shared: Arc<SharedLog>,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("folder", &self.shared.dir).finish_non_exhaustive()
    }
}

/// An entry waiting to be written.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    pub(crate) time: SystemTime,
    /// One JSON value.
    pub(crate) text: Vec<u8>,
}

impl PendingEntry {
    pub(crate) fn cost(&self) -> usize {
        self.text.len() + ENTRY_OVERHEAD_BYTES
    }

    fn dropped_notice(count: u64) -> Self {
        let text = format!("{{\"event\":\"dropped\",\"count\":{count}}}").into_bytes();
        Self { time: SystemTime::now(), text }
    }
}

/// State shared by callers and the writer thread.
#[derive(Debug)]
pub(crate) struct SharedLog {
    pub(crate) dir: PathBuf,
    pub(crate) options: LogOptions,
    state: Mutex<QueueState>,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes callers of `flush`.
    flushed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    queue: VecDeque<PendingEntry>,
    /// Entries that are queued or being written, and their memory cost.
    unwritten: usize,
    unwritten_bytes: usize,
    /// Number of dropped entries not yet recorded in the log.
    dropped: u64,
    appended: u64,
    written: u64,
    /// Number of failed writes.
    failures: u64,
    problem: Option<String>,
    lock_since: Option<Instant>,
    running: bool,
    asleep: bool,
    hurry: bool,
    closing: bool,
}

impl QueueState {
    fn push(&mut self, pending: PendingEntry) {
        self.unwritten += 1;
        self.unwritten_bytes += pending.cost();
        self.appended += 1;
        self.queue.push_back(pending);
    }

    /// Queues an event with the number of dropped entries at the point where
    /// they are missing.
    fn push_dropped_notice(&mut self) {
        if self.dropped > 0 {
            let count = std::mem::take(&mut self.dropped);
            self.push(PendingEntry::dropped_notice(count));
        }
    }
}

impl AuditLog {
    /// Opens the log in a directory. Creates nothing before the first entry.
    pub fn open(dir: PathBuf) -> Self {
        Self::open_with(dir, LogOptions::default())
    }

    /// [`AuditLog::open`] with custom limits.
    pub fn open_with(dir: PathBuf, options: LogOptions) -> Self {
        let shared = SharedLog {
            dir,
            options,
            state: Mutex::default(),
            work: Condvar::new(),
            flushed: Condvar::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Queues an entry for the writer thread. An entry should be an object.
    /// `seq`, `time`, `prev` and `hash` are reserved for the log; entry fields
    /// with these names are prefixed with `_`.
    pub fn append(&self, entry: impl Serialize) {
        let time = SystemTime::now();
        let text = serde_json::to_vec(&entry).unwrap_or_else(|error| {
            let text = error.to_string();
            serde_json::json!({ "event": "unserializable", "why": text }).to_string().into_bytes()
        });
        let pending = PendingEntry { time, text };
        let options = &self.shared.options;
        let mut state = self.shared.lock();
        let full = state.unwritten >= options.queue_entries
            || state.unwritten_bytes.saturating_add(pending.cost()) > options.queue_bytes;
        if full {
            state.dropped += 1;
        } else {
            state.push_dropped_notice();
            state.push(pending);
        }
        if !state.running {
            state.running = true;
            drop(state);
            self.start_writer();
        } else if state.asleep {
            state.asleep = false;
            drop(state);
            self.shared.work.notify_one();
        }
    }

    fn start_writer(&self) {
        let shared = Arc::clone(&self.shared);
        let started = thread::Builder::new().name("audit".into()).spawn(move || {
            let _end = WriterExitGuard(&shared);
            writer::run_writer(&shared);
        });
        if let Err(error) = started {
            let mut state = self.shared.lock();
            state.running = false;
            state.problem = Some(format!("the writer thread cannot be started: {error}"));
        }
    }

    /// Waits until everything appended so far is in the file. The entries then
    /// survive the end of this process; for power failures see
    /// [`LogOptions::sync`].
    pub fn flush(&self, wait: Duration) -> Result<(), LogError> {
        let until = Instant::now() + wait;
        let mut state = self.shared.lock();
        state.push_dropped_notice();
        let (target, failures) = (state.appended, state.failures);
        if state.written < target && !state.running {
            state.running = true;
            drop(state);
            self.start_writer();
            state = self.shared.lock();
        }
        state.hurry = true;
        self.shared.work.notify_one();
        loop {
            if state.written >= target {
                return Ok(());
            }
            if state.failures > failures || !state.running {
                let why =
                    state.problem.clone().unwrap_or_else(|| "the writer thread has ended".into());
                return Err(LogError::NotWritten { why });
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LogError::Timeout(wait));
            }
            self.shared.flushed.wait_for(&mut state, left);
        }
    }

    /// Returns why the log cannot currently be written, as a sentence for the
    /// user.
    pub fn problem(&self) -> Option<String> {
        let state = self.shared.lock();
        if let Some(why) = &state.problem {
            return Some(format!("The audit log cannot be written: {why}"));
        }
        let waited = state.lock_since?.elapsed();
        (waited >= LOCK_WAIT_WARNING).then(|| {
            let seconds = waited.as_secs();
            format!("The audit log has been locked by another process for {seconds} s")
        })
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        let running = {
            let mut state = self.shared.lock();
            state.closing = true;
            state.running
        };
        if running {
            // No caller is left to handle the error.
            let _ = self.flush(DROP_FLUSH_TIMEOUT);
            self.shared.work.notify_one();
        }
    }
}

/// Records the end of the writer thread, even after a panic.
struct WriterExitGuard<'a>(&'a SharedLog);

impl Drop for WriterExitGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().running = false;
        self.0.flushed.notify_all();
    }
}

impl SharedLog {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// Waits for entries, then up to `linger` for more to batch with them.
    /// `batch` stays empty if the log is closing and nothing is left.
    pub(crate) fn take_batch(&self, batch: &mut VecDeque<PendingEntry>, linger: Duration) {
        let mut state = self.lock();
        while state.queue.is_empty() && state.dropped == 0 {
            if state.closing {
                return;
            }
            state.asleep = true;
            state.hurry = false;
            self.work.wait(&mut state);
        }
        state.asleep = false;
        let quiet = |state: &mut QueueState| !state.hurry && !state.closing;
        self.work.wait_while_for(&mut state, quiet, linger);
        state.hurry = false;
        state.push_dropped_notice();
        std::mem::swap(batch, &mut state.queue);
    }

    /// Records the outcome of a write that took `count` entries off the batch.
    /// Returns whether the writer should continue.
    pub(crate) fn record_write(
        &self,
        count: usize,
        bytes: usize,
        outcome: Result<(), LogError>,
    ) -> bool {
        let mut state = self.lock();
        state.unwritten = state.unwritten.saturating_sub(count);
        state.unwritten_bytes = state.unwritten_bytes.saturating_sub(bytes);
        state.written += count as u64;
        state.problem = outcome.err().map(|error| error.to_string());
        if state.problem.is_some() {
            state.failures += 1;
        }
        let lost = state.problem.is_some() && state.closing;
        drop(state);
        self.flushed.notify_all();
        !lost
    }

    /// Records whether the writer is waiting for another process.
    pub(crate) fn set_lock_wait(&self, waiting: bool) {
        self.lock().lock_since = waiting.then(Instant::now);
    }

    /// Waits before a retry; a flush or close ends the wait early.
    pub(crate) fn wait_before_retry(&self, time: Duration) {
        let mut state = self.lock();
        let quiet = |state: &mut QueueState| !state.hurry && !state.closing;
        self.work.wait_while_for(&mut state, quiet, time);
        state.hurry = false;
    }
}
