//! The end of a job: asked first, then made to, until none of it is left.

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

/// Between two looks; it grows from the first to the second.
const PAUSE_RANGE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(25));
/// How often all are stopped before they are killed, if new ones keep coming.
const MAX_STOP_ROUNDS: usize = 32;
/// After so many rounds whoever is seen is killed at once: somebody wakes those
/// that are stopped.
const STUBBORN_ROUNDS: usize = 20;
/// How long killed processes may take to go, and how long it is gone on with as
/// long as there are new ones.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_KILL_DURATION: Duration = Duration::from_secs(60);
/// So many looks that find nobody are enough, however busy the system is.
const REQUIRED_EMPTY_SCANS: usize = 8;

/// Ids and start times.
type ProcessKeys = HashSet<(u32, u64)>;

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminationReport {
    /// How many went by themselves or when they were asked to.
    pub terminated: usize,
    /// How many had to be killed.
    pub killed: usize,
    /// Those that are still there.
    pub survivors: Vec<SurvivingProcess>,
}

/// A process that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurvivingProcess {
    /// Which one.
    pub process: JobProcess,
    /// Why it is still there.
    pub reason: SurvivalReason,
}

/// Why a process could not be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurvivalReason {
    /// It belongs to another user.
    NotPermitted,
    /// It was killed, and the system has not let go of it yet.
    Stuck,
    /// The system did not show its processes.
    Unknown,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminationStep {
    /// Take the next step after this long.
    Wait(Duration),
    /// Nothing more.
    Done(TerminationReport),
}

/// A job on its way to its end, for callers that do their own waiting.
#[derive(Debug)]
pub struct JobTermination {
    root: JobRoot,
    grace: Duration,
    stage: TerminationStage,
    pause: Duration,
    seen: ProcessKeys,
    killed: ProcessKeys,
    refused: ProcessKeys,
    /// Looks in a row that found nobody.
    empty_scans: usize,
}

#[derive(Debug)]
enum TerminationStage {
    /// Not asked yet; since when that was tried.
    Requesting {
        since: Option<Instant>,
    },
    WaitingGrace {
        until: Instant,
        known: ProcessKeys,
    },
    Killing(KillProgress),
}

/// How it goes.
#[derive(Debug, Clone, Copy)]
struct KillProgress {
    since: Instant,
    /// When there were new ones last.
    last_new_process: Instant,
    round: usize,
}

/// Ends a job: all of it is asked to go, and what is still there after
/// `grace` is killed. Blocks until then; see [`Ending`] for a way that does
/// not.
///
/// The first process stays behind for its parent to wait for.
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
    /// The end of a job, not begun yet.
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

    /// Does what is due at `now`. Takes a few milliseconds and never sleeps.
    pub fn step(&mut self, now: Instant) -> TerminationStep {
        match &self.stage {
            TerminationStage::Requesting { since } => {
                self.request_termination(now, since.unwrap_or(now))
            }
            TerminationStage::WaitingGrace { until, known } => {
                let is_over = now >= *until;
                // As long as one is there, no look at all the others is due.
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
                // Whoever is stopped, or about to be, hears nothing before it
                // goes on; the others do not mind.
                let _ = signals::send_signal(it.pid, it.started, Signal::CONT);
            }
        }
        let until = now.checked_add(self.grace).unwrap_or(now);
        self.stage = TerminationStage::WaitingGrace { until, known: process_keys(&found) };
        self.next_pause()
    }

    /// Some came meanwhile, perhaps to tidy up. They have the rest of the
    /// grace, and are not asked.
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
        // The rest may not be touched, so there is nothing to wait for.
        let is_hopeless = found.iter().all(|it| self.refused.contains(&(it.pid, it.started)));
        let is_sure = table.is_complete() || self.empty_scans >= REQUIRED_EMPTY_SCANS;
        if is_hopeless && is_sure || is_over {
            return TerminationStep::Done(self.report(&found, SurvivalReason::Stuck));
        }
        self.next_pause()
    }

    /// Stops all of them, over and over until no new ones come: who is stopped
    /// starts no other. The table of the last look.
    fn stop_all(&mut self, round: usize) -> io::Result<ProcessTable> {
        let mut catch = ProcessStopper::new(&self.root);
        let signal = if round < STUBBORN_ROUNDS { Signal::STOP } else { Signal::KILL };
        let mut table = self.scan(&mut catch, signal)?;
        let mut known = 0;
        for _ in 0..MAX_STOP_ROUNDS {
            let found = self.living(&table);
            let fresh: Vec<&ProcessStat> = found
                .into_iter()
                // Killed once is enough; it is only slow to go.
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

    /// Takes a look at all processes, and stops the job's on the way.
    fn scan(&self, catch: &mut ProcessStopper, signal: Signal) -> io::Result<ProcessTable> {
        catch.begin(signal);
        ProcessTable::read_with(&self.root, &mut |it, mark| catch.inspect(it, mark))
    }

    /// Signals whole groups where nobody else is in them, and then each.
    fn signal(&mut self, table: &ProcessTable, targets: &[&ProcessStat], signal: Signal) {
        let mut strangers: HashMap<u32, bool> =
            targets.iter().map(|it| (it.group, false)).collect();
        let members: HashSet<u32> = table.find(&self.root).iter().map(|it| it.pid).collect();
        // The dead hear nothing, whoever they were.
        let others = table.all().iter().filter(|it| it.is_alive() && !members.contains(&it.pid));
        for it in others {
            strangers.entry(it.group).and_modify(|has| *has = true);
        }
        for (group, _) in strangers.into_iter().filter(|(_, has)| !has) {
            // Its members get it once more by themselves, so a refusal here
            // is theirs to tell.
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

/// More of the processor for this thread, where that may be had: those that are
/// to be killed may be hundreds, each with as much of it.
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
