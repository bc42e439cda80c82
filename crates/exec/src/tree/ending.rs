//! The end of a job: asked first, then made to, until none of it is left.

use std::collections::{HashMap, HashSet};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, getpriority_process, setpriority_process};

use super::catch::Catch;
use super::process::Process;
use super::table::describe;
use super::{Member, Root, Table, send};

/// Between two looks; it grows from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(25));
/// How often all are stopped before they are killed, if new ones keep coming.
const STOPS: usize = 32;
/// After so many rounds whoever is seen is killed at once: somebody wakes those
/// that are stopped.
const STUBBORN: usize = 20;
/// How long killed processes may take to go, and how long it is gone on with as
/// long as there are new ones.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);
/// So many looks that find nobody are enough, however busy the system is.
const EMPTY: usize = 8;

/// Ids and start times.
type Known = HashSet<(u32, u64)>;

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many went by themselves or when they were asked to.
    pub asked: usize,
    /// How many had to be killed.
    pub killed: usize,
    /// Those that are still there.
    pub survivors: Vec<Survivor>,
}

/// A process that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Which one.
    pub member: Member,
    /// Why it is still there.
    pub reason: Reason,
}

/// Why a process could not be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It belongs to another user.
    NotPermitted,
    /// It was killed, and the system has not let go of it yet.
    Stuck,
    /// The system did not show its processes.
    Unknown,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Take the next step after this long.
    Wait(Duration),
    /// Nothing more.
    Done(Ended),
}

/// A job on its way to its end, for callers that do their own waiting.
#[derive(Debug)]
pub struct Ending {
    root: Root,
    grace: Duration,
    stage: Stage,
    pause: Duration,
    seen: Known,
    killed: Known,
    refused: Known,
    /// Looks in a row that found nobody.
    empty: usize,
}

#[derive(Debug)]
enum Stage {
    /// Not asked yet; since when that was tried.
    Ask {
        since: Option<Instant>,
    },
    Grace {
        until: Instant,
        known: Known,
    },
    Kill(Killing),
}

/// How it goes.
#[derive(Debug, Clone, Copy)]
struct Killing {
    since: Instant,
    /// When there were new ones last.
    news: Instant,
    round: usize,
}

/// Ends a job: all of it is asked to go, and what is still there after
/// `grace` is killed. Blocks until then; see [`Ending`] for a way that does
/// not.
///
/// The first process stays behind for its parent to wait for.
pub fn end(root: &Root, grace: Duration) -> Ended {
    let mut ending = Ending::new(root.clone(), grace);
    loop {
        match ending.step(Instant::now()) {
            Step::Wait(pause) => thread::sleep(pause),
            Step::Done(ended) => return ended,
        }
    }
}

impl Ending {
    /// The end of a job, not begun yet.
    pub fn new(root: Root, grace: Duration) -> Self {
        Self {
            root,
            grace,
            stage: Stage::Ask { since: None },
            pause: PAUSES.0,
            seen: Known::new(),
            killed: Known::new(),
            refused: Known::new(),
            empty: 0,
        }
    }

    /// Does what is due at `now`. Takes a few milliseconds and never sleeps.
    pub fn step(&mut self, now: Instant) -> Step {
        match &self.stage {
            Stage::Ask { since } => self.ask(now, since.unwrap_or(now)),
            Stage::Grace { until, known } => {
                let is_over = now >= *until;
                // As long as one is there, no look at all the others is due.
                if !is_over && known.iter().any(|(pid, started)| super::is_alive(*pid, *started)) {
                    return self.wait();
                }
                self.look_again(now, *until)
            }
            Stage::Kill(killing) => self.kill(now, *killing),
        }
    }

    fn ask(&mut self, now: Instant, since: Instant) -> Step {
        if self.grace.is_zero() || now.saturating_duration_since(since) >= PATIENCE {
            return self.begin_to_kill(now);
        }
        let Ok(table) = self.read() else {
            self.stage = Stage::Ask { since: Some(since) };
            return self.wait();
        };
        let found = self.living(&table);
        if found.is_empty() && table.is_settled() {
            return Step::Done(self.outcome(&[], Reason::Stuck));
        }
        for it in &found {
            if send::to(it.pid, it.started, Signal::TERM).is_ok() {
                // Whoever is stopped, or about to be, hears nothing before it
                // goes on; the others do not mind.
                let _ = send::to(it.pid, it.started, Signal::CONT);
            }
        }
        let until = now.checked_add(self.grace).unwrap_or(now);
        self.stage = Stage::Grace { until, known: known(&found) };
        self.wait()
    }

    /// Some came meanwhile, perhaps to tidy up. They have the rest of the
    /// grace, and are not asked.
    fn look_again(&mut self, now: Instant, until: Instant) -> Step {
        if now >= until {
            return self.begin_to_kill(now);
        }
        let Ok(table) = self.read() else { return self.wait() };
        let found = self.living(&table);
        if found.is_empty() && table.is_settled() {
            return Step::Done(self.outcome(&[], Reason::Stuck));
        }
        self.stage = Stage::Grace { until, known: known(&found) };
        self.wait()
    }

    fn begin_to_kill(&mut self, now: Instant) -> Step {
        self.pause = PAUSES.0;
        self.kill(now, Killing { since: now, news: now, round: 0 })
    }

    fn kill(&mut self, now: Instant, killing: Killing) -> Step {
        let _haste = Haste::begin();
        let known = self.seen.len();
        let stopped = self.stop(killing.round);
        let news = if self.seen.len() > known { now } else { killing.news };
        let is_over = now.saturating_duration_since(news) >= PATIENCE
            || now.saturating_duration_since(killing.since) >= LONGEST;
        self.stage = Stage::Kill(Killing { news, round: killing.round + 1, ..killing });
        let Ok(table) = stopped else {
            if !is_over {
                return self.wait();
            }
            let (pid, started) = (self.root.pid, self.root.started);
            let member = Member { pid, started, command: String::new() };
            let mut ended = self.outcome(&[], Reason::Unknown);
            ended.survivors.push(Survivor { member, reason: Reason::Unknown });
            return Step::Done(ended);
        };
        let found = self.living(&table);
        self.signal(&table, &found, Signal::KILL);
        self.empty = if found.is_empty() { self.empty + 1 } else { 0 };
        // The rest may not be touched, so there is nothing to wait for.
        let is_hopeless = found.iter().all(|it| self.refused.contains(&(it.pid, it.started)));
        let is_sure = table.is_settled() || self.empty >= EMPTY;
        if is_hopeless && is_sure || is_over {
            return Step::Done(self.outcome(&found, Reason::Stuck));
        }
        self.wait()
    }

    /// Stops all of them, over and over until no new ones come: who is stopped
    /// starts no other. The table of the last look.
    fn stop(&mut self, round: usize) -> io::Result<Table> {
        let mut catch = Catch::new(&self.root);
        let signal = if round < STUBBORN { Signal::STOP } else { Signal::KILL };
        let mut table = self.look(&mut catch, signal)?;
        let mut known = 0;
        for _ in 0..STOPS {
            let found = self.living(&table);
            let fresh: Vec<&Process> = found
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
            table = self.look(&mut catch, signal)?;
        }
        if signal == Signal::KILL {
            self.killed.extend(catch.all());
            self.seen.extend(catch.all());
        }
        Ok(table)
    }

    /// Takes a look at all processes, and stops the job's on the way.
    fn look(&self, catch: &mut Catch, signal: Signal) -> io::Result<Table> {
        catch.begin(signal);
        Table::read_telling(&self.root, &mut |it, mark| catch.hear(it, mark))
    }

    /// Signals whole groups where nobody else is in them, and then each.
    fn signal(&mut self, table: &Table, targets: &[&Process], signal: Signal) {
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
            let _ = send::to_group(group, signal);
        }
        for it in targets {
            let id = (it.pid, it.started);
            match send::to(it.pid, it.started, signal) {
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

    fn read(&self) -> io::Result<Table> {
        Table::read_for(&self.root)
    }

    fn living<'a>(&mut self, table: &'a Table) -> Vec<&'a Process> {
        let found: Vec<_> = table.find(&self.root).into_iter().filter(|it| it.is_alive()).collect();
        self.seen.extend(known(&found));
        found
    }

    fn wait(&mut self) -> Step {
        let pause = self.pause;
        self.pause = pause.saturating_mul(2).min(PAUSES.1);
        Step::Wait(pause)
    }

    fn outcome(&self, left: &[&Process], reason: Reason) -> Ended {
        let survivors: Vec<Survivor> = left
            .iter()
            .map(|it| Survivor {
                member: describe(it),
                reason: match self.refused.contains(&(it.pid, it.started)) {
                    true => Reason::NotPermitted,
                    false => reason,
                },
            })
            .collect();
        let left = known(left);
        let killed = self.killed.difference(&left).count();
        let asked = self.seen.iter().filter(|id| !left.contains(id)).count();
        Ended { asked: asked.saturating_sub(killed), killed, survivors }
    }
}

/// More of the processor for this thread, where that may be had: those that are
/// to be killed may be hundreds, each with as much of it.
struct Haste(Option<i32>);

impl Haste {
    const MOST: i32 = -20;

    fn begin() -> Self {
        let usual = getpriority_process(None).ok();
        Self(usual.filter(|_| setpriority_process(None, Self::MOST).is_ok()))
    }
}

impl Drop for Haste {
    fn drop(&mut self) {
        if let Some(usual) = self.0 {
            let _ = setpriority_process(None, usual);
        }
    }
}

fn known(found: &[&Process]) -> Known {
    found.iter().map(|it| (it.pid, it.started)).collect()
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
