//! Systems without a sandbox: nothing can be prepared, so nothing runs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use hermes_core::Confinement;

use crate::{Held, Launch, Probe, SandboxError, Support};

/// What this system can hold: nothing.
pub fn support() -> Support {
    Support {
        landlock: None,
        seccomp: false,
        user_namespaces: false,
        user_namespaces_error: None,
        bubblewrap: None,
    }
}

/// A prepared sandbox. There is none on this system.
#[derive(Debug)]
pub struct Sandbox {
    held: Held,
}

impl Sandbox {
    /// Always fails: the mechanisms are those of Linux.
    pub fn prepare(_confinement: &Confinement) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported {
            what: "Linux",
            why: format!("this is {}", std::env::consts::OS),
            hint: "run it on Linux, or allow unconfined children",
        })
    }

    /// No sandbox. Nothing can be launched by it here.
    pub fn open() -> Self {
        Self { held: Held::default() }
    }

    /// Which mechanisms hold.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Never reached, as there is no sandbox to call it on.
    pub fn spawn(&self, _command: &mut Command) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never reached, as there is no sandbox to call it on.
    pub fn apply(&self, _command: &mut Command) {}

    /// Children have no terminals of their own here.
    pub fn terminal(&self) -> Option<io::Result<crate::Stream>> {
        None
    }

    /// Nothing was made, as nothing was launched.
    pub fn tidy(&self) {}

    /// Never reached, as there is no sandbox to call it on.
    pub fn launch(&self, _launch: &Launch) -> io::Result<Launched> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A child that was launched. There is none on this system.
#[derive(Debug)]
pub struct Launched {
    never: std::convert::Infallible,
}

impl Launched {
    /// Its process id.
    pub fn id(&self) -> u32 {
        match self.never {}
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.never {}
    }

    /// Its status, if it has ended.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.never {}
    }

    /// Ends it, if it has not ended yet.
    pub fn kill(&self) -> io::Result<()> {
        match self.never {}
    }
}

/// The error as it is.
pub fn explain(error: io::Error) -> io::Error {
    error
}

/// Nothing to try without a sandbox.
pub fn probe(_confinement: &Confinement, _scratch: &Path) -> Vec<Probe> {
    Vec::new()
}

/// Nothing covers a folder here.
pub fn den() -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
