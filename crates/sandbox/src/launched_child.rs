//! Spawning without copying the parent, for parents that have grown large.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::{Pid, Resource, Signal, WaitOptions, getrlimit, pidfd_send_signal, waitpid};

use crate::raw::image::{ExecImage, PreExec};
use crate::raw::vfork::{self, SpawnRequest};
use crate::{JOB_VARIABLE, LaunchSpec, Sandbox, explain_spawn_error, process_tag};

impl LaunchSpec {
    /// Returns the program as the child runs it without bubblewrap.
    pub(crate) fn exec_image(&self) -> io::Result<ExecImage> {
        let arguments = [&self.program].into_iter().chain(&self.arguments);
        let arguments = c_strings(arguments)?;
        let image = ExecImage::new(self.candidates()?, arguments, self.environment_lines()?);
        match self.shortcut.as_deref() {
            Some(words @ [program, ..]) => {
                Ok(image.with_shortcut(self.candidates_for(program)?, c_strings(words)?))
            }
            _ => Ok(image),
        }
    }

    /// Returns the environment as `NAME=value` lines.
    pub(crate) fn environment_lines(&self) -> io::Result<Vec<CString>> {
        let lines = self.environment.iter().map(|(name, value)| {
            let mut line = name.clone();
            line.push("=");
            line.push(value);
            c_string(&line)
        });
        lines.collect()
    }

    /// Returns the paths at which the program may be.
    pub(crate) fn candidates(&self) -> io::Result<Vec<CString>> {
        self.candidates_for(&self.program)
    }

    fn candidates_for(&self, program: &OsStr) -> io::Result<Vec<CString>> {
        if program.as_bytes().contains(&b'/') {
            return Ok(vec![c_string(program)?]);
        }
        let usual = OsString::from("/usr/local/bin:/usr/bin:/bin");
        // An empty `PATH` would mean the working directory, where any process
        // may have put a program of that name.
        let said = self.environment.get(OsStr::new("PATH")).filter(|path| !path.is_empty());
        let search = said.unwrap_or(&usual);
        env::split_paths(search).map(|dir| c_string(dir.join(program).as_os_str())).collect()
    }

    /// Returns the limits on file locks that tag the child with its job.
    fn tag_limits(&self) -> Option<(u64, u64)> {
        let mark = self.environment.get(OsStr::new(JOB_VARIABLE))?.to_str()?;
        let job = mark.rsplit('/').next().filter(|job| !job.is_empty())?;
        let ours = getrlimit(Resource::Locks);
        let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        process_tag::tag_limits(job, (number(ours.current), number(ours.maximum)))
    }

    /// Whether the program exists at any candidate path.
    pub(crate) fn program_exists(&self) -> bool {
        let exists = |path: &CString| {
            self.directory.join(Path::new(OsStr::from_bytes(path.as_bytes()))).exists()
        };
        self.candidates().is_ok_and(|list| list.iter().any(exists))
    }
}

impl Sandbox {
    /// Spawns a child in the sandbox. Unlike with [`Sandbox::spawn`], the time
    /// does not depend on the memory size of this process.
    pub fn launch(&self, launch: &LaunchSpec) -> io::Result<LaunchedChild> {
        let (gate, image) = self.pre_exec(launch)?;
        self.start(launch, &gate, &image)
    }

    fn start(
        &self,
        launch: &LaunchSpec,
        gate: &PreExec,
        image: &ExecImage,
    ) -> io::Result<LaunchedChild> {
        let given = [&launch.stdin, &launch.stdout, &launch.stderr];
        let nothing = if given.iter().any(|stream| stream.is_none()) {
            Some(File::options().read(true).write(true).open("/dev/null")?)
        } else {
            None
        };
        let nothing = nothing.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let streams = given.map(|stream| stream.as_ref().map_or(nothing, AsRawFd::as_raw_fd));
        let directory = c_string(launch.directory.as_os_str())?;
        let stamp = launch.tag_limits();
        let group = launch.group;
        let start = SpawnRequest {
            pre_exec: gate,
            image,
            directory: &directory,
            streams,
            group,
            tag_limits: stamp,
        };
        let (process, file) = vfork::spawn(&start).map_err(explain_spawn_error)?;
        Ok(LaunchedChild { process, pidfd: file, status: None })
    }
}

/// A launched child. It keeps running when this is dropped.
#[derive(Debug)]
pub struct LaunchedChild {
    process: i32,
    pidfd: OwnedFd,
    status: Option<ExitStatus>,
}

impl LaunchedChild {
    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.unsigned_abs()
    }

    /// Waits for the child to exit.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.reap(WaitOptions::empty())? {
                return Ok(status);
            }
        }
    }

    /// Returns the exit status, if the child has exited.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.reap(WaitOptions::NOHANG)
    }

    /// Kills the child if it is still running.
    pub fn kill(&self) -> io::Result<()> {
        if self.status.is_some() {
            return Ok(());
        }
        Ok(pidfd_send_signal(&self.pidfd, Signal::KILL)?)
    }

    fn reap(&mut self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        if self.status.is_some() {
            return Ok(self.status);
        }
        match waitpid(Pid::from_raw(self.process), options) {
            Ok(ended) => {
                self.status = ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
                Ok(self.status)
            }
            Err(rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The pidfd, which becomes readable when the child exits.
impl AsFd for LaunchedChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

fn c_strings<'a>(texts: impl IntoIterator<Item = &'a OsString>) -> io::Result<Vec<CString>> {
    texts.into_iter().map(|text| c_string(text)).collect()
}

pub(crate) fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.to_owned().into_vec())?)
}
