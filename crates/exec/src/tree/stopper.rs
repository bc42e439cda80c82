//! Stops the processes of a job as soon as they are seen.
//!
//! A process that starts another and exits is gone before a full list has been
//! read. So each process is stopped while the list is still being read, which
//! is in ascending order, like the ids given to new processes.

use std::collections::{HashMap, HashSet};

use rustix::io::Errno;
use rustix::process::Signal;

use super::process::{ProcessStat, look};
use super::table::JobMark;
use super::{JobRoot, signals};

/// The processes stopped so far, and those that must not be touched.
#[derive(Debug)]
pub(super) struct ProcessStopper {
    root: JobRoot,
    /// This process and its ancestors, with their sessions.
    protected: HashSet<u32>,
    sessions: HashSet<u32>,
    /// Whether the root process still exists, so its session belongs to the
    /// job.
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

    /// Begins another scan, which sends this signal.
    pub(super) fn begin(&mut self, signal: Signal) {
        self.signal = signal;
        let root = &self.root;
        self.has_root = !self.protected.contains(&root.pid)
            && look(root.pid).is_some_and(|it| it.started == root.started);
        if self.has_root {
            // Needs no list and is atomic, so no fork can escape it.
            let _ = signals::send_group_signal(root.pid, signal);
        }
    }

    /// Inspects a process, and stops it if it belongs to the job.
    pub(super) fn inspect(&mut self, it: &ProcessStat, mark: Option<&JobMark>) {
        // A protected process is never the root of a job.
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
        // A session cannot be entered from outside, so all its processes belong
        // to the job, unless this process is in it.
        if is_new && !self.sessions.contains(&it.session) {
            let _ = signals::send_group_signal(it.group, self.signal);
        }
    }

    /// Returns how many processes were stopped so far.
    pub(super) fn count(&self) -> usize {
        self.stopped.len()
    }

    /// Returns the stopped processes by id and start time.
    pub(super) fn stopped_processes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.stopped.iter().map(|(pid, started)| (*pid, *started))
    }

    /// Adds a process that is stopped by other means; returns whether it is
    /// new.
    pub(super) fn add(&mut self, it: &ProcessStat) -> bool {
        self.stopped.insert(it.pid, it.started) != Some(it.started)
    }
}
