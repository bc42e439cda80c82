//! The side of the log that callers see: a queue that never makes them wait.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use crate::error::LogError;
use crate::writer;

/// How long a log that is dropped waits for the disk.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// A wait for the lock that is longer than this is told.
const LONG_WAIT: Duration = Duration::from_secs(2);

/// What an entry costs beside its text.
const OVERHEAD: usize = 64;

/// The sizes of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A file that would grow beyond this is put aside, and a new one begun.
    pub rotate_bytes: u64,
    /// How many files put aside are kept, at least one.
    pub keep_files: usize,
    /// Whether to wait for the disk after every write. Entries then outlive
    /// a loss of power, at the price of some milliseconds each time.
    pub sync: bool,
    /// How many entries may wait for the disk; what comes then is only counted.
    pub queue_entries: usize,
    /// How much memory those may take.
    pub queue_bytes: usize,
}

impl Default for Options {
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

/// A log to append to. Several logs, of this process or of others, may share
/// a folder.
pub struct Log {
    shared: Arc<Shared>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

/// An entry on its way to the disk.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) time: SystemTime,
    /// One JSON value.
    pub(crate) text: Vec<u8>,
}

impl Pending {
    pub(crate) fn cost(&self) -> usize {
        self.text.len() + OVERHEAD
    }

    fn dropped(count: u64) -> Self {
        let text = format!("{{\"event\":\"dropped\",\"count\":{count}}}").into_bytes();
        Self { time: SystemTime::now(), text }
    }
}

/// What the callers and the writer have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    state: Mutex<State>,
    /// Work for the writer.
    work: Condvar,
    /// News for those who flush.
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Pending>,
    /// Entries that are queued or in the writer's hands, and their cost.
    waiting: usize,
    bytes: usize,
    /// Entries there was no room for, not yet told in the log.
    dropped: u64,
    appended: u64,
    written: u64,
    /// How often the writer has failed.
    failures: u64,
    problem: Option<String>,
    lock_since: Option<Instant>,
    running: bool,
    asleep: bool,
    hurry: bool,
    closing: bool,
}

impl State {
    fn push(&mut self, pending: Pending) {
        self.waiting += 1;
        self.bytes += pending.cost();
        self.appended += 1;
        self.queue.push_back(pending);
    }

    /// Puts the number of entries that were lost where they are missing.
    fn tell_dropped(&mut self) {
        if self.dropped > 0 {
            let count = std::mem::take(&mut self.dropped);
            self.push(Pending::dropped(count));
        }
    }
}

impl Log {
    /// The log in that folder. Nothing is made there before the first entry.
    pub fn open(folder: PathBuf) -> Self {
        Self::open_with(folder, Options::default())
    }

    /// [`Log::open`] with sizes of one's own.
    pub fn open_with(folder: PathBuf, options: Options) -> Self {
        let shared = Shared {
            folder,
            options,
            state: Mutex::default(),
            work: Condvar::new(),
            news: Condvar::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Hands an entry to the writer; it is on disk a little later. An entry
    /// should be an object; `seq`, `time`, `prev` and `hash` are the log's own
    /// fields, and an entry's of those names get a `_` before them.
    pub fn append(&self, entry: impl Serialize) {
        let time = SystemTime::now();
        let text = serde_json::to_vec(&entry).unwrap_or_else(|error| {
            let text = error.to_string();
            serde_json::json!({ "event": "unserializable", "why": text }).to_string().into_bytes()
        });
        let pending = Pending { time, text };
        let options = &self.shared.options;
        let mut state = self.shared.lock();
        let full = state.waiting >= options.queue_entries
            || state.bytes.saturating_add(pending.cost()) > options.queue_bytes;
        if full {
            state.dropped += 1;
        } else {
            state.tell_dropped();
            state.push(pending);
        }
        if !state.running {
            state.running = true;
            drop(state);
            self.start();
        } else if state.asleep {
            state.asleep = false;
            drop(state);
            self.shared.work.notify_one();
        }
    }

    fn start(&self) {
        let shared = Arc::clone(&self.shared);
        let started = thread::Builder::new().name("audit".into()).spawn(move || {
            let _end = End(&shared);
            writer::run(&shared);
        });
        if let Err(error) = started {
            let mut state = self.shared.lock();
            state.running = false;
            state.problem = Some(format!("its writer cannot be started: {error}"));
        }
    }

    /// Waits until everything appended so far is in the file. It is then safe
    /// from the death of this process; see [`Options::sync`] for more.
    pub fn flush(&self, wait: Duration) -> Result<(), LogError> {
        let until = Instant::now() + wait;
        let mut state = self.shared.lock();
        state.tell_dropped();
        let (target, failures) = (state.appended, state.failures);
        if state.written < target && !state.running {
            state.running = true;
            drop(state);
            self.start();
            state = self.shared.lock();
        }
        state.hurry = true;
        self.shared.work.notify_one();
        loop {
            if state.written >= target {
                return Ok(());
            }
            if state.failures > failures || !state.running {
                let why = state.problem.clone().unwrap_or_else(|| "its writer has ended".into());
                return Err(LogError::NotWritten { why });
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LogError::Timeout(wait));
            }
            let news = self.shared.news.wait_timeout(state, left);
            state = news.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Why the log cannot be written at present, in a sentence for the user.
    pub fn problem(&self) -> Option<String> {
        let state = self.shared.lock();
        if let Some(why) = &state.problem {
            return Some(format!("The audit log cannot be written: {why}"));
        }
        let waited = state.lock_since?.elapsed();
        (waited >= LONG_WAIT).then(|| {
            let seconds = waited.as_secs();
            format!("The audit log has been locked by another process for {seconds} s")
        })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let running = {
            let mut state = self.shared.lock();
            state.closing = true;
            state.running
        };
        if running {
            // Nobody is left to be told.
            let _ = self.flush(LAST_WAIT);
            self.shared.work.notify_one();
        }
    }
}

/// Notes the end of the writer, even by a panic.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().running = false;
        self.0.news.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for entries, then a moment more for those that come with them.
    /// Nothing is left and nothing will come if `batch` is empty afterwards.
    pub(crate) fn take(&self, batch: &mut VecDeque<Pending>, linger: Duration) {
        let mut state = self.lock();
        while state.queue.is_empty() && state.dropped == 0 {
            if state.closing {
                return;
            }
            state.asleep = true;
            state.hurry = false;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.asleep = false;
        let quiet = |state: &mut State| !state.hurry && !state.closing;
        let woken = self.work.wait_timeout_while(state, linger, quiet);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        state.hurry = false;
        state.tell_dropped();
        std::mem::swap(batch, &mut state.queue);
    }

    /// Tells how a write went that has taken `count` entries off the batch.
    /// Whether the writer shall go on.
    pub(crate) fn tell(&self, count: usize, bytes: usize, outcome: Result<(), LogError>) -> bool {
        let mut state = self.lock();
        state.waiting = state.waiting.saturating_sub(count);
        state.bytes = state.bytes.saturating_sub(bytes);
        state.written += count as u64;
        state.problem = outcome.err().map(|error| error.to_string());
        if state.problem.is_some() {
            state.failures += 1;
        }
        let lost = state.problem.is_some() && state.closing;
        drop(state);
        self.news.notify_all();
        !lost
    }

    /// Notes that the writer has to wait for another process, or no more.
    pub(crate) fn lock_wait(&self, waiting: bool) {
        self.lock().lock_since = waiting.then(Instant::now);
    }

    /// Waits before the next try, unless somebody is in a hurry.
    pub(crate) fn pause(&self, time: Duration) {
        let state = self.lock();
        let quiet = |state: &mut State| !state.hurry && !state.closing;
        let woken = self.work.wait_timeout_while(state, time, quiet);
        woken.unwrap_or_else(PoisonError::into_inner).0.hurry = false;
    }
}
