//! Somebody who looks after a background job: tells what its session waits
//! for, ends it when it is silent for too long, takes in what it writes to a
//! file of its own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{ProcessEvent, ProcessNotice, NoticeSink};

use crate::backend::Exit;
use crate::job::Ended;
use crate::jobs::GRACE;
use crate::listed::Listed;
use crate::output::Source;
use crate::output::clean;
use crate::watch::{self, Admission, Breaker, Settings, Watch};

/// How often a job is looked at.
const TICK: Duration = Duration::from_millis(100);
/// Bytes that are looked at in one step.
const STEP: usize = 1 << 20;
/// Characters of output, and of the command, in a notice.
const OUTPUT: usize = 2000;
const COMMAND: usize = 200;

/// What a session waits for from a job.
#[derive(Default)]
pub struct Attention {
    /// Its end.
    pub end: bool,
    /// Lines with one of these in them.
    pub patterns: Vec<String>,
    /// It is ended after so long without output.
    pub silence: Option<Duration>,
    /// Where it writes, if not to us.
    pub file: Option<PathBuf>,
    /// Where to tell it.
    pub notices: Option<Arc<dyn NoticeSink>>,
}

impl std::fmt::Debug for Attention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attention")
            .field("end", &self.end)
            .field("patterns", &self.patterns)
            .field("silence", &self.silence)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Attention {
    /// Whether there is anything to look after.
    pub(crate) fn is_needed(&self) -> bool {
        self.end || !self.patterns.is_empty() || self.silence.is_some() || self.file.is_some()
    }
}

/// A limit for each session on what all of its jobs have to tell.
#[derive(Debug, Default)]
pub(crate) struct Breakers(Mutex<HashMap<String, Breaker>>);

impl Breakers {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Breaker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One job that is looked after.
pub(crate) struct Attendant {
    listed: Arc<Listed>,
    notices: Option<Arc<dyn NoticeSink>>,
    breakers: Arc<Breakers>,
    watch: Option<Watch>,
    tells_end: bool,
    silence: Option<Duration>,
    file: Option<(PathBuf, u64)>,
    /// How much of the output was looked at, and when there was more last.
    looked: u64,
    last: (u64, Instant),
}

impl Attendant {
    pub(crate) fn new(listed: Arc<Listed>, what: Attention, breakers: Arc<Breakers>) -> Self {
        let watch =
            (!what.patterns.is_empty()).then(|| Watch::new(&what.patterns, Settings::default()));
        Self {
            listed,
            notices: what.notices,
            breakers,
            watch,
            tells_end: what.end,
            silence: what.silence,
            file: what.file.map(|path| (path, 0)),
            looked: 0,
            last: (0, Instant::now()),
        }
    }

    pub(crate) async fn serve(mut self) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            // What was written before its end is there once that is known.
            let ended = self.listed.job.ended();
            self.follow();
            self.look();
            self.release();
            if let Some(ended) = ended {
                return self.finish(ended, None);
            }
            if self.is_silent() {
                // Whoever sees the end wants to see why.
                self.listed.note_reason("inactivity");
                self.listed.job.end(GRACE).await;
                self.follow();
                self.look();
                if let Some(ended) = self.listed.job.ended() {
                    return self.finish(ended, Some("inactivity"));
                }
            }
        }
    }

    /// Takes in what the job has written to its file.
    fn follow(&mut self) {
        let Some((path, at)) = &mut self.file else { return };
        let Ok(mut file) = File::open(path) else { return };
        if file.seek(SeekFrom::Start(*at)).is_err() {
            return;
        }
        let mut bytes = Vec::new();
        while file.by_ref().take(STEP as u64).read_to_end(&mut bytes).is_ok_and(|read| read > 0) {
            *at += bytes.len() as u64;
            self.listed.job.log().push(Source::Stdout, &bytes);
            bytes.clear();
        }
    }

    fn look(&mut self) {
        let len = self.listed.job.log().len();
        if len > self.last.0 {
            self.last = (len, Instant::now());
        }
        let Some(watch) = &mut self.watch else { return };
        let mut found = Vec::new();
        while self.looked < len {
            let piece = self.listed.job.log().since(self.looked, STEP);
            if piece.bytes.is_empty() {
                break;
            }
            self.looked = piece.next;
            found.extend(watch.feed(&piece.bytes, Instant::now()));
        }
        for notice in found {
            self.report(notice);
        }
    }

    fn report(&mut self, found: watch::Notice) {
        match found {
            watch::Notice::Hit(hit) => {
                let patterns = std::iter::once(hit.pattern).chain(hit.others).collect();
                let (lines, suppressed) = (hit.lines, hit.suppressed);
                let event = ProcessEvent::Matched { patterns, lines, suppressed };
                let id = self.listed.job.id.clone();
                let admitted = {
                    let mut breakers = self.breakers.lock();
                    let breaker = breakers.entry(self.listed.session.clone()).or_default();
                    breaker.admit(&id, Instant::now())
                };
                match admitted {
                    Admission::Deliver => self.tell(event),
                    Admission::Tripped => self.overflow(
                        "The processes of this session have too much to tell; nothing but ends \
                         is told for a while.",
                        0,
                    ),
                    Admission::Silent => {}
                }
            }
            watch::Notice::SwitchedOff { suppressed } => {
                self.tells_end = true;
                self.overflow(
                    "Its watch_patterns are found too often and are switched off; its end is told \
                     instead.",
                    suppressed,
                );
            }
        }
    }

    /// Ends a silence of the whole session that is over.
    fn release(&mut self) {
        if self.watch.is_none() {
            return;
        }
        let over = {
            let mut breakers = self.breakers.lock();
            let breaker = breakers.get_mut(&self.listed.session);
            breaker.and_then(|breaker| breaker.release(Instant::now()))
        };
        if let Some(summary) = over {
            self.overflow("What was found meanwhile was not told.", summary.dropped);
        }
    }

    fn is_silent(&self) -> bool {
        self.silence.is_some_and(|most| self.last.1.elapsed() >= most)
    }

    fn finish(&self, ended: Ended, reason: Option<&'static str>) {
        if !self.tells_end || self.listed.is_end_seen() {
            return;
        }
        let exited = if matches!(ended.exit, Exit::Signal(_)) { "killed" } else { "exited" };
        let event = ProcessEvent::Completed {
            reason: reason.unwrap_or(exited),
            exit_code: ended.exit.code(),
            output: self.ending(),
        };
        self.tell(event);
        // Whoever looked in between has seen it.
        if self.listed.is_end_seen() {
            self.listed.see_end();
        }
    }

    /// The last characters of its output.
    fn ending(&self) -> String {
        let log = self.listed.job.log();
        let piece = log.since(log.len().saturating_sub(4 * OUTPUT as u64), 4 * OUTPUT);
        let text = clean(&piece.bytes);
        let skip = text.chars().count().saturating_sub(OUTPUT);
        text.chars().skip(skip).collect()
    }

    fn overflow(&self, message: &str, suppressed: u64) {
        self.tell(ProcessEvent::Overflow { message: message.to_owned(), suppressed });
    }

    fn tell(&self, event: ProcessEvent) {
        let Some(notices) = &self.notices else { return };
        let job = &self.listed.job;
        let mut command: String = job.command.chars().take(COMMAND).collect();
        if command.len() < job.command.len() {
            command.push('…');
        }
        let notice = ProcessNotice { session_id: job.id.clone(), command, event };
        notices.notify(&self.listed.session, notice);
    }
}

#[cfg(test)]
#[path = "attend_tests.rs"]
mod tests;
