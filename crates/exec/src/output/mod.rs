//! What a job has written: all of it, in little memory.
//!
//! A [`OutputLog`] takes the bytes as they come. Short output stays in memory; of
//! long output memory holds the beginning and the end, and a file holds the
//! whole. [`clean`] and [`OutputCleaner`] make readable text of what was meant for a
//! terminal.

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

/// Which of its two outputs a job wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// The standard output.
    Stdout,
    /// The standard error.
    Stderr,
}

/// Somebody who knows what must not lie on a disk.
pub trait OutputMask: std::fmt::Debug + Send + Sync {
    /// Puts other bytes in place of secrets, as many as there were.
    fn mask(&self, bytes: &mut [u8]);
}

/// Where a long log goes.
#[derive(Debug, Clone)]
pub struct SpillTarget {
    /// The folder, made for the user alone if it is not there.
    pub directory: PathBuf,
    /// The name of the file in it. If there is such a file already, it is left
    /// alone, and a number is added to the name.
    pub name: String,
    /// How many bytes of disk the file may take.
    pub max_bytes: u64,
    /// What takes secrets out of it.
    pub mask: Option<Arc<dyn OutputMask>>,
}

/// Bytes of a log as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    /// The bytes, one after the other in the log.
    pub bytes: Vec<u8>,
    /// Where they begin: later than asked for if what was there is lost.
    pub from: u64,
    /// Where the next piece begins.
    pub next: u64,
}

/// A log, or one stream of it, in as many bytes as there is room for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The text, cleaned. If it is cut, a line in the middle says so; the text
    /// before and after this line keeps to the budget.
    pub text: String,
    /// Whether something is left out.
    pub is_cut: bool,
    /// Whether there is no text in what was looked at: all of it, or the beginning
    /// and the end of what is too long for that.
    pub is_blank: bool,
    /// How many of the written bytes are left out.
    pub omitted_bytes: u64,
    /// How many lines end in what is left out.
    pub omitted_lines: u64,
    /// How many bytes were written.
    pub total_bytes: u64,
    /// How many lines were written.
    pub total_lines: u64,
}
