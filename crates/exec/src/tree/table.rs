//! All processes at one moment.

use std::collections::{HashMap, HashSet};
use std::io;

use hermes_sandbox::ProcessTag;

#[cfg(target_os = "linux")]
use super::proc as read;
use super::process::{ProcessStat, look};
use super::{JobProcess, JobRoot, JobUsage};

/// The processes of the system at one moment.
///
/// Who asks for several jobs at once reads the table once.
#[derive(Debug)]
pub struct ProcessTable {
    processes: Vec<ProcessStat>,
    positions: HashMap<u32, usize>,
    marks: HashMap<u32, JobMark>,
    is_complete: bool,
}

impl ProcessTable {
    /// Reads the table. An error means that it cannot be read whole, which is
    /// not the same as that nothing runs.
    pub fn read() -> io::Result<Self> {
        Ok(Self::from_scan(read::all(&MarkFilter::default(), &mut |_, _| ())?))
    }

    /// The same for jobs that began then or later.
    pub(crate) fn read_since(started: u64) -> io::Result<Self> {
        Ok(Self::from_scan(read::all(&MarkFilter { started, session: None }, &mut |_, _| ())?))
    }

    /// The same for one job only, which asks less of most processes.
    pub fn read_for(root: &JobRoot) -> io::Result<Self> {
        Self::read_with(root, &mut |_, _| ())
    }

    /// The same; `each` hears of every process as it is found, and of its mark.
    pub(crate) fn read_with(
        root: &JobRoot,
        each: &mut dyn FnMut(&ProcessStat, Option<&JobMark>),
    ) -> io::Result<Self> {
        // As long as its head is there, nobody in the session need bear the
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

    /// Whether what is not in the table was surely not there. Processes that
    /// start others and go, faster than they can be looked at, may be missed.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The processes of a job that still run.
    pub fn members(&self, root: &JobRoot) -> Vec<JobProcess> {
        self.find(root).into_iter().filter(|it| it.is_alive()).map(to_job_process).collect()
    }

    /// Whether any process of a job still runs.
    pub fn has_members(&self, root: &JobRoot) -> bool {
        self.find(root).iter().any(|it| it.is_alive())
    }

    /// What the processes of a job take.
    pub fn usage(&self, root: &JobRoot) -> JobUsage {
        let mut sum = JobUsage::default();
        for found in self.find(root) {
            sum.processes += usize::from(found.is_alive());
            sum.ticks = sum.ticks.saturating_add(found.ticks);
            sum.memory_bytes = sum.memory_bytes.saturating_add(found.memory);
        }
        sum
    }

    /// Whether that very process runs.
    pub fn is_alive(&self, pid: u32, started: u64) -> bool {
        self.get(pid).is_some_and(|it| it.started == started && it.is_alive())
    }

    /// The processes that belong to a job, whichever it is.
    pub(crate) fn marked_pids(&self) -> impl Iterator<Item = u32> {
        self.marks.keys().copied()
    }

    pub(crate) fn get(&self, pid: u32) -> Option<&ProcessStat> {
        self.positions.get(&pid).and_then(|at| self.processes.get(*at))
    }

    pub(crate) fn all(&self) -> &[ProcessStat] {
        &self.processes
    }

    /// Those that are never signalled: the first process, this one, and
    /// whoever started it.
    pub(crate) fn protected(&self) -> HashSet<u32> {
        let mut found = HashSet::from([0, 1]);
        let mut next = std::process::id();
        while found.insert(next) {
            next = self.get(next).map_or(1, |it| it.parent);
        }
        found
    }

    /// The processes of a job, with those that have ended and were not waited
    /// for, without the protected ones.
    pub(crate) fn find(&self, root: &JobRoot) -> Vec<&ProcessStat> {
        let protected = self.protected();
        // Whoever takes one of ours for a job is mistaken, and what hangs
        // below it is not a job either.
        if protected.contains(&root.pid) && self.is_alive(root.pid, root.started) {
            return Vec::new();
        }
        self.collect(root, &protected)
    }

    /// The same with the protected ones.
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
            // A session keeps its number from being given out again. So with
            // its head gone, one bearer of the mark proves that it is the
            // job's; without one it may be a stranger's by now.
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

/// What a process bears of the jobs that it belongs to.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) enum JobMark {
    /// All of them, in its environment.
    Environment(String),
    /// The outermost and the innermost one, where its environment says nothing.
    Tags([Option<ProcessTag>; 2]),
}

impl JobMark {
    /// Whether its bearer belongs to a job.
    pub(crate) fn includes_job(&self, job: &str) -> bool {
        !job.is_empty()
            && match self {
                Self::Environment(mark) => mark.split('/').any(|part| part == job),
                Self::Tags(stamps) => stamps.contains(&Some(ProcessTag::for_job(job))),
            }
    }
}

/// Whose marks are wanted.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) struct MarkFilter {
    /// Of those that started then or later.
    pub(crate) started: u64,
    /// But not of those in this session.
    pub(crate) session: Option<u32>,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct ProcessScan {
    pub(crate) processes: Vec<ProcessStat>,
    pub(crate) marks: HashMap<u32, JobMark>,
    pub(crate) is_complete: bool,
}

/// Follows processes to what they have started.
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

/// A process as it is shown.
pub(crate) fn to_job_process(process: &ProcessStat) -> JobProcess {
    let command = read::command(process.pid).unwrap_or_else(|| format!("[{}]", process.name));
    JobProcess { pid: process.pid, started: process.started, command }
}

#[cfg(not(target_os = "linux"))]
mod read {
    use std::io;

    use super::{Mark, Need, Process, Reading};
    use crate::tree::ps;

    /// Other systems show the environment of a process to nobody, so there
    /// are no marks.
    pub(super) fn all(
        _need: &MarkFilter,
        each: &mut dyn FnMut(&ProcessStat, Option<&JobMark>),
    ) -> io::Result<ProcessScan> {
        let processes = ps::list(None)?;
        processes.iter().for_each(|process| each(process, None));
        Ok(ProcessScan { processes, is_settled: true, ..ProcessScan::default() })
    }

    /// The name that `ps` gave is the whole command line.
    pub(super) fn command(_pid: u32) -> Option<String> {
        None
    }
}
