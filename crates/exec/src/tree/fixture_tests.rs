//! Jobs of real processes, for tests.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{JOB_VARIABLE, JobRoot};

/// A job that a test has started. What the test leaves is killed.
pub(crate) struct Job {
    pub(crate) root: JobRoot,
    pub(crate) child: Child,
}

impl Job {
    /// Runs a script at the head of a new session. `setsid` stays the same
    /// process, since no child of a test leads a group yet.
    pub(crate) fn start(script: &str) -> Self {
        Self::start_with(script, Stdio::null(), Stdio::null())
    }

    pub(crate) fn start_with(script: &str, stdin: Stdio, stdout: Stdio) -> Self {
        let job = unique();
        let mut command = Command::new("setsid");
        command.args(["bash", "-c", script]).env(JOB_VARIABLE, &job);
        command.stdin(stdin).stdout(stdout).stderr(Stdio::null());
        let child = command.spawn().expect("bash and setsid are there");
        let root = JobRoot::for_pid(child.id(), job).expect("it was not waited for");
        eventually("the job is at the head of a session", || {
            super::process::look(root.pid).is_some_and(|it| it.session == root.pid)
        });
        Self { root, child }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        super::terminate(&self.root, Duration::ZERO);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Waits for something that must come true; how long is no part of the test.
pub(crate) fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(60), "never happened: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// How many processes bear the mark of a job, found without the code under
/// test.
pub(crate) fn bearers(job: &str) -> usize {
    let wanted = format!("{JOB_VARIABLE}={job}");
    let count = |path: &Path| {
        let text = fs::read(path.join("environ")).unwrap_or_default();
        text.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().filter(|entry| count(&entry.path())).count()
}

/// How many descriptors this process has open.
pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

pub(crate) fn read_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
