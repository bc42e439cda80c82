//! The complete output of a job in little memory.
//!
//! An [`OutputLog`] takes the bytes as they arrive. Short output stays in
//! memory. Of long output, memory holds both ends and a file holds everything.
//! [`clean`] and [`OutputCleaner`] convert terminal output into readable text.

mod clean;
mod line;
mod line_index;
mod log;
mod page;
mod runs;
mod spill_file;
mod summary;

#[cfg(test)]
mod speed_tests;

use std::path::PathBuf;
use std::sync::Arc;

pub use clean::{OutputCleaner, clean};
pub use log::OutputLog;

/// The stream a job wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Masks secrets before they are written to disk.
pub trait OutputMask: std::fmt::Debug + Send + Sync {
    /// Overwrites secrets in place, keeping the length.
    fn mask(&self, bytes: &mut [u8]);
}

/// Where a long log is spilled.
#[derive(Debug, Clone)]
pub struct SpillTarget {
    /// The directory; created with access for the user only if it does not
    /// exist.
    pub directory: PathBuf,
    /// The file name. If the file exists, it is left alone and a number is
    /// appended to the name.
    pub name: String,
    /// Maximum size of the file in bytes.
    pub max_bytes: u64,
    /// Masks secrets in the file.
    pub mask: Option<Arc<dyn OutputMask>>,
}

/// Raw bytes of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    /// The contiguous bytes.
    pub bytes: Vec<u8>,
    /// Their offset, which is later than requested if bytes there are lost.
    pub from: u64,
    /// The offset of the next chunk.
    pub next: u64,
}

/// A log, or one stream of it, that fits a byte budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The cleaned text. If it is truncated, a line in the middle says so; the
    /// text around that line keeps to the budget.
    pub text: String,
    /// Whether text is omitted.
    pub is_cut: bool,
    /// Whether the inspected bytes contain no text: all of them, or both ends
    /// of a log that is too long.
    pub is_blank: bool,
    /// The number of raw bytes omitted.
    pub omitted_bytes: u64,
    /// The number of newlines in the omitted bytes.
    pub omitted_lines: u64,
    /// The number of bytes written.
    pub total_bytes: u64,
    /// The number of lines written.
    pub total_lines: u64,
}
