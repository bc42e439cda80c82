//! The contract of a place where programs run.

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

/// A place where programs run: this machine, a container, another host.
///
/// A backend that cannot do what it is asked says so; it never does less in
/// silence, and never runs a program a second time by itself.
pub trait ExecBackend: Debug + Send + Sync {
    /// Its name, as in the configuration.
    fn name(&self) -> &str;

    /// Which of the places of this name it is.
    fn location(&self) -> String {
        self.name().to_owned()
    }

    /// Whether it is this machine, with its files.
    fn is_local(&self) -> bool {
        false
    }

    /// Opens it, if it is not open, and says what is found there.
    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>>;

    /// Starts a program. The id of the job is known to all its processes.
    fn start<'a>(
        &'a self,
        job: &'a str,
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>>;

    /// Ends what it keeps going between programs, and what they have left there.
    fn cleanup(&self) -> BoxFuture<'_, ()>;

    /// The networks of the sessions whose programs it starts, if they have some.
    fn networks(&self) -> Option<&Arc<NetworkTable>> {
        None
    }

    /// What nobody has heard yet of what has happened to the place, as when it
    /// was cleaned up; it is told once.
    fn take_notice(&self) -> Option<String> {
        None
    }
}

/// What is found where programs run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// The folder that a session begins in.
    pub directory: PathBuf,
    /// What programs find in their environment there.
    pub environment: BTreeMap<OsString, OsString>,
    /// The shell that commands are for.
    pub shell: ShellKind,
    /// The system and the machine, as `uname -sm` says them.
    pub system: String,
}

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellKind {
    /// Bash.
    Bash,
    /// Some `sh`, of which no more is known.
    Posix,
}

impl HostFacts {
    /// The user's home there.
    pub fn home(&self) -> Option<&Path> {
        self.environment.get(OsStr::new("HOME")).map(Path::new)
    }
}

/// A program that has been started.
#[derive(Debug)]
pub struct SpawnedProcess {
    /// Its process, if it is one of this machine.
    pub pid: Option<u32>,
    /// What it writes; of a terminal, one.
    pub output: Vec<(OutputStream, OwnedFd)>,
    /// What it reads, if that is open.
    pub input: Option<OwnedFd>,
    /// The means to steer it.
    pub control: Box<dyn ProcessControl>,
    /// What holds it; none if nothing does.
    pub containment: Option<Arc<JobContainment>>,
}

/// How a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl ProcessExit {
    /// The code that a shell would give it.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// What a silent program waits for, as far as can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputWait {
    /// Not for somebody who types.
    NotWaiting,
    /// It looks for keys now and then, and goes on without them.
    Polling,
    /// For somebody to type.
    Blocked,
}

/// The means to steer a program that runs.
pub trait ProcessControl: Debug + Send + Sync {
    /// The process that it began with, if it is one of this machine.
    fn root(&self) -> Option<&JobRoot> {
        None
    }

    /// Waits for its end.
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>>;

    /// Ends it and all that it has started: asked first, forced after `grace`.
    fn terminate(&self, grace: Duration) -> BoxFuture<'_, ()>;

    /// Nobody waits for it any more: what stands for it on this machine is
    /// ended at once.
    fn abandon(&self) {}

    /// Whether it is known to have ended, although nobody has been told yet.
    fn has_exited(&self) -> bool {
        false
    }

    /// It has ended: whether something that it has started still runs. Where
    /// that costs more than a moment, it is looked for only if that `is_likely`.
    fn has_descendants(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        let _ = is_likely;
        Box::pin(async { false })
    }

    /// It has ended: waits until nothing that it has started runs any more.
    fn wait_for_descendants(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Sends it, and what it has started, a signal; to how many processes.
    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize>;

    /// What it is known to wait for.
    fn input_wait(&self) -> BoxFuture<'_, InputWait>;

    /// Its terminal has another size.
    fn resize(&self, size: TerminalSize) -> io::Result<()>;
}
