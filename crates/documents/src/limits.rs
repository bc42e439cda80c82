//! How far a document may go, and what is said when it goes further.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::ExtractedText;

/// Bounds on the work that one document may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Bytes of the document.
    pub file_bytes: u64,
    /// Bytes that may be unpacked from it, all parts together.
    pub unpacked_bytes: u64,
    /// How many times its packed size a part may have, once it is past 16 MiB.
    pub ratio: u64,
    /// How deep elements may be nested.
    pub depth: usize,
    /// Rows of a sheet that are shown.
    pub rows: usize,
    /// Columns of a sheet that are shown.
    pub columns: usize,
    /// Bytes of text that are kept.
    pub text_bytes: usize,
    /// How long a library may think.
    pub timeout: Duration,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            unpacked_bytes: 192 << 20,
            ratio: 200,
            depth: 1000,
            rows: 5000,
            columns: 256,
            text_bytes: 32 << 20,
            timeout: Duration::from_secs(20),
        }
    }
}

/// Why a document has no text to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is not what it says it is, or broken.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It would take more memory than it is worth.
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// It is locked with a password.
    #[error("it is protected with a password")]
    Protected,
    /// Reading it took too long and was given up.
    #[error("reading it took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    /// There is no thread for it: earlier documents are still being read.
    #[error("earlier documents that take too long are still being read")]
    Busy,
}

impl DocumentError {
    pub(crate) fn damaged(reason: impl std::fmt::Display) -> Self {
        Self::Damaged(reason.to_string())
    }
}

/// Takes off what is beyond the bound on text.
pub(crate) fn truncate_text(extracted: &mut ExtractedText, limits: &DocumentLimits) {
    if extracted.text.len() <= limits.text_bytes {
        return;
    }
    let end = extracted.text.floor_char_boundary(limits.text_bytes);
    let end = extracted.text.get(..end).and_then(|kept| kept.rfind('\n')).unwrap_or(end);
    extracted.text.truncate(end);
    extracted.notes.push(format!("Only the first {end} bytes of the text are shown."));
}

/// Tells a thread whether somebody still waits for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct AbandonSignal(Arc<AtomicU8>);

const STATE_RUNNING: u8 = 0;
const STATE_DONE: u8 = 1;
const STATE_ABANDONED: u8 = 2;

impl AbandonSignal {
    /// Whether nobody waits any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) == STATE_ABANDONED
    }

    fn swap_state(&self, state: u8) -> u8 {
        self.0.swap(state, Ordering::AcqRel)
    }
}

/// Threads that were given up and may still run.
static ABANDONED_THREADS: AtomicUsize = AtomicUsize::new(0);
/// How many of them there may be.
const MAX_ABANDONED_THREADS: usize = 3;
/// Libraries call themselves; the memory is only taken when it is used.
const READER_STACK_BYTES: usize = 128 << 20;

/// Runs `work` on a thread of its own and waits for it no longer than `time`.
/// A thread cannot be stopped from outside: `work` should look at the sign it
/// is handed. One that does not ends when it ends, and is counted until then.
pub(crate) fn run_with_timeout<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce(&AbandonSignal) -> Result<T, DocumentError> + Send + 'static,
) -> Result<T, DocumentError> {
    if ABANDONED_THREADS.load(Ordering::Acquire) >= MAX_ABANDONED_THREADS {
        return Err(DocumentError::Busy);
    }
    let sign = AbandonSignal::default();
    let inner = sign.clone();
    let (answer, waiting) = mpsc::sync_channel(1);
    let run = move || {
        let result = catch_panic(|| work(&inner));
        if inner.swap_state(STATE_DONE) == STATE_ABANDONED {
            ABANDONED_THREADS.fetch_sub(1, Ordering::AcqRel);
        }
        // Nobody listens once the answer is late.
        let _ = answer.send(result);
    };
    thread::Builder::new()
        .name("document".to_owned())
        .stack_size(READER_STACK_BYTES)
        .spawn(run)
        .map_err(|_| DocumentError::Busy)?;
    waiting.recv_timeout(time).unwrap_or_else(|_| {
        ABANDONED_THREADS.fetch_add(1, Ordering::AcqRel);
        if sign.swap_state(STATE_ABANDONED) != STATE_RUNNING {
            ABANDONED_THREADS.fetch_sub(1, Ordering::AcqRel);
        }
        Err(DocumentError::TooSlow(time))
    })
}

/// Runs `work`; a panic in it is an error.
pub(crate) fn catch_panic<T>(
    work: impl FnOnce() -> Result<T, DocumentError>,
) -> Result<T, DocumentError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        Err(DocumentError::Damaged(format!("a reader gave up on it ({reason})")))
    })
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
