//! A registered job, and how much of it its session has seen.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_core::NoticeSink;
use parking_lot::{Mutex, MutexGuard};

use crate::job::Job;
use crate::output::{OutputCleaner, OutputLog, OutputMask};

/// Upper bound on the length of a secret.
const MAX_SECRET_BYTES: u64 = 4096;

/// Above this much unread output, only the last part is returned.
const MAX_BACKLOG_BYTES: u64 = 1 << 20;

/// An unfinished line is held back until nothing has been written for this
/// long.
const PARTIAL_LINE_DELAY: Duration = Duration::from_millis(200);

/// A registered job.
pub struct JobHandle {
    /// The job.
    pub job: Arc<Job>,
    /// The session that it belongs to.
    pub session: String,
    /// Its working directory.
    pub directory: PathBuf,
    /// Whether it outlives this process.
    pub detached: bool,
    output_cursor: Mutex<OutputCursor>,
    /// Whether its session knows that it has ended.
    end_acknowledged: AtomicBool,
    /// Why we terminated it.
    end_reason: OnceLock<&'static str>,
    notices: OnceLock<Arc<dyn NoticeSink>>,
    /// The call that started it, if another tool made that call.
    parent_call: OnceLock<Arc<str>>,
    /// Masks secrets in the output.
    mask: Option<Arc<dyn OutputMask>>,
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle")
            .field("job", &self.job)
            .field("session", &self.session)
            .field("detached", &self.detached)
            .finish_non_exhaustive()
    }
}

/// How much of a job's output was already returned.
#[derive(Debug, Default)]
struct OutputCursor {
    offset: u64,
    cleaner: OutputCleaner,
}

/// What happens to a last line without its end.
#[derive(Debug, Clone, Copy)]
enum PartialLine {
    Return,
    HoldBack,
    /// Held back only if more of it is in the log.
    HoldBackIfCut,
}

/// New output of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutput {
    /// The text.
    pub text: String,
    /// Bytes left out because there were too many.
    pub skipped: u64,
    /// Bytes after it that were not returned yet.
    pub remaining: u64,
}

impl JobHandle {
    pub(crate) fn new(job: Arc<Job>, session: &str, directory: PathBuf, detached: bool) -> Self {
        Self {
            job,
            session: session.to_owned(),
            directory,
            detached,
            output_cursor: Mutex::default(),
            end_acknowledged: AtomicBool::new(false),
            end_reason: OnceLock::new(),
            notices: OnceLock::new(),
            parent_call: OnceLock::new(),
            mask: None,
        }
    }

    /// Sets the mask for secrets.
    pub(crate) fn with_mask(mut self, mask: Option<Arc<dyn OutputMask>>) -> Self {
        self.mask = mask;
        self
    }

    /// Sets where notices for its session go.
    pub(crate) fn set_notices(&self, notices: Arc<dyn NoticeSink>) {
        let _ = self.notices.set(notices);
    }

    /// Returns the output since the last call: at most the last `most` bytes of
    /// it.
    pub fn new_output(&self, most: usize) -> NewOutput {
        let mut shown = self.output_cursor();
        let start = shown.offset.max(self.job.log().len().saturating_sub(most as u64));
        self.output_from(&mut shown, start, most, PartialLine::Return)
    }

    /// Returns the output that follows what was returned: the first `most`
    /// bytes of it, or the last if far too much has accumulated. While output
    /// arrives, an unfinished last line is left for a later call.
    pub fn next_output(&self, most: usize) -> NewOutput {
        let mut shown = self.output_cursor();
        // Before the output is read: what it wrote before its end is complete.
        let is_writing = self.job.ended().is_none() && self.job.silent_for() < PARTIAL_LINE_DELAY;
        let partial_line =
            if is_writing { PartialLine::HoldBack } else { PartialLine::HoldBackIfCut };
        let len = self.job.log().len();
        let start = match len.saturating_sub(shown.offset) > MAX_BACKLOG_BYTES {
            true => shown.offset.max(len.saturating_sub(most as u64)),
            false => shown.offset,
        };
        self.output_from(&mut shown, start, most, partial_line)
    }

    fn output_from(
        &self,
        shown: &mut OutputCursor,
        start: u64,
        most: usize,
        partial_line: PartialLine,
    ) -> NewOutput {
        let log = self.job.log();
        let skipped = start - shown.offset;
        if skipped > 0 {
            shown.cleaner = OutputCleaner::default();
        }
        let mut piece = log.read_from(start, most);
        self.mask_partial_secret(&log, piece.from, &mut piece.bytes);
        let whole = memchr::memrchr(b'\n', &piece.bytes).map_or(0, |at| at + 1);
        let (partial, end) = (piece.bytes.len() - whole, piece.next);
        let hold_back = match partial_line {
            PartialLine::Return => false,
            PartialLine::HoldBack => true,
            PartialLine::HoldBackIfCut => end < log.len(),
        };
        if hold_back && partial < most {
            piece.bytes.truncate(whole);
            piece.next -= partial as u64;
        }
        let mut text = shown.cleaner.feed(&piece.bytes);
        // A prompt has no newline.
        text.push_str(&shown.cleaner.flush());
        shown.offset = piece.next;
        NewOutput {
            text,
            skipped: skipped + piece.from.saturating_sub(start),
            remaining: log.len().saturating_sub(end),
        }
    }

    /// Masks the rest of a secret that began in output returned earlier, since
    /// the rest alone would not be recognized.
    fn mask_partial_secret(&self, log: &OutputLog, from: u64, news: &mut [u8]) {
        let Some(mask) = self.mask.as_ref().filter(|_| from > 0 && !news.is_empty()) else {
            return;
        };
        let known = log.read_from(
            from.saturating_sub(MAX_SECRET_BYTES),
            usize::try_from(from.min(MAX_SECRET_BYTES)).unwrap_or(0),
        );
        if known.next != from {
            return;
        }
        let mut masked = [known.bytes.as_slice(), news].concat();
        mask.mask(&mut masked);
        let (before, after) = masked.split_at(known.bytes.len());
        if before.last() == known.bytes.last() {
            return;
        }
        let rest = after.iter().take_while(|byte| **byte == b'*').count();
        news.iter_mut().take(rest).for_each(|byte| *byte = b'*');
    }

    /// Marks the first `bytes` bytes of the output as returned by other means,
    /// except for an incomplete character or escape sequence at their end.
    pub fn mark_read(&self, bytes: u64) {
        let mut shown = self.output_cursor();
        shown.offset = bytes;
        shown.cleaner = self.job.log().cleaner_at(bytes);
    }

    /// Records the nested call that started it, such as a call made by a
    /// script.
    pub fn set_parent_call(&self, call: &Arc<str>) {
        let _ = self.parent_call.set(Arc::clone(call));
    }

    /// Whether a call nested in this one started it.
    pub(crate) fn was_started_by(&self, call: &str) -> bool {
        let inner = self.parent_call.get().and_then(|inner| inner.strip_prefix(call));
        inner.is_some_and(|rest| rest.starts_with('.'))
    }

    /// Notes that its session knows of its end, and withdraws the notice.
    pub fn acknowledge_end(&self) {
        self.end_acknowledged.store(true, Ordering::SeqCst);
        if let Some(notices) = self.notices.get() {
            notices.withdraw_completion(&self.session, &self.job.id);
        }
    }

    pub(crate) fn is_end_acknowledged(&self) -> bool {
        self.end_acknowledged.load(Ordering::SeqCst)
    }

    /// Returns why we terminated it: `killed` on request, otherwise
    /// `inactivity`.
    pub fn end_reason(&self) -> Option<&'static str> {
        self.end_reason.get().copied()
    }

    /// Records that its termination was requested.
    pub fn mark_killed(&self) {
        self.set_end_reason("killed");
    }

    pub(crate) fn set_end_reason(&self, reason: &'static str) {
        let _ = self.end_reason.set(reason);
    }

    fn output_cursor(&self) -> MutexGuard<'_, OutputCursor> {
        self.output_cursor.lock()
    }
}

#[cfg(test)]
#[path = "job_handle_tests.rs"]
mod tests;
