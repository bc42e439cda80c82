//! The end of what runs when this program is killed and cannot end it itself.
//!
//! A shell of its own session waits for that. It learns of our end by a pipe
//! that the system closes then, and of the jobs by a list in memory that both
//! have open: so nobody is woken when a job begins or ends. The death signal of
//! Linux would not do: it reaches the first process of a job only, and comes
//! when the *thread* ends that has started it.

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
/// What it is called among processes.
const PROCESS_NAME: &str = "hermes-guardian";
const GUARDIAN_SCRIPT: &str = include_str!("guardian.sh");

/// Bytes of a line.
const LINE_BYTES: usize = 32;

/// Jobs that have ended and are remembered, as something of them may still run.
const MAX_ENDED_JOBS: usize = 1000;

/// The list of jobs. One that cannot be kept is no reason not to run a job: then
/// a crash may leave it.
#[derive(Debug)]
struct ProcessGuardian {
    job_list: File,
    jobs: Vec<GuardedJob>,
    /// Where the next line that has served is looked for.
    next: usize,
    /// Closed when this program ends, in whatever way.
    _liveness_pipe: OwnedFd,
    _shell: LaunchedChild,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct GuardedJob {
    /// Its first process, as long as it runs.
    pid: u32,
    /// What all of its processes bear; 0 where there is nothing to look for.
    tag: u64,
}

/// A program has been started.
pub(crate) fn register(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.add(GuardedJob { pid, tag: 0 });
    }
}

/// It is a job of somebody's: what it starts ends with us as well, wherever that
/// goes. Programs that we run for ourselves may leave something behind on
/// purpose: a connection to another host, the keeper of a container.
pub(crate) fn register_job(pid: u32, job: &str) {
    if let Some(mut guardian) = guardian() {
        guardian.update(pid, |line| line.tag = ProcessTag::for_job(job).number());
    }
}

/// The first process of a job is about to be waited for, after which its number
/// may be another's.
pub(crate) fn note_exit(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.update(pid, |line| line.pid = 0);
    }
}

/// The job of this process is to outlive us.
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
            // What ends a group of ours must not end it.
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

    /// The place for another line. The oldest of those that have ended goes.
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
