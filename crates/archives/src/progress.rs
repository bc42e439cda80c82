//! Where the work is: told to whoever watches, who may stop it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use hermes_core::ToolError;

/// Bytes between two reports.
const PROGRESS_STEP_BYTES: u64 = 1 << 20;

/// Somebody who watches the work and may stop it.
#[derive(Clone, Copy)]
pub struct ProgressHooks<'a> {
    /// Whether it must stop; asked between chunks.
    pub stopped: &'a dyn Fn() -> bool,
    /// Told how many bytes are done, and of how many.
    pub progress: &'a dyn Fn(u64, u64),
}

impl ProgressHooks<'_> {
    /// Nobody.
    pub const NONE: ProgressHooks<'static> =
        ProgressHooks { stopped: &|| false, progress: &|_, _| {} };
}

impl fmt::Debug for ProgressHooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oversight")
    }
}

/// The state of one piece of work.
#[derive(Debug)]
pub(crate) struct ProgressTracker<'a> {
    oversight: ProgressHooks<'a>,
    total: u64,
    done: Cell<u64>,
    last_reported: Cell<u64>,
    /// Bytes that may still be read before somebody says more.
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

    /// An error if the work must stop.
    pub(crate) fn check(&self) -> io::Result<()> {
        if (self.oversight.stopped)() { Err(self.stop(ToolError::cancelled())) } else { Ok(()) }
    }

    /// Counts what is done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.done.set(self.done.get().saturating_add(bytes));
        if self.done.get().saturating_sub(self.last_reported.get()) >= PROGRESS_STEP_BYTES {
            self.last_reported.set(self.done.get());
            (self.oversight.progress)(self.done.get().min(self.total), self.total);
        }
    }

    /// Keeps the reason for which the work ends, and gives an error for the
    /// libraries on the way out.
    pub(crate) fn stop(&self, reason: ToolError) -> io::Error {
        let text = reason.message().to_owned();
        self.stop_reason.borrow_mut().get_or_insert(reason);
        io::Error::other(text)
    }

    /// The reason that was kept, or `other` if the work failed by itself.
    pub(crate) fn stop_reason_or(&self, other: impl FnOnce() -> ToolError) -> ToolError {
        self.stop_reason.borrow_mut().take().unwrap_or_else(other)
    }

    /// How many bytes may be read from a [`RationedReader`] stream from now on.
    pub(crate) fn set_allowance(&self, bytes: u64) {
        self.read_allowance.set(bytes);
    }
}

/// A file whose reading is counted and can be stopped.
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

/// A stream of which only so much may be read at a time: a header that
/// claims to be long must not fill the memory.
#[derive(Debug)]
pub(crate) struct RationedReader<'a, R> {
    pub(crate) inner: R,
    pub(crate) gauge: &'a ProgressTracker<'a>,
}

impl<R: Read> Read for RationedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.gauge.read_allowance.get().checked_sub(read as u64).ok_or_else(|| {
            self.gauge.stop(ToolError::limit("A header of the archive is too long to be honest"))
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
