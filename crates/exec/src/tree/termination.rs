//! Termination of a job: SIGTERM first, then SIGKILL, until no process is left.

use std::collections::{HashMap, HashSet};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, getpriority_process, setpriority_process};

use super::process::ProcessStat;
use super::stopper::ProcessStopper;
use super::table::to_job_process;
use super::{JobProcess, JobRoot, ProcessTable, signals};

/// Minimum and maximum pause between two scans; it doubles each time.
const PAUSE_RANGE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(25));
/// Maximum stop rounds before the kill, if new processes keep appearing.
const MAX_STOP_ROUNDS: usize = 32;
/// After this many rounds every process is killed on sight, because another
/// process resumes the stopped ones.
const STUBBORN_ROUNDS: usize = 20;
/// How long killed processes may take to exit, and how long the kill continues
/// while new ones appear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_KILL_DURATION: Duration = Duration::from_secs(60);
/// This many scans without a process are enough, however busy the system is.
const REQUIRED_EMPTY_SCANS: usize = 8;

/// Process ids with start times.
type ProcessKeys = HashSet<(u32, u64)>;

/// Result of a termination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminationReport {
    /// Number of processes that exited on their own or on SIGTERM.
    pub terminated: usize,
    /// Number of processes that had to be killed.
    pub killed: usize,
    /// Processes that still exist.
    pub survivors: Vec<SurvivingProcess>,
}

/// A process that could not be terminated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurvivingProcess {
    /// The process.
    pub process: JobProcess,
    /// Why it still exists.
    pub reason: SurvivalReason,
}

/// Why a process could not be terminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurvivalReason {
    /// It belongs to another user.
    NotPermitted,
    /// It was killed, but the system has not released it yet.
    Stuck,
    /// The system did not list its processes.
    Unknown,
}

/// The caller's next action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminationStep {
    /// Take the next step after this long.
    Wait(Duration),
    /// The termination is complete.
    Done(TerminationReport),
}

/// A termination in progress, for callers that do their own waiting.
#[derive(Debug)]
pub struct JobTermination {
    root: JobRoot,
    grace: Duration,
    stage: TerminationStage,
    pause: Duration,
    seen: ProcessKeys,
    killed: ProcessKeys,
    refused: ProcessKeys,
    /// Consecutive scans that found no process.
    empty_scans: usize,
}

#[derive(Debug)]
enum TerminationStage {
    /// SIGTERM has not been sent; since when that has been tried.
    Requesting {
        since: Option<Instant>,
    },
    WaitingGrace {
        until: Instant,
        known: ProcessKeys,
    },
    Killing(KillProgress),
}

/// Progress of the kill stage.
#[derive(Debug, Clone, Copy)]
struct KillProgress {
    since: Instant,
    /// When a new process was last seen.
    last_new_process: Instant,
    round: usize,
}

/// Terminates a job: sends SIGTERM to all its processes, and SIGKILL to those
/// that remain after `grace`. Blocks until then; see [`JobTermination`] for a
/// non-blocking version.
///
/// The root process stays a zombie for its parent to reap.
pub fn terminate(root: &JobRoot, grace: Duration) -> TerminationReport {
    let mut ending = JobTermination::new(root.clone(), grace);
    loop {
        match ending.step(Instant::now()) {
            TerminationStep::Wait(pause) => thread::sleep(pause),
            TerminationStep::Done(ended) => return ended,
        }
    }
}

impl JobTermination {
    /// Creates a termination that has not started yet.
    pub fn new(root: JobRoot, grace: Duration) -> Self {
        Self {
            root,
            grace,
            stage: TerminationStage::Requesting { since: None },
            pause: PAUSE_RANGE.0,
            seen: ProcessKeys::new(),
            killed: ProcessKeys::new(),
            refused: ProcessKeys::new(),
            empty_scans: 0,
        }
    }

    /// Performs the work due at `now`. Takes a few milliseconds and never
    /// sleeps.
    pub fn step(&mut self, now: Instant) -> TerminationStep {
        match &self.stage {
            TerminationStage::Requesting { since } => {
                self.request_termination(now, since.unwrap_or(now))
            }
            TerminationStage::WaitingGrace { until, known } => {
                let is_over = now >= *until;
                // While one of them is alive, no full scan is needed.
                if !is_over && known.iter().any(|(pid, started)| super::is_alive(*pid, *started)) {
                    return self.next_pause();
                }
                self.check_grace(now, *until)
            }
            TerminationStage::Killing(killing) => self.kill(now, *killing),
        }
    }

    fn request_termination(&mut self, now: Instant, since: Instant) -> TerminationStep {
        if self.grace.is_zero() || now.saturating_duration_since(since) >= KILL_TIMEOUT {
            return self.start_killing(now);
        }
        let Ok(table) = self.read() else {
            self.stage = TerminationStage::Requesting { since: Some(since) };
            return self.next_pause();
        };
        let found = self.living(&table);
        if found.is_empty() && table.is_complete() {
            return TerminationStep::Done(self.report(&[], SurvivalReason::Stuck));
        }
        for it in &found {
            if signals::send_signal(it.pid, it.started, Signal::TERM).is_ok() {
                // A stopped process handles SIGTERM only after it is resumed;
                // the others ignore SIGCONT.
                let _ = signals::send_signal(it.pid, it.started, Signal::CONT);
            }
        }
        let until = now.checked_add(self.grace).unwrap_or(now);
        self.stage = TerminationStage::WaitingGrace { until, known: process_keys(&found) };
        self.next_pause()
    }

    /// Checks for processes that started meanwhile, perhaps to clean up. They
    /// get the rest of the grace period, but no SIGTERM.
    fn check_grace(&mut self, now: Instant, until: Instant) -> TerminationStep {
        if now >= until {
            return self.start_killing(now);
        }
        let Ok(table) = self.read() else { return self.next_pause() };
        let found = self.living(&table);
        if found.is_empty() && table.is_complete() {
            return TerminationStep::Done(self.report(&[], SurvivalReason::Stuck));
        }
        self.stage = TerminationStage::WaitingGrace { until, known: process_keys(&found) };
        self.next_pause()
    }

    fn start_killing(&mut self, now: Instant) -> TerminationStep {
        self.pause = PAUSE_RANGE.0;
        self.kill(now, KillProgress { since: now, last_new_process: now, round: 0 })
    }

    fn kill(&mut self, now: Instant, killing: KillProgress) -> TerminationStep {
        let _haste = PriorityBoost::begin();
        let known = self.seen.len();
        let stopped = self.stop_all(killing.round);
        let news = if self.seen.len() > known { now } else { killing.last_new_process };
        let is_over = now.saturating_duration_since(news) >= KILL_TIMEOUT
            || now.saturating_duration_since(killing.since) >= MAX_KILL_DURATION;
        self.stage = TerminationStage::Killing(KillProgress {
            last_new_process: news,
            round: killing.round + 1,
            ..killing
        });
        let Ok(table) = stopped else {
            if !is_over {
                return self.next_pause();
            }
            let (pid, started) = (self.root.pid, self.root.started);
            let member = JobProcess { pid, started, command: String::new() };
            let mut ended = self.report(&[], SurvivalReason::Unknown);
            ended
                .survivors
                .push(SurvivingProcess { process: member, reason: SurvivalReason::Unknown });
            return TerminationStep::Done(ended);
        };
        let found = self.living(&table);
        self.signal(&table, &found, Signal::KILL);
        self.empty_scans = if found.is_empty() { self.empty_scans + 1 } else { 0 };
        // The rest may not be signalled, so waiting is pointless.
        let is_hopeless = found.iter().all(|it| self.refused.contains(&(it.pid, it.started)));
        let is_sure = table.is_complete() || self.empty_scans >= REQUIRED_EMPTY_SCANS;
        if is_hopeless && is_sure || is_over {
            return TerminationStep::Done(self.report(&found, SurvivalReason::Stuck));
        }
        self.next_pause()
    }

    /// Stops all processes repeatedly until no new ones appear, since a stopped
    /// process cannot fork. Returns the table of the last scan.
    fn stop_all(&mut self, round: usize) -> io::Result<ProcessTable> {
        let mut catch = ProcessStopper::new(&self.root);
        let signal = if round < STUBBORN_ROUNDS { Signal::STOP } else { Signal::KILL };
        let mut table = self.scan(&mut catch, signal)?;
        let mut known = 0;
        for _ in 0..MAX_STOP_ROUNDS {
            let found = self.living(&table);
            let fresh: Vec<&ProcessStat> = found
                .into_iter()
                // Already killed, only slow to exit.
                .filter(|it| !self.killed.contains(&(it.pid, it.started)))
                .filter(|it| catch.add(it))
                .collect();
            self.signal(&table, &fresh, Signal::STOP);
            if catch.count() == known {
                break;
            }
            known = catch.count();
            table = self.scan(&mut catch, signal)?;
        }
        if signal == Signal::KILL {
            self.killed.extend(catch.stopped_processes());
            self.seen.extend(catch.stopped_processes());
        }
        Ok(table)
    }

    /// Scans all processes and stops those of the job on the way.
    fn scan(&self, catch: &mut ProcessStopper, signal: Signal) -> io::Result<ProcessTable> {
        catch.begin(signal);
        ProcessTable::read_with(&self.root, &mut |it, mark| catch.inspect(it, mark))
    }

    /// Signals whole groups that contain no other processes, then each process.
    fn signal(&mut self, table: &ProcessTable, targets: &[&ProcessStat], signal: Signal) {
        let mut outsiders: HashMap<u32, bool> =
            targets.iter().map(|it| (it.group, false)).collect();
        let members: HashSet<u32> = table.find(&self.root).iter().map(|it| it.pid).collect();
        // Zombies ignore signals, so they do not matter.
        let others = table.all().iter().filter(|it| it.is_alive() && !members.contains(&it.pid));
        for it in others {
            outsiders.entry(it.group).and_modify(|has| *has = true);
        }
        for (group, _) in outsiders.into_iter().filter(|(_, has)| !has) {
            // Each member is signalled again below, which reports a refusal.
            let _ = signals::send_group_signal(group, signal);
        }
        for it in targets {
            let id = (it.pid, it.started);
            match signals::send_signal(it.pid, it.started, signal) {
                Err(Errno::PERM | Errno::ACCESS) => {
                    self.refused.insert(id);
                }
                _ if signal == Signal::KILL => {
                    self.killed.insert(id);
                }
                _ => {}
            }
        }
    }

    fn read(&self) -> io::Result<ProcessTable> {
        ProcessTable::read_for(&self.root)
    }

    fn living<'a>(&mut self, table: &'a ProcessTable) -> Vec<&'a ProcessStat> {
        let found: Vec<_> = table.find(&self.root).into_iter().filter(|it| it.is_alive()).collect();
        self.seen.extend(process_keys(&found));
        found
    }

    fn next_pause(&mut self) -> TerminationStep {
        let pause = self.pause;
        self.pause = pause.saturating_mul(2).min(PAUSE_RANGE.1);
        TerminationStep::Wait(pause)
    }

    fn report(&self, left: &[&ProcessStat], reason: SurvivalReason) -> TerminationReport {
        let survivors: Vec<SurvivingProcess> = left
            .iter()
            .map(|it| SurvivingProcess {
                process: to_job_process(it),
                reason: match self.refused.contains(&(it.pid, it.started)) {
                    true => SurvivalReason::NotPermitted,
                    false => reason,
                },
            })
            .collect();
        let left = process_keys(left);
        let killed = self.killed.difference(&left).count();
        let asked = self.seen.iter().filter(|id| !left.contains(id)).count();
        TerminationReport { terminated: asked.saturating_sub(killed), killed, survivors }
    }
}

/// Raises this thread's priority, if permitted: hundreds of processes to be
/// killed may compete for the processor.
struct PriorityBoost(Option<i32>);

impl PriorityBoost {
    const HIGHEST_NICE: i32 = -20;

    fn begin() -> Self {
        let usual = getpriority_process(None).ok();
        Self(usual.filter(|_| setpriority_process(None, Self::HIGHEST_NICE).is_ok()))
    }
}

impl Drop for PriorityBoost {
    fn drop(&mut self) {
        if let Some(usual) = self.0 {
            let _ = setpriority_process(None, usual);
        }
    }
}

fn process_keys(found: &[&ProcessStat]) -> ProcessKeys {
    found.iter().map(|it| (it.pid, it.started)).collect()
}

#[cfg(test)]
#[path = "termination_tests.rs"]
mod tests;
