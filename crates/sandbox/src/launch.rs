//! What to run in a sandbox, as plain data.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Handle for a standard stream of a child.
pub type StdioHandle = std::os::fd::OwnedFd;

/// Process group of a child.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProcessGroup {
    /// The group of the parent.
    #[default]
    Inherit,
    /// A new group, led by the child.
    New,
    /// A new session, led by the child.
    NewSession,
    /// A new session, led by the child, with stdin as its controlling terminal.
    NewTerminalSession,
}

/// What to run, and how.
#[derive(Debug)]
pub struct LaunchSpec {
    /// A path, or a name to look up in the `PATH` of the environment.
    pub program: OsString,
    /// The arguments, without the program.
    pub arguments: Vec<OsString>,
    /// An equivalent but cheaper program with its arguments. It is tried first,
    /// with the regular program as fallback. Bubblewrap ignores it.
    pub shortcut: Option<Vec<OsString>>,
    /// The complete environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// Standard input; empty if `None`.
    pub stdin: Option<StdioHandle>,
    /// Standard output; discarded if `None`.
    pub stdout: Option<StdioHandle>,
    /// Standard error; discarded if `None`.
    pub stderr: Option<StdioHandle>,
    /// Process group of the child.
    pub group: ProcessGroup,
}

impl LaunchSpec {
    /// Copies program, arguments, environment and working directory of a
    /// command. `Command` does not expose its other settings.
    pub fn from_command(command: &Command) -> io::Result<Self> {
        let directory = match command.get_current_dir() {
            Some(directory) if directory.is_absolute() => directory.to_owned(),
            Some(directory) => env::current_dir()?.join(directory),
            None => env::current_dir()?,
        };
        Ok(Self {
            program: command.get_program().to_owned(),
            arguments: command.get_args().map(OsStr::to_owned).collect(),
            shortcut: None,
            environment: environment(command),
            directory,
            stdin: None,
            stdout: None,
            stderr: None,
            group: ProcessGroup::Inherit,
        })
    }
}

/// Returns the environment that the command would give its child.
fn environment(command: &Command) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> =
        if is_env_cleared(command) { BTreeMap::new() } else { env::vars_os().collect() };
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    variables
}

/// Whether the command clears the parent's environment. Only its `Debug` output
/// shows that.
fn is_env_cleared(command: &Command) -> bool {
    let text = format!("{command:?}");
    let rest = match command.get_current_dir() {
        Some(directory) => text.strip_prefix(&format!("cd {directory:?} && ")).unwrap_or(&text),
        None => &text,
    };
    rest.starts_with("env -i ")
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
