//! What to run in a sandbox, in a form that can be read as well as written.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// What a standard stream of a child may be.
#[cfg(unix)]
pub type StdioHandle = std::os::fd::OwnedFd;
/// What a standard stream of a child may be.
#[cfg(windows)]
pub type Stream = std::os::windows::io::OwnedHandle;

/// Where the child stands among processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProcessGroup {
    /// In the group of the parent.
    #[default]
    Inherit,
    /// At the head of a new group.
    New,
    /// At the head of a new session.
    NewSession,
    /// At the head of a new session, with its standard input as the terminal.
    NewTerminalSession,
}

/// What to run, and how.
#[derive(Debug)]
pub struct LaunchSpec {
    /// A path, or a name to look for in the `PATH` of the environment.
    pub program: OsString,
    /// The arguments, without the program.
    pub arguments: Vec<OsString>,
    /// A program and its arguments that come to the same, for less: it is run
    /// instead, unless that fails. Bubblewrap passes it over.
    pub shortcut: Option<Vec<OsString>>,
    /// The whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// Standard input; nothing to read if none.
    pub stdin: Option<StdioHandle>,
    /// Standard output; thrown away if none.
    pub stdout: Option<StdioHandle>,
    /// Standard error; thrown away if none.
    pub stderr: Option<StdioHandle>,
    /// Where it stands among processes.
    pub group: ProcessGroup,
}

impl LaunchSpec {
    /// Program, arguments, environment and working directory of a command.
    /// What else it says, a command does not tell.
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

/// The environment that the command would give its child.
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

/// Whether the environment of the parent is left behind. The library tells it
/// in no other way than in the text that it prints.
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
