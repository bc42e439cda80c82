//! Bounds for what comes out of an archive, counted while it comes.

use std::cell::Cell;
use std::io::{self, Read};

use hermes_core::ToolError;

use crate::progress::ProgressTracker;

/// Levels of folders in a name.
pub(crate) const MAX_DIR_LEVELS: usize = 256;

/// How much may come out of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Bytes altogether.
    pub bytes: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes for each byte of the archive.
    pub ratio: u64,
    /// Bytes that may come out whatever the ratio.
    pub free_bytes: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { bytes: 2 << 30, entries: 100_000, ratio: 100, free_bytes: 10 << 20 }
    }
}

/// What has come out so far.
#[derive(Debug)]
pub(crate) struct UnpackBudget {
    limits: ArchiveLimits,
    /// Bytes of the archive.
    packed: u64,
    /// Bytes that were kept.
    bytes: Cell<u64>,
    /// Bytes that came out, kept or passed over.
    seen_bytes: Cell<u64>,
    entries: Cell<u64>,
}

impl UnpackBudget {
    pub(crate) fn new(limits: ArchiveLimits, packed: u64) -> Self {
        Self {
            limits,
            packed,
            bytes: Cell::new(0),
            seen_bytes: Cell::new(0),
            entries: Cell::new(0),
        }
    }

    /// Counts an entry.
    pub(crate) fn count_entry(&self) -> Result<(), ToolError> {
        self.count_entries(1)
    }

    /// Counts entries of which the archive tells how many they are, before any
    /// of them comes out.
    pub(crate) fn count_entries(&self, more: u64) -> Result<(), ToolError> {
        self.entries.set(self.entries.get().saturating_add(more));
        let most = self.limits.entries;
        if self.entries.get() <= most {
            return Ok(());
        }
        Err(ToolError::limit(format!(
            "The archive is over the limit of entries: there are more than {most}"
        ))
        .with_hint("That limit is fixed. Use a program made for it, such as tar, unzip or 7z."))
    }

    /// Counts bytes that are kept.
    pub(crate) fn spend(&self, bytes: u64) -> Result<(), ToolError> {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        let most = self.limits.bytes;
        if self.bytes.get() > most {
            return Err(ToolError::limit(format!(
                "The archive is over the limit of the total: more than {most} bytes come out of it"
            ))
            .with_hint(format!(
                "If that is meant, call again with a larger max_bytes (now {most}); or take a \
                 part of it with include."
            )));
        }
        self.pass_over(bytes)
    }

    /// Counts bytes that only stand in the way: a bomb that nobody wants is
    /// a bomb all the same.
    pub(crate) fn pass_over(&self, bytes: u64) -> Result<(), ToolError> {
        let all = self.seen_bytes.get().saturating_add(bytes);
        self.seen_bytes.set(all);
        let ArchiveLimits { ratio, free_bytes: free, .. } = self.limits;
        if all > free && all > self.packed.saturating_mul(ratio) {
            let packed = self.packed;
            return Err(ToolError::limit(format!(
                "The archive is over the limit of the ratio: more than {ratio} times its size \
                 comes out of it ({all} bytes so far, of {packed}); it may be a bomb"
            ))
            .with_hint(format!(
                "If it is trusted, call again with a larger max_ratio (now {ratio}); max_bytes \
                 still bounds the total."
            )));
        }
        Ok(())
    }
}

/// Content of an entry that is counted while it is read. An error is left
/// with the gauge, where it survives the libraries that pass it on.
pub(crate) struct BudgetedReader<'a, R> {
    pub(crate) inner: R,
    pub(crate) purpose: ReadPurpose,
    pub(crate) budget: &'a UnpackBudget,
    pub(crate) gauge: &'a ProgressTracker<'a>,
}

/// What content is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadPurpose {
    /// Somebody keeps it.
    Keep,
    /// It stands in the way.
    PassOver,
}

impl<R: Read> Read for BudgetedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.gauge.check()?;
        let read = self.inner.read(buffer)?;
        let counted = match self.purpose {
            ReadPurpose::Keep => self.budget.spend(read as u64),
            ReadPurpose::PassOver => self.budget.pass_over(read as u64),
        };
        counted.map_err(|error| self.gauge.stop(error))?;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
