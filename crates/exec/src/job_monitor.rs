//! Monitors a background job: sends notices to its session, terminates it when
//! it is idle for too long, and reads the output it writes to a file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{NoticeSink, ProcessEvent, ProcessNotice};
use parking_lot::{Mutex, MutexGuard};

use crate::backend::ProcessExit;
use crate::job::JobExit;
use crate::job_handle::JobHandle;
use crate::jobs::KILL_GRACE;
use crate::output::OutputStream;
use crate::output::clean;
use crate::watch::{self, NoticeAdmission, NoticeBreaker, PatternWatch, WatchSettings};

/// How often to check a job.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes to scan in one step.
const MAX_STEP_BYTES: usize = 1 << 20;
/// Maximum characters of output, and of the command, in a notice.
const MAX_OUTPUT_CHARS: usize = 2000;
const MAX_COMMAND_CHARS: usize = 200;

/// What to monitor about a job.
#[derive(Default)]
pub struct MonitorOptions {
    /// Notify when it ends.
    pub notify_end: bool,
    /// Notify about lines that contain one of these.
    pub patterns: Vec<String>,
    /// Terminate it after this long without output.
    pub idle_timeout: Option<Duration>,
    /// The file it writes to, if it does not write to us.
    pub output_file: Option<PathBuf>,
    /// Where to send notices.
    pub notices: Option<Arc<dyn NoticeSink>>,
}

impl std::fmt::Debug for MonitorOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitorOptions")
            .field("end", &self.notify_end)
            .field("patterns", &self.patterns)
            .field("silence", &self.idle_timeout)
            .field("file", &self.output_file)
            .finish_non_exhaustive()
    }
}

impl MonitorOptions {
    /// Whether there is anything to monitor.
    pub(crate) fn has_work(&self) -> bool {
        self.notify_end
            || !self.patterns.is_empty()
            || self.idle_timeout.is_some()
            || self.output_file.is_some()
    }
}

/// Rate limit per session on the notices of all its jobs.
#[derive(Debug, Default)]
pub(crate) struct SessionBreakers(Mutex<HashMap<String, NoticeBreaker>>);

impl SessionBreakers {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, NoticeBreaker>> {
        self.0.lock()
    }
}

/// The monitor of one job.
pub(crate) struct JobMonitor {
    handle: Arc<JobHandle>,
    notices: Option<Arc<dyn NoticeSink>>,
    breakers: Arc<SessionBreakers>,
    watch: Option<PatternWatch>,
    notifies_end: bool,
    idle_timeout: Option<Duration>,
    output_file: Option<(PathBuf, u64)>,
    /// Bytes of output already scanned, and when the output last grew.
    scanned_bytes: u64,
    last_growth: (u64, Instant),
}

impl JobMonitor {
    pub(crate) fn new(
        handle: Arc<JobHandle>,
        what: MonitorOptions,
        breakers: Arc<SessionBreakers>,
    ) -> Self {
        let watch = (!what.patterns.is_empty())
            .then(|| PatternWatch::new(&what.patterns, WatchSettings::default()));
        Self {
            handle,
            notices: what.notices,
            breakers,
            watch,
            notifies_end: what.notify_end,
            idle_timeout: what.idle_timeout,
            output_file: what.output_file.map(|path| (path, 0)),
            scanned_bytes: 0,
            last_growth: (0, Instant::now()),
        }
    }

    pub(crate) async fn run(mut self) {
        let mut tick = tokio::time::interval(POLL_INTERVAL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            // Read the exit first: output written before it is then complete.
            let ended = self.handle.job.ended();
            self.ingest_file();
            self.scan_output();
            self.release_breaker();
            if let Some(ended) = ended {
                return self.finish(ended, None);
            }
            if self.is_idle() {
                // Set the reason before the end becomes visible.
                self.handle.set_end_reason("inactivity");
                self.handle.job.terminate(KILL_GRACE).await;
                self.ingest_file();
                self.scan_output();
                if let Some(ended) = self.handle.job.ended() {
                    return self.finish(ended, Some("inactivity"));
                }
            }
        }
    }

    /// Reads what the job has written to its file.
    fn ingest_file(&mut self) {
        let Some((path, at)) = &mut self.output_file else { return };
        let Ok(mut file) = File::open(path) else { return };
        if file.seek(SeekFrom::Start(*at)).is_err() {
            return;
        }
        let mut bytes = Vec::new();
        while file
            .by_ref()
            .take(MAX_STEP_BYTES as u64)
            .read_to_end(&mut bytes)
            .is_ok_and(|read| read > 0)
        {
            *at += bytes.len() as u64;
            self.handle.job.log().push(OutputStream::Stdout, &bytes);
            bytes.clear();
        }
    }

    fn scan_output(&mut self) {
        let len = self.handle.job.log().len();
        if len > self.last_growth.0 {
            self.last_growth = (len, Instant::now());
        }
        let Some(watch) = &mut self.watch else { return };
        let mut found = Vec::new();
        while self.scanned_bytes < len {
            let piece = self.handle.job.log().read_from(self.scanned_bytes, MAX_STEP_BYTES);
            if piece.bytes.is_empty() {
                break;
            }
            self.scanned_bytes = piece.next;
            found.extend(watch.feed(&piece.bytes, Instant::now()));
        }
        for notice in found {
            self.report(notice);
        }
    }

    fn report(&mut self, found: watch::WatchNotice) {
        match found {
            watch::WatchNotice::PatternHit(hit) => {
                let patterns = std::iter::once(hit.pattern).chain(hit.others).collect();
                let (lines, suppressed) = (hit.lines, hit.suppressed);
                let event = ProcessEvent::Matched { patterns, lines, suppressed };
                let id = self.handle.job.id.clone();
                let admitted = {
                    let mut breakers = self.breakers.lock();
                    let breaker = breakers.entry(self.handle.session.clone()).or_default();
                    breaker.admit(&id, Instant::now())
                };
                match admitted {
                    NoticeAdmission::Deliver => self.send(event),
                    NoticeAdmission::Tripped => self.send_overflow(
                        "The processes of this session send too many notices; only ends are \
                         reported for a while.",
                        0,
                    ),
                    NoticeAdmission::Silent => {}
                }
            }
            watch::WatchNotice::Disabled { suppressed } => {
                self.notifies_end = true;
                self.send_overflow(
                    "Its watch_patterns match too often and are disabled; its end is reported \
                     instead.",
                    suppressed,
                );
            }
        }
    }

    /// Lifts the session's suppression of notices once it is over.
    fn release_breaker(&mut self) {
        if self.watch.is_none() {
            return;
        }
        let over = {
            let mut breakers = self.breakers.lock();
            let breaker = breakers.get_mut(&self.handle.session);
            breaker.and_then(|breaker| breaker.release(Instant::now()))
        };
        if let Some(summary) = over {
            self.send_overflow("Matches in the meantime were not reported.", summary.dropped);
        }
    }

    fn is_idle(&self) -> bool {
        self.idle_timeout.is_some_and(|most| self.last_growth.1.elapsed() >= most)
    }

    fn finish(&self, ended: JobExit, reason: Option<&'static str>) {
        if !self.notifies_end || self.handle.is_end_acknowledged() {
            return;
        }
        let exited = if matches!(ended.exit, ProcessExit::Signal(_)) { "killed" } else { "exited" };
        let event = ProcessEvent::Completed {
            reason: reason.unwrap_or(exited),
            exit_code: ended.exit.code(),
            output: self.output_tail(),
        };
        self.send(event);
        // A reader may have seen the end in the meantime.
        if self.handle.is_end_acknowledged() {
            self.handle.acknowledge_end();
        }
    }

    /// Returns the last characters of its output.
    fn output_tail(&self) -> String {
        let log = self.handle.job.log();
        let piece = log
            .read_from(log.len().saturating_sub(4 * MAX_OUTPUT_CHARS as u64), 4 * MAX_OUTPUT_CHARS);
        let text = clean(&piece.bytes);
        let skip = text.chars().count().saturating_sub(MAX_OUTPUT_CHARS);
        text.chars().skip(skip).collect()
    }

    fn send_overflow(&self, message: &str, suppressed: u64) {
        self.send(ProcessEvent::Overflow { message: message.to_owned(), suppressed });
    }

    fn send(&self, event: ProcessEvent) {
        let Some(notices) = &self.notices else { return };
        let job = &self.handle.job;
        let command = hermes_core::text::excerpt(&job.command, MAX_COMMAND_CHARS).into_owned();
        let notice = ProcessNotice { session_id: job.id.clone(), command, event };
        notices.notify(&self.handle.session, notice);
    }
}

#[cfg(test)]
#[path = "job_monitor_tests.rs"]
mod tests;
