//! Limits on extraction, and the errors when a document exceeds them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::ExtractedText;

/// Limits on the work that one document may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Maximum size of the document.
    pub file_bytes: u64,
    /// Maximum bytes unpacked from it, all parts together.
    pub unpacked_bytes: u64,
    /// Maximum compression ratio of a part larger than 16 MiB.
    pub ratio: u64,
    /// Maximum nesting depth of elements.
    pub depth: usize,
    /// Maximum rows shown per sheet.
    pub rows: usize,
    /// Maximum columns shown per sheet.
    pub columns: usize,
    /// Maximum bytes of extracted text.
    pub text_bytes: usize,
    /// Timeout of a library.
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

/// Why no text could be extracted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The document is damaged or of another format.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It exceeds a limit on size or memory.
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// It is password-protected.
    #[error("it is password-protected")]
    Protected,
    /// Extraction timed out.
    #[error("extracting its text took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    /// Too many threads are still busy with earlier documents.
    #[error("earlier documents that timed out are still being read")]
    Busy,
}

impl DocumentError {
    pub(crate) fn damaged(reason: impl std::fmt::Display) -> Self {
        Self::Damaged(reason.to_string())
    }
}

/// Truncates the text to the limit.
pub(crate) fn truncate_text(extracted: &mut ExtractedText, limits: &DocumentLimits) {
    if extracted.text.len() <= limits.text_bytes {
        return;
    }
    let end = extracted.text.floor_char_boundary(limits.text_bytes);
    let end = extracted.text.get(..end).and_then(|kept| kept.rfind('\n')).unwrap_or(end);
    extracted.text.truncate(end);
    extracted.notes.push(format!("Only the first {end} bytes of the text are shown."));
}

/// Signals to a thread that its result is no longer wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct AbandonSignal(Arc<AtomicU8>);

const STATE_RUNNING: u8 = 0;
const STATE_DONE: u8 = 1;
const STATE_ABANDONED: u8 = 2;

impl AbandonSignal {
    /// Whether the caller stopped waiting.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) == STATE_ABANDONED
    }

    fn swap_state(&self, state: u8) -> u8 {
        self.0.swap(state, Ordering::AcqRel)
    }
}

/// Threads that were abandoned and may still run.
static ABANDONED_THREADS: AtomicUsize = AtomicUsize::new(0);
/// Maximum number of abandoned threads.
const MAX_ABANDONED_THREADS: usize = 3;
/// The libraries recurse deeply; untouched stack pages cost no memory.
const READER_STACK_BYTES: usize = 128 << 20;

/// Runs `work` on a separate thread and waits at most `time`. A thread cannot
/// be killed, so `work` should check the signal it gets. An abandoned thread is
/// counted until it ends.
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
        // The receiver is gone after a timeout.
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

/// Runs `work`; a panic becomes an error.
pub(crate) fn catch_panic<T>(
    work: impl FnOnce() -> Result<T, DocumentError>,
) -> Result<T, DocumentError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        Err(DocumentError::Damaged(format!("its parser crashed ({reason})")))
    })
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
