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
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hermes_sandbox::{ProcessGroup, LaunchSpec, LaunchedChild, Sandbox, ProcessTag};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};

const SHELL: &str = "/bin/sh";
/// What it is called among processes.
const NAME: &str = "hermes-guardian";
const SCRIPT: &str = include_str!("guardian.sh");

/// Bytes of a line.
const LINE: usize = 32;

/// Jobs that have ended and are remembered, as something of them may still run.
const ENDED: usize = 1000;

/// The list of jobs. One that cannot be kept is no reason not to run a job: then
/// a crash may leave it.
#[derive(Debug)]
struct Guardian {
    list: File,
    jobs: Vec<Line>,
    /// Where the next line that has served is looked for.
    next: usize,
    /// Closed when this program ends, in whatever way.
    _life: OwnedFd,
    _shell: LaunchedChild,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Line {
    /// Its first process, as long as it runs.
    pid: u32,
    /// What all of its processes bear; 0 where there is nothing to look for.
    stamp: u64,
}

/// A program has been started.
pub(crate) fn watch(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.add(Line { pid, stamp: 0 });
    }
}

/// It is a job of somebody's: what it starts ends with us as well, wherever that
/// goes. Programs that we run for ourselves may leave something behind on
/// purpose: a connection to another host, the keeper of a container.
pub(crate) fn claim(pid: u32, job: &str) {
    if let Some(mut guardian) = guardian() {
        guardian.change(pid, |line| line.stamp = ProcessTag::for_job(job).number());
    }
}

/// The first process of a job is about to be waited for, after which its number
/// may be another's.
pub(crate) fn see_end(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.change(pid, |line| line.pid = 0);
    }
}

/// The job of this process is to outlive us.
pub(crate) fn release(pid: u32) {
    if let Some(mut guardian) = guardian() {
        guardian.change(pid, |line| *line = Line::default());
    }
}

fn guardian() -> Option<MutexGuard<'static, Guardian>> {
    static ONE: OnceLock<Option<Mutex<Guardian>>> = OnceLock::new();
    let one = ONE.get_or_init(|| Guardian::start().ok().map(Mutex::new)).as_ref()?;
    Some(one.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Guardian {
    fn start() -> io::Result<Self> {
        let (theirs, life) = pipe_with(PipeFlags::CLOEXEC)?;
        let list = File::from(memfd_create("jobs", MemfdFlags::CLOEXEC)?);
        let launch = LaunchSpec {
            program: SHELL.into(),
            arguments: vec!["-c".into(), SCRIPT.into(), NAME.into()],
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
        Ok(Self { list, jobs: Vec::new(), next: 0, _life: life, _shell: shell })
    }

    fn add(&mut self, line: Line) {
        let at = self.room();
        if at == self.jobs.len() {
            self.jobs.push(line);
        } else if let Some(old) = self.jobs.get_mut(at) {
            *old = line;
        }
        self.write(at);
    }

    /// The place for another line. The oldest of those that have ended goes.
    fn room(&mut self) -> usize {
        if self.jobs.len() < ENDED {
            return self.jobs.len();
        }
        let count = self.jobs.len();
        let places = (self.next..count).chain(0..self.next);
        let free = places.into_iter().find(|at| self.jobs.get(*at).is_some_and(|it| it.pid == 0));
        let at = free.unwrap_or(count);
        self.next = if at + 1 < count { at + 1 } else { 0 };
        at
    }

    fn change(&mut self, pid: u32, how: impl FnOnce(&mut Line)) {
        let Some(at) = self.jobs.iter().position(|it| it.pid == pid) else { return };
        self.jobs.get_mut(at).map(how);
        self.write(at);
    }

    fn write(&self, at: usize) {
        let Some(Line { pid, stamp }) = self.jobs.get(at) else { return };
        let text = format!("{pid:<10} {stamp:<20}\n");
        debug_assert_eq!(text.len(), LINE);
        let _ = self.list.write_all_at(text.as_bytes(), (at * LINE) as u64);
    }
}
