//! Terminates the jobs of this process if it is killed and cannot do so.
//!
//! The guardian is a shell in a separate session. A pipe that the kernel closes
//! reports our exit, and a shared memfd lists the jobs, so starting or ending a
//! job does not wake the guardian. `PR_SET_PDEATHSIG` would not do: it reaches
//! only the first process of a job, and fires when the *thread* that started it
//! ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use hermes_sandbox::{LaunchSpec, LaunchedChild, ProcessGroup, ProcessTag, Sandbox};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};

const SHELL_PATH: &str = "/bin/sh";
/// The guardian's name in process listings.
const PROCESS_NAME: &str = "hermes-guardian";
const GUARDIAN_SCRIPT: &str = include_str!("guardian.sh");

/// Bytes of one line of the job list.
const LINE_BYTES: usize = 32;

/// Ended jobs to keep in the list, since some of their processes may still run.
const MAX_ENDED_JOBS: usize = 1000;

/// The guardian and its job list. If it cannot be kept up, jobs run anyway, and
/// a crash may leave them behind.
#[derive(Debug)]
struct ProcessGuardian {
    job_list: File,
    jobs: Vec<GuardedJob>,
    /// Where the search for the next reusable line starts.
    next: usize,
    /// Closed when this process ends for any reason.
    _liveness_pipe: OwnedFd,
    _shell: LaunchedChild,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct GuardedJob {
    /// Its first process, while that runs.
    pid: u32,
    /// The tag of all its processes; 0 if there is none to look for.
    tag: u64,
}

/// Adds the first process of a program that was started.
pub(crate) fn add_process(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.add(GuardedJob { pid, tag: 0 });
    }
}

/// Tags an added process as a user's job, so everything it starts ends with
/// this process. Internal programs may leave processes behind on purpose, such
/// as an SSH connection or the lifeline of a container.
pub(crate) fn tag_job(pid: u32, job: &str) {
    if let Some(mut guardian) = guardian() {
        guardian.update(pid, |line| line.tag = ProcessTag::for_job(job).number());
    }
}

/// Notes that the first process of a job is about to be reaped, after which its
/// pid may be reused.
pub(crate) fn note_exit(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.update(pid, |line| line.pid = 0);
    }
}

/// Releases the job of this process, which is meant to outlive us.
pub(crate) fn release(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.update(pid, |line| *line = GuardedJob::default());
    }
}

fn guardian() -> Option<MutexGuard<'static, ProcessGuardian>> {
    static ONE: OnceLock<Option<Mutex<ProcessGuardian>>> = OnceLock::new();
    let one = ONE.get_or_init(|| ProcessGuardian::start().ok().map(Mutex::new)).as_ref()?;
    Some(one.lock())
}

impl ProcessGuardian {
    fn start() -> io::Result<Self> {
        let (theirs, life) = pipe_with(PipeFlags::CLOEXEC)?;
        let list = File::from(memfd_create("jobs", MemfdFlags::CLOEXEC)?);
        let launch = LaunchSpec {
            program: SHELL_PATH.into(),
            arguments: vec!["-c".into(), GUARDIAN_SCRIPT.into(), PROCESS_NAME.into()],
            shortcut: None,
            environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
            directory: "/".into(),
            stdin: Some(theirs),
            stdout: Some(list.try_clone()?.into()),
            stderr: None,
            // A signal to our process group must not end the guardian.
            group: ProcessGroup::NewSession,
        };
        let shell = Sandbox::unconfined().launch(&launch)?;
        Ok(Self { job_list: list, jobs: Vec::new(), next: 0, _liveness_pipe: life, _shell: shell })
    }

    fn add(&mut self, line: GuardedJob) {
        let at = self.free_slot();
        if at == self.jobs.len() {
            self.jobs.push(line);
        } else if let Some(old) = self.jobs.get_mut(at) {
            *old = line;
        }
        self.write_line(at);
    }

    /// Returns the index of a line to write, reusing that of the oldest ended
    /// job.
    fn free_slot(&mut self) -> usize {
        if self.jobs.len() < MAX_ENDED_JOBS {
            return self.jobs.len();
        }
        let count = self.jobs.len();
        let places = (self.next..count).chain(0..self.next);
        let free = places.into_iter().find(|at| self.jobs.get(*at).is_some_and(|it| it.pid == 0));
        let at = free.unwrap_or(count);
        self.next = if at + 1 < count { at + 1 } else { 0 };
        at
    }

    fn update(&mut self, pid: u32, how: impl FnOnce(&mut GuardedJob)) {
        let Some(at) = self.jobs.iter().position(|it| it.pid == pid) else { return };
        self.jobs.get_mut(at).map(how);
        self.write_line(at);
    }

    fn write_line(&self, at: usize) {
        let Some(GuardedJob { pid, tag: stamp }) = self.jobs.get(at) else { return };
        let text = format!("{pid:<10} {stamp:<20}\n");
        debug_assert_eq!(text.len(), LINE_BYTES);
        let _ = self.job_list.write_all_at(text.as_bytes(), (at * LINE_BYTES) as u64);
    }
}
