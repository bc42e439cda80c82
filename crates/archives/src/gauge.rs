//! Where the work is: told to whoever watches, who may stop it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use hermes_core::ToolError;

/// Bytes between two reports.
const STEP: u64 = 1 << 20;

/// Somebody who watches the work and may stop it.
#[derive(Clone, Copy)]
pub struct Oversight<'a> {
    /// Whether it must stop; asked between chunks.
    pub stopped: &'a dyn Fn() -> bool,
    /// Told how many bytes are done, and of how many.
    pub progress: &'a dyn Fn(u64, u64),
}

impl Oversight<'_> {
    /// Nobody.
    pub const NONE: Oversight<'static> = Oversight { stopped: &|| false, progress: &|_, _| {} };
}

impl fmt::Debug for Oversight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oversight")
    }
}

/// The state of one piece of work.
#[derive(Debug)]
pub(crate) struct Gauge<'a> {
    oversight: Oversight<'a>,
    total: u64,
    done: Cell<u64>,
    told: Cell<u64>,
    /// Bytes that may still be read before somebody says more.
    allowance: Cell<u64>,
    trouble: RefCell<Option<ToolError>>,
}

impl<'a> Gauge<'a> {
    pub(crate) fn new(oversight: Oversight<'a>, total: u64) -> Self {
        Self {
            oversight,
            total,
            done: Cell::new(0),
            told: Cell::new(0),
            allowance: Cell::new(u64::MAX),
            trouble: RefCell::new(None),
        }
    }

    /// An error if the work must stop.
    pub(crate) fn check(&self) -> io::Result<()> {
        if (self.oversight.stopped)() { Err(self.stop(ToolError::cancelled())) } else { Ok(()) }
    }

    /// Counts what is done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.done.set(self.done.get().saturating_add(bytes));
        if self.done.get().saturating_sub(self.told.get()) >= STEP {
            self.told.set(self.done.get());
            (self.oversight.progress)(self.done.get().min(self.total), self.total);
        }
    }

    /// Keeps the reason for which the work ends, and gives an error for the
    /// libraries on the way out.
    pub(crate) fn stop(&self, reason: ToolError) -> io::Error {
        let text = reason.message().to_owned();
        self.trouble.borrow_mut().get_or_insert(reason);
        io::Error::other(text)
    }

    /// The reason that was kept, or `other` if the work failed by itself.
    pub(crate) fn reason(&self, other: impl FnOnce() -> ToolError) -> ToolError {
        self.trouble.borrow_mut().take().unwrap_or_else(other)
    }

    /// How many bytes may be read from a [`Rationed`] stream from now on.
    pub(crate) fn allow(&self, bytes: u64) {
        self.allowance.set(bytes);
    }
}

/// A file whose reading is counted and can be stopped.
#[derive(Debug)]
pub(crate) struct Metered<'a, R> {
    pub(crate) inner: R,
    pub(crate) gauge: &'a Gauge<'a>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.gauge.check()?;
        let read = self.inner.read(buffer)?;
        self.gauge.advance(read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Metered<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// A stream of which only so much may be read at a time: a header that
/// claims to be long must not fill the memory.
#[derive(Debug)]
pub(crate) struct Rationed<'a, R> {
    pub(crate) inner: R,
    pub(crate) gauge: &'a Gauge<'a>,
}

impl<R: Read> Read for Rationed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.gauge.allowance.get().checked_sub(read as u64).ok_or_else(|| {
            self.gauge.stop(ToolError::limit("A header of the archive is too long to be honest"))
        })?;
        self.gauge.allowance.set(left);
        Ok(read)
    }
}

impl<R: Seek> Seek for Rationed<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
