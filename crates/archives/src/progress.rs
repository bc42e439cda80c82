//! Progress reports and cancellation.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use hermes_core::ToolError;

/// Bytes between two reports.
const PROGRESS_STEP_BYTES: u64 = 1 << 20;

/// Callbacks to observe and stop an operation.
#[derive(Clone, Copy)]
pub struct ProgressHooks<'a> {
    /// Whether the operation must stop; queried between chunks.
    pub stopped: &'a dyn Fn() -> bool,
    /// Receives the bytes done and the total.
    pub progress: &'a dyn Fn(u64, u64),
}

impl ProgressHooks<'_> {
    /// Hooks that do nothing.
    pub const NONE: ProgressHooks<'static> =
        ProgressHooks { stopped: &|| false, progress: &|_, _| {} };
}

impl fmt::Debug for ProgressHooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressHooks")
    }
}

/// State of one operation.
#[derive(Debug)]
pub(crate) struct ProgressTracker<'a> {
    oversight: ProgressHooks<'a>,
    total: u64,
    done: Cell<u64>,
    last_reported: Cell<u64>,
    /// Bytes that may be read before the allowance is renewed.
    read_allowance: Cell<u64>,
    stop_reason: RefCell<Option<ToolError>>,
}

impl<'a> ProgressTracker<'a> {
    pub(crate) fn new(oversight: ProgressHooks<'a>, total: u64) -> Self {
        Self {
            oversight,
            total,
            done: Cell::new(0),
            last_reported: Cell::new(0),
            read_allowance: Cell::new(u64::MAX),
            stop_reason: RefCell::new(None),
        }
    }

    /// Fails if the operation must stop.
    pub(crate) fn check(&self) -> io::Result<()> {
        if (self.oversight.stopped)() { Err(self.stop(ToolError::cancelled())) } else { Ok(()) }
    }

    /// Counts bytes done and reports progress.
    pub(crate) fn advance(&self, bytes: u64) {
        self.done.set(self.done.get().saturating_add(bytes));
        if self.done.get().saturating_sub(self.last_reported.get()) >= PROGRESS_STEP_BYTES {
            self.last_reported.set(self.done.get());
            (self.oversight.progress)(self.done.get().min(self.total), self.total);
        }
    }

    /// Stores the reason for stopping and returns an error to pass through
    /// libraries.
    pub(crate) fn stop(&self, reason: ToolError) -> io::Error {
        let text = reason.message().to_owned();
        self.stop_reason.borrow_mut().get_or_insert(reason);
        io::Error::other(text)
    }

    /// Returns the stored reason, or `other` if the operation failed for
    /// another one.
    pub(crate) fn stop_reason_or(&self, other: impl FnOnce() -> ToolError) -> ToolError {
        self.stop_reason.borrow_mut().take().unwrap_or_else(other)
    }

    /// Sets how many bytes may be read from a [`RationedReader`] from now on.
    pub(crate) fn set_allowance(&self, bytes: u64) {
        self.read_allowance.set(bytes);
    }
}

/// A reader that counts bytes and can be stopped.
#[derive(Debug)]
pub(crate) struct MeteredReader<'a, R> {
    pub(crate) inner: R,
    pub(crate) gauge: &'a ProgressTracker<'a>,
}

impl<R: Read> Read for MeteredReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.gauge.check()?;
        let read = self.inner.read(buffer)?;
        self.gauge.advance(read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for MeteredReader<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// A reader with a limited allowance: a header that claims to be long must not
/// exhaust memory.
#[derive(Debug)]
pub(crate) struct RationedReader<'a, R> {
    pub(crate) inner: R,
    pub(crate) gauge: &'a ProgressTracker<'a>,
}

impl<R: Read> Read for RationedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.gauge.read_allowance.get().checked_sub(read as u64).ok_or_else(|| {
            self.gauge
                .stop(ToolError::limit("The archive has a header that exceeds the size limit"))
        })?;
        self.gauge.read_allowance.set(left);
        Ok(read)
    }
}

impl<R: Seek> Seek for RationedReader<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
