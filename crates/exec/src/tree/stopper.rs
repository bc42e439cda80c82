//! Stopping the processes of a job the moment that they are seen.
//!
//! A process that starts another and goes is gone by the time that a whole
//! list was read. So each is stopped while the list is still being read, which
//! goes up like the numbers that new processes are given.

use std::collections::{HashMap, HashSet};

use rustix::io::Errno;
use rustix::process::Signal;

use super::process::{ProcessStat, look};
use super::table::JobMark;
use super::{JobRoot, signals};

/// Whom it got hold of, and whom it may not touch.
#[derive(Debug)]
pub(super) struct ProcessStopper {
    root: JobRoot,
    /// This process and all that are above it, with their sessions.
    protected: HashSet<u32>,
    sessions: HashSet<u32>,
    /// Whether the first process is there, so that its session is the job's.
    has_root: bool,
    signal: Signal,
    stopped: HashMap<u32, u64>,
    refused: HashSet<(u32, u64)>,
}

impl ProcessStopper {
    pub(super) fn new(root: &JobRoot) -> Self {
        let mut protected = HashSet::from([0, 1]);
        let mut sessions = HashSet::from([0]);
        let mut next = Some(std::process::id());
        while let Some(pid) = next.filter(|pid| protected.insert(*pid)) {
            let found = look(pid);
            sessions.extend(found.as_ref().map(|it| it.session));
            next = found.map(|it| it.parent);
        }
        Self {
            root: root.clone(),
            protected,
            sessions,
            has_root: false,
            signal: Signal::STOP,
            stopped: HashMap::new(),
            refused: HashSet::new(),
        }
    }

    /// Begins another look. From now on all get this signal.
    pub(super) fn begin(&mut self, signal: Signal) {
        self.signal = signal;
        let root = &self.root;
        self.has_root = !self.protected.contains(&root.pid)
            && look(root.pid).is_some_and(|it| it.started == root.started);
        if self.has_root {
            // Without a list, and in one step, which no fork can outrun.
            let _ = signals::send_group_signal(root.pid, signal);
        }
    }

    /// Hears of a process, and stops it if it is one of the job.
    pub(super) fn inspect(&mut self, it: &ProcessStat, mark: Option<&JobMark>) {
        // Whoever takes one of ours for a job is mistaken.
        if self.protected.contains(&self.root.pid) {
            return;
        }
        if !it.is_alive() || it.is_kernel || self.protected.contains(&it.pid) || it.pid <= 1 {
            return;
        }
        let id = (it.pid, it.started);
        let is_new = self.stopped.get(&it.pid) != Some(&it.started);
        if !is_new && self.signal == Signal::STOP || self.refused.contains(&id) {
            return;
        }
        let is_marked = mark.is_some_and(|mark| mark.includes_job(&self.root.job));
        let is_in_session = self.has_root && it.session == self.root.pid;
        if !is_marked && !is_in_session && !self.stopped.contains_key(&it.parent) {
            return;
        }
        match signals::send_signal(it.pid, it.started, self.signal) {
            Ok(()) => drop(self.stopped.insert(it.pid, it.started)),
            Err(Errno::PERM | Errno::ACCESS) => drop(self.refused.insert(id)),
            Err(_) => {}
        }
        // Nobody enters a session from outside, so all in it are of the job,
        // unless it is one that we are in.
        if is_new && !self.sessions.contains(&it.session) {
            let _ = signals::send_group_signal(it.group, self.signal);
        }
    }

    /// How many it got hold of so far.
    pub(super) fn count(&self) -> usize {
        self.stopped.len()
    }

    /// Those, by id and start time.
    pub(super) fn stopped_processes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.stopped.iter().map(|(pid, started)| (*pid, *started))
    }

    /// Adds one that is stopped by other means; whether it is new.
    pub(super) fn add(&mut self, it: &ProcessStat) -> bool {
        self.stopped.insert(it.pid, it.started) != Some(it.started)
    }
}
