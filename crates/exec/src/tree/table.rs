//! Snapshot of all processes.

use std::collections::{HashMap, HashSet};
use std::io;

use hermes_sandbox::ProcessTag;

#[cfg(target_os = "linux")]
use super::proc as read;
use super::process::{ProcessStat, look};
use super::{JobProcess, JobRoot, JobUsage};

/// Snapshot of the system's processes.
///
/// A caller interested in several jobs reads it once.
#[derive(Debug)]
pub struct ProcessTable {
    processes: Vec<ProcessStat>,
    positions: HashMap<u32, usize>,
    marks: HashMap<u32, JobMark>,
    is_complete: bool,
}

impl ProcessTable {
    /// Reads the table. An error means that it could not be read completely,
    /// not that nothing runs.
    pub fn read() -> io::Result<Self> {
        Ok(Self::from_scan(read::all(&MarkFilter::default(), &mut |_, _| ())?))
    }

    /// Reads the table for jobs that started at this time or later.
    pub(crate) fn read_since(started: u64) -> io::Result<Self> {
        Ok(Self::from_scan(read::all(&MarkFilter { started, session: None }, &mut |_, _| ())?))
    }

    /// Reads the table for one job, which inspects most processes less closely.
    pub fn read_for(root: &JobRoot) -> io::Result<Self> {
        Self::read_with(root, &mut |_, _| ())
    }

    /// Like [`Self::read_for`], and calls `each` for every process found, with
    /// its mark.
    pub(crate) fn read_with(
        root: &JobRoot,
        each: &mut dyn FnMut(&ProcessStat, Option<&JobMark>),
    ) -> io::Result<Self> {
        // While the session leader exists, processes in the session need no
        // mark.
        let is_head = |pid| look(pid).is_some_and(|it| it.started == root.started);
        let session = Some(root.pid).filter(|pid| is_head(*pid));
        let need = MarkFilter { started: root.started, session };
        let table = Self::from_scan(read::all(&need, each)?);
        if session.is_none() || table.get(root.pid).is_some() {
            return Ok(table);
        }
        Ok(Self::from_scan(read::all(&MarkFilter { session: None, ..need }, each)?))
    }

    fn from_scan(reading: ProcessScan) -> Self {
        let ProcessScan { processes, marks, is_complete: is_settled } = reading;
        let places = processes.iter().enumerate().map(|(at, it)| (it.pid, at)).collect();
        Self { processes, positions: places, marks, is_complete: is_settled }
    }

    /// Whether the table is known to be complete. Processes that start others
    /// and exit faster than they can be inspected may be missed.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the running processes of a job.
    pub fn members(&self, root: &JobRoot) -> Vec<JobProcess> {
        self.find(root).into_iter().filter(|it| it.is_alive()).map(to_job_process).collect()
    }

    /// Whether any process of a job still runs.
    pub fn has_members(&self, root: &JobRoot) -> bool {
        self.find(root).iter().any(|it| it.is_alive())
    }

    /// Returns the resource usage of a job.
    pub fn usage(&self, root: &JobRoot) -> JobUsage {
        let mut sum = JobUsage::default();
        for found in self.find(root) {
            sum.processes += usize::from(found.is_alive());
            sum.ticks = sum.ticks.saturating_add(found.ticks);
            sum.memory_bytes = sum.memory_bytes.saturating_add(found.memory);
        }
        sum
    }

    /// Whether exactly that process runs.
    pub fn is_alive(&self, pid: u32, started: u64) -> bool {
        self.get(pid).is_some_and(|it| it.started == started && it.is_alive())
    }

    /// Returns the processes that belong to any job.
    pub(crate) fn marked_pids(&self) -> impl Iterator<Item = u32> {
        self.marks.keys().copied()
    }

    pub(crate) fn get(&self, pid: u32) -> Option<&ProcessStat> {
        self.positions.get(&pid).and_then(|at| self.processes.get(*at))
    }

    pub(crate) fn all(&self) -> &[ProcessStat] {
        &self.processes
    }

    /// Returns the processes that are never signalled: init, this process and
    /// its ancestors.
    pub(crate) fn protected(&self) -> HashSet<u32> {
        let mut found = HashSet::from([0, 1]);
        let mut next = std::process::id();
        while found.insert(next) {
            next = self.get(next).map_or(1, |it| it.parent);
        }
        found
    }

    /// Returns the processes of a job, including zombies, excluding protected
    /// processes.
    pub(crate) fn find(&self, root: &JobRoot) -> Vec<&ProcessStat> {
        let protected = self.protected();
        // A protected process is never the root of a job, and its descendants
        // are not a job either.
        if protected.contains(&root.pid) && self.is_alive(root.pid, root.started) {
            return Vec::new();
        }
        self.collect(root, &protected)
    }

    /// Like [`Self::find`], including protected processes.
    pub(crate) fn find_all(&self, root: &JobRoot) -> Vec<&ProcessStat> {
        self.collect(root, &HashSet::from([0, 1]))
    }

    fn collect(&self, root: &JobRoot, left_out: &HashSet<u32>) -> Vec<&ProcessStat> {
        let mut search = DescendantSearch::new(self, left_out);
        let leader = self.get(root.pid);
        let is_ours = leader.is_some_and(|it| it.started == root.started);
        if is_ours {
            search.add_session(root.pid);
            search.add(root.pid);
        }
        if !root.job.is_empty() {
            let bearers: Vec<u32> = self
                .processes
                .iter()
                .filter(|it| it.started >= root.started && !it.is_kernel)
                .filter(|it| !search.found.contains(&it.pid) && !left_out.contains(&it.pid))
                .filter(|it| self.is_marked(it.pid, &root.job))
                .map(|it| it.pid)
                .collect();
            // An id is not reused while a session has it. So if the leader has
            // exited, one marked process in the session proves that it is the
            // job's; without one it may belong to another program.
            let session = |pid: &u32| self.get(*pid).is_some_and(|it| it.session == root.pid);
            if leader.is_none() && bearers.iter().any(session) {
                search.add_session(root.pid);
            }
            bearers.into_iter().for_each(|pid| search.add(pid));
        }
        let found = search.found;
        self.processes.iter().filter(|it| found.contains(&it.pid)).collect()
    }

    fn is_marked(&self, pid: u32, job: &str) -> bool {
        self.marks.get(&pid).is_some_and(|mark| mark.includes_job(job))
    }
}

/// Record of the jobs a process belongs to.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) enum JobMark {
    /// All jobs, from its environment.
    Environment(String),
    /// The outermost and the innermost job, if its environment has no mark.
    Tags([Option<ProcessTag>; 2]),
}

impl JobMark {
    /// Whether the process belongs to a job.
    pub(crate) fn includes_job(&self, job: &str) -> bool {
        !job.is_empty()
            && match self {
                Self::Environment(mark) => mark.split('/').any(|part| part == job),
                Self::Tags(stamps) => stamps.contains(&Some(ProcessTag::for_job(job))),
            }
    }
}

/// Selects the processes whose marks are read.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) struct MarkFilter {
    /// Only processes that started at this time or later.
    pub(crate) started: u64,
    /// Excludes processes in this session.
    pub(crate) session: Option<u32>,
}

/// Result of a scan.
#[derive(Debug, Default)]
pub(crate) struct ProcessScan {
    pub(crate) processes: Vec<ProcessStat>,
    pub(crate) marks: HashMap<u32, JobMark>,
    pub(crate) is_complete: bool,
}

/// Collects processes and their descendants.
struct DescendantSearch<'a> {
    table: &'a ProcessTable,
    left_out: &'a HashSet<u32>,
    children: HashMap<u32, Vec<u32>>,
    found: HashSet<u32>,
}

impl<'a> DescendantSearch<'a> {
    fn new(table: &'a ProcessTable, left_out: &'a HashSet<u32>) -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for it in &table.processes {
            children.entry(it.parent).or_default().push(it.pid);
        }
        Self { table, left_out, children, found: HashSet::new() }
    }

    fn add(&mut self, pid: u32) {
        let mut open = vec![pid];
        while let Some(pid) = open.pop() {
            if pid > 1 && !self.left_out.contains(&pid) && self.found.insert(pid) {
                open.extend(self.children.get(&pid).into_iter().flatten());
            }
        }
    }

    fn add_session(&mut self, session: u32) {
        let table = self.table;
        for it in table.processes.iter().filter(|it| session > 1 && it.session == session) {
            self.add(it.pid);
        }
    }
}

/// Converts a process for display.
pub(crate) fn to_job_process(process: &ProcessStat) -> JobProcess {
    let command = read::command(process.pid).unwrap_or_else(|| format!("[{}]", process.name));
    JobProcess { pid: process.pid, started: process.started, command }
}

#[cfg(not(target_os = "linux"))]
mod read {
    use std::io;

    use super::{JobMark, MarkFilter, ProcessScan, ProcessStat};
    use crate::tree::ps;

    /// Other systems do not expose a process's environment, so there are no
    /// marks.
    pub(super) fn all(
        _need: &MarkFilter,
        each: &mut dyn FnMut(&ProcessStat, Option<&JobMark>),
    ) -> io::Result<ProcessScan> {
        let processes = ps::list(None)?;
        processes.iter().for_each(|process| each(process, None));
        Ok(ProcessScan { processes, is_complete: true, ..ProcessScan::default() })
    }

    /// The name from `ps` is the whole command line.
    pub(super) fn command(_pid: u32) -> Option<String> {
        None
    }
}
