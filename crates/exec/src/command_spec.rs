//! What is to be run, and how.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::Confinement;

/// What is to be run.
#[derive(Debug)]
pub struct CommandSpec {
    /// A path, or a name to look for in the `PATH` of the environment.
    pub program: OsString,
    /// The arguments, without the program.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working folder.
    pub directory: PathBuf,
    /// What it can read.
    pub input: StdinSource,
    /// Where it writes.
    pub output: StdioMode,
    /// What holds it; none if nothing does.
    pub confinement: Option<Arc<Confinement>>,
}

/// What a program can read from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinSource {
    /// Nothing.
    Empty,
    /// This, and then no more.
    Bytes(Vec<u8>),
    /// Whatever it is sent while it runs.
    Pipe,
}

/// Where a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioMode {
    /// Output and errors into one pipe, in the order in which they come.
    Merged,
    /// Output and errors apart.
    Separate,
    /// A terminal, which is its input as well.
    Terminal(TerminalSize),
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many lines.
    pub rows: u16,
    /// How many characters in a line.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 30, columns: 120 }
    }
}
