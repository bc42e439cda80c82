//! Specification of a command to run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::Confinement;

/// Specification of a command to run.
#[derive(Debug)]
pub struct CommandSpec {
    /// A path, or a name to look up in the environment's `PATH`.
    pub program: OsString,
    /// The arguments, without the program.
    pub arguments: Vec<OsString>,
    /// The complete environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// Its standard input.
    pub input: StdinSource,
    /// Where its output goes.
    pub output: StdioMode,
    /// The sandbox rules; `None` for an unconfined command.
    pub confinement: Option<Arc<Confinement>>,
}

/// The source of a program's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinSource {
    /// No input.
    Empty,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// A pipe that is written while it runs.
    Pipe,
}

/// How a program's output streams are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioMode {
    /// Standard output and error in one pipe, in the order written.
    Merged,
    /// Standard output and error in separate pipes.
    Separate,
    /// A terminal, which is its input as well.
    Terminal(TerminalSize),
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Number of lines.
    pub rows: u16,
    /// Characters per line.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 30, columns: 120 }
    }
}
