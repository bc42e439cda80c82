//! A program in the form that exec takes, and the setup before exec.

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use super::child::{
    ChildRlimit, SandboxEntry, Step, close_inherited, enter, enter_once, errno, set_limits,
};

/// A program with its arguments and environment.
#[derive(Debug)]
pub(crate) struct ExecImage {
    /// Tried first, with `command` as fallback.
    shortcut: Option<ExecCommand>,
    command: ExecCommand,
    environment: CStringArray,
}

/// Candidate paths of a program, in search order, and its arguments.
#[derive(Debug)]
struct ExecCommand {
    programs: Vec<CString>,
    arguments: CStringArray,
}

/// C strings, and a null-terminated array of pointers to them.
#[derive(Debug)]
struct CStringArray {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers refer to the heap memory of `_texts`, which is never
// changed.
unsafe impl Send for CStringArray {}
// SAFETY: as above.
unsafe impl Sync for CStringArray {}

impl CStringArray {
    fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _texts: texts, pointers }
    }
}

impl ExecImage {
    pub(crate) fn new(
        programs: Vec<CString>,
        arguments: Vec<CString>,
        environment: Vec<CString>,
    ) -> Self {
        let form = ExecCommand { programs, arguments: CStringArray::new(arguments) };
        Self { shortcut: None, command: form, environment: CStringArray::new(environment) }
    }

    /// Sets a command to try first, with the current one as fallback.
    pub(crate) fn with_shortcut(self, programs: Vec<CString>, arguments: Vec<CString>) -> Self {
        let shortcut = ExecCommand { programs, arguments: CStringArray::new(arguments) };
        Self { shortcut: Some(shortcut), ..self }
    }

    /// Replaces the process with the program; returns the errno on failure.
    pub(super) fn exec(&self) -> i32 {
        if let Some(shortcut) = &self.shortcut {
            shortcut.exec(&self.environment);
        }
        self.command.exec(&self.environment)
    }
}

impl ExecCommand {
    fn exec(&self, environment: &CStringArray) -> i32 {
        let mut error = libc::ENOENT;
        for program in &self.programs {
            // SAFETY: the path and the arrays are null-terminated.
            unsafe {
                libc::execve(
                    program.as_ptr(),
                    self.arguments.pointers.as_ptr(),
                    environment.pointers.as_ptr(),
                )
            };
            match errno() {
                libc::ENOENT | libc::ENOTDIR => {}
                // A later candidate may be executable.
                libc::EACCES => error = libc::EACCES,
                other => return other,
            }
        }
        error
    }
}

/// What a child does before it runs its program.
#[derive(Debug)]
pub(crate) enum PreExec {
    /// It enters the sandbox itself.
    Direct(Arc<SandboxEntry>),
    /// It runs bubblewrap, which enters the sandbox.
    Bubblewrap(BubblewrapSetup),
    /// It runs unconfined.
    Unconfined,
}

/// Setup that bubblewrap does not do.
#[derive(Debug)]
pub(crate) struct BubblewrapSetup {
    limits: Vec<ChildRlimit>,
    filter: Arc<OwnedFd>,
    filter_path: CString,
}

impl BubblewrapSetup {
    /// The filter keeps its descriptor number in the child.
    pub(crate) fn new(limits: Vec<ChildRlimit>, filter: Arc<OwnedFd>) -> io::Result<Self> {
        let filter_path = CString::new(format!("/proc/self/fd/{}", filter.as_raw_fd()))?;
        Ok(Self { limits, filter, filter_path })
    }
}

impl PreExec {
    pub(super) fn apply(&self) -> io::Result<()> {
        let wrap = match self {
            Self::Direct(entry) => return enter(entry),
            Self::Bubblewrap(wrap) => wrap,
            Self::Unconfined => return close_inherited(),
        };
        close_inherited()?;
        set_limits(&wrap.limits)?;
        // SAFETY: the path is null-terminated; the descriptor is open.
        unsafe {
            // Opening it again gives an independent file offset; the copy has
            // no close-on-exec flag.
            let again = libc::open(wrap.filter_path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if again < 0 || libc::dup2(again, wrap.filter.as_raw_fd()) < 0 {
                return Err(Step::Bubblewrap.last_os_error());
            }
        }
        Ok(())
    }
}

/// Makes the child of `command` run `image` instead of its own program.
pub(crate) fn install_image(command: &mut Command, gate: PreExec, image: ExecImage) {
    // SAFETY: makes only system calls, on memory built before the fork.
    unsafe {
        command.pre_exec(move || {
            enter_once()?;
            gate.apply()?;
            Err(Step::Bubblewrap.error(image.exec()))
        })
    };
}
