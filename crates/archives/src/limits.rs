//! Limits on unpacked data, enforced while it is read.

use std::cell::Cell;
use std::io::{self, Read};

use hermes_core::ToolError;

use crate::progress::ProgressTracker;

/// Maximum directory levels of a name.
pub(crate) const MAX_DIR_LEVELS: usize = 256;

/// Limits on what is unpacked from an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Maximum total bytes.
    pub bytes: u64,
    /// Maximum entries.
    pub entries: u64,
    /// Maximum ratio of unpacked to packed bytes.
    pub ratio: u64,
    /// Bytes allowed regardless of the ratio.
    pub free_bytes: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { bytes: 2 << 30, entries: 100_000, ratio: 100, free_bytes: 10 << 20 }
    }
}

/// Unpacked data counted against the limits.
#[derive(Debug)]
pub(crate) struct UnpackBudget {
    limits: ArchiveLimits,
    /// Size of the archive in bytes.
    packed: u64,
    /// Bytes that are kept.
    bytes: Cell<u64>,
    /// Bytes unpacked, kept or skipped.
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

    /// Counts entries announced by the archive, before any is unpacked.
    pub(crate) fn count_entries(&self, more: u64) -> Result<(), ToolError> {
        self.entries.set(self.entries.get().saturating_add(more));
        let most = self.limits.entries;
        if self.entries.get() <= most {
            return Ok(());
        }
        Err(ToolError::limit(format!(
            "The archive exceeds the entry limit: it has more than {most} entries"
        ))
        .with_hint("The limit is fixed. Use a program such as tar, unzip or 7z."))
    }

    /// Counts bytes that are kept.
    pub(crate) fn spend(&self, bytes: u64) -> Result<(), ToolError> {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        let most = self.limits.bytes;
        if self.bytes.get() > most {
            return Err(ToolError::limit(format!(
                "The archive exceeds the size limit: it unpacks to more than {most} bytes"
            ))
            .with_hint(format!(
                "If this is intended, retry with a larger max_bytes (now {most}), or unpack a \
                 part of it with include."
            )));
        }
        self.pass_over(bytes)
    }

    /// Counts skipped bytes: decompressing a bomb is costly even if the data is
    /// discarded.
    pub(crate) fn pass_over(&self, bytes: u64) -> Result<(), ToolError> {
        let all = self.seen_bytes.get().saturating_add(bytes);
        self.seen_bytes.set(all);
        let ArchiveLimits { ratio, free_bytes: free, .. } = self.limits;
        if all > free && all > self.packed.saturating_mul(ratio) {
            let packed = self.packed;
            return Err(ToolError::limit(format!(
                "The archive exceeds the ratio limit: it unpacks to more than {ratio} times \
                 its size ({all} bytes so far, from {packed}); it may be a decompression bomb"
            ))
            .with_hint(format!(
                "If the archive is trusted, retry with a larger max_ratio (now {ratio}); \
                 max_bytes still limits the total."
            )));
        }
        Ok(())
    }
}

/// Counts an entry's content while it is read. An error is stored in the
/// tracker, so libraries on the way cannot lose it.
pub(crate) struct BudgetedReader<'a, R> {
    pub(crate) inner: R,
    pub(crate) purpose: ReadPurpose,
    pub(crate) budget: &'a UnpackBudget,
    pub(crate) gauge: &'a ProgressTracker<'a>,
}

/// Purpose of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadPurpose {
    /// The content is kept.
    Keep,
    /// The content is skipped.
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
