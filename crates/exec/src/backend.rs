//! The contract of execution backends.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};

use crate::command_spec::{CommandSpec, TerminalSize};
use crate::containment::JobContainment;
use crate::network::NetworkTable;
use crate::output::OutputStream;
use crate::tree::{JobRoot, Signal};

/// An environment in which programs run: this machine, a container, another host.
///
/// A backend reports what it cannot do. It never silently does less, and never runs a
/// program a second time on its own.
pub trait ExecBackend: Debug + Send + Sync {
    /// The backend's name in the configuration.
    fn name(&self) -> &str;

    /// Identifies this backend among others of the same name.
    fn location(&self) -> String {
        self.name().to_owned()
    }

    /// Whether programs run on this machine, with its files.
    fn is_local(&self) -> bool {
        false
    }

    /// Connects if necessary and returns the facts about the host.
    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>>;

    /// Starts a program. All its processes carry the job's id.
    fn start<'a>(
        &'a self,
        job: &'a str,
        spec: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>>;

    /// Ends helper processes and whatever programs left running.
    fn cleanup(&self) -> BoxFuture<'_, ()>;

    /// The networks of the sessions, if the backend has any.
    fn networks(&self) -> Option<&Arc<NetworkTable>> {
        None
    }

    /// Takes the pending notice about the backend, such as that it was cleaned up. Each
    /// notice is returned once.
    fn take_notice(&self) -> Option<String> {
        None
    }
}

/// Facts about the host where programs run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// The directory in which a session starts.
    pub directory: PathBuf,
    /// The environment of programs there.
    pub environment: BTreeMap<OsString, OsString>,
    /// The shell that runs commands.
    pub shell: ShellKind,
    /// System and machine, as printed by `uname -sm`.
    pub system: String,
}

/// The kind of shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellKind {
    Bash,
    /// An unknown POSIX `sh`.
    Posix,
}

impl HostFacts {
    /// The user's home directory on the host.
    pub fn home(&self) -> Option<&Path> {
        self.environment.get(OsStr::new("HOME")).map(Path::new)
    }
}

/// A program that was started.
#[derive(Debug)]
pub struct SpawnedProcess {
    /// Its process id, if it runs on this machine.
    pub pid: Option<u32>,
    /// Its output streams; a terminal has one.
    pub output: Vec<(OutputStream, OwnedFd)>,
    /// Its standard input, if open.
    pub input: Option<OwnedFd>,
    /// Controls the process.
    pub control: Box<dyn ProcessControl>,
    /// What confines it; `None` if it is unconfined.
    pub containment: Option<Arc<JobContainment>>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// Exited with this code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl ProcessExit {
    /// The exit code that a shell would report.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// What a silent program waits for, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputWait {
    /// Not for user input.
    NotWaiting,
    /// Checks for keys now and then, and continues without them.
    Polling,
    /// Blocked until the user types.
    Blocked,
}

/// Controls a running program.
pub trait ProcessControl: Debug + Send + Sync {
    /// Its first process, if it runs on this machine.
    fn root(&self) -> Option<&JobRoot> {
        None
    }

    /// Waits until it ends.
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>>;

    /// Ends it and everything it started: SIGTERM first, SIGKILL after `grace`.
    fn terminate(&self, grace: Duration) -> BoxFuture<'_, ()>;

    /// Stops waiting for it; ends its local client process at once.
    fn abandon(&self) {}

    /// Whether it is known to have ended, before `wait` has returned.
    fn has_exited(&self) -> bool {
        false
    }

    /// Called after its end: whether a process that it started still runs. If the check
    /// is expensive, it is made only if `is_likely`.
    fn has_descendants(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        let _ = is_likely;
        Box::pin(async { false })
    }

    /// Called after its end: waits until everything it started has ended.
    fn wait_for_descendants(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Sends a signal to it and everything it started; returns the number of processes.
    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize>;

    /// What the program is known to wait for.
    fn input_wait(&self) -> BoxFuture<'_, InputWait>;

    /// Changes the size of its terminal.
    fn resize(&self, size: TerminalSize) -> io::Result<()>;
}
