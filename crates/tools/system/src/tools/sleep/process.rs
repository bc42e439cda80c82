//! Watches a process: a background command of `terminal`, or any process of
//! this machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{Effect, Scope, ToolContext, ToolError};
use hermes_exec::watch::{PatternWatch, WatchNotice, WatchSettings};
use hermes_exec::{JobExit, JobHandle, JobRegistry, ProcessExit, WaitLimits, WaitOutcome, tree};

use super::{WakeCause, WakeEvent};
use crate::blocking::blocking;
use crate::tools::process::leftovers;

/// Bytes of output searched at a time.
const READ_CHUNK_BYTES: usize = 256 * 1024;

/// The process to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProcessTarget {
    Job(String),
    Pid(u32),
}

impl ProcessTarget {
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ToolError::invalid("'until_process' is empty")
                .with_hint("Give the session_id of a background command, or a pid."));
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Self::Job(text.to_owned()));
        }
        // `pid_t` is signed.
        let pid = text.parse::<i32>().ok().and_then(|pid| u32::try_from(pid).ok());
        pid.filter(|pid| *pid > 0)
            .map(Self::Pid)
            .ok_or_else(|| ToolError::invalid(format!("{text} is not a valid pid")))
    }

    pub(super) fn effect(&self) -> Effect {
        match self {
            Self::Job(id) => Effect::name(Scope::PROCESS_MANAGE, id.as_str()),
            Self::Pid(pid) => Effect::name(Scope::SYSTEM_READ, format!("process {pid}")),
        }
    }
}

#[derive(Debug)]
pub(super) enum ProcessWatch {
    Job {
        handle: Arc<JobHandle>,
        output: Option<OutputWatch>,
    },
    /// The pid and the start time; none if the process did not exist.
    Pid(u32, Option<u64>),
}

/// Search for a text in the output of a command.
#[derive(Debug)]
pub(super) struct OutputWatch {
    text: String,
    watch: Option<PatternWatch>,
    offset: u64,
    /// Size of the output when the wait began.
    initial_bytes: u64,
}

impl ProcessWatch {
    pub(super) async fn start(
        text: &str,
        output: Option<&str>,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let target = ProcessTarget::parse(text)?;
        let effect = target.effect();
        cx.check_grant(&effect.scope, &effect.resource)?;
        let id = match target {
            ProcessTarget::Job(id) => id,
            ProcessTarget::Pid(_) if output.is_some() => {
                return Err(ToolError::invalid(
                    "'until_output' requires a command that terminal started",
                )
                .with_hint("Give its session_id, or wait for a file that the process writes."));
            }
            ProcessTarget::Pid(pid) if pid == std::process::id() => {
                return Err(ToolError::invalid(format!("{pid} is hermes itself"))
                    .with_hint("Give the pid of another process."));
            }
            ProcessTarget::Pid(pid) => return Ok(Self::Pid(pid, tree::start_time(pid))),
        };
        let jobs = JobRegistry::from_context(cx);
        let Some(handle) = jobs.get(cx.session.id(), &id) else {
            let left = leftovers::session_leftovers(&jobs, cx).await;
            if let Some(entry) = left.iter().find(|it| it.id == id && output.is_none()) {
                if let Some(place) = &entry.elsewhere {
                    return Err(remote_leftover_error(place));
                }
                return Ok(Self::Pid(entry.pid, Some(entry.started)));
            }
            let there: Vec<String> = jobs
                .session_jobs(cx.session.id())
                .iter()
                .map(|handle| handle.job.id.clone())
                .collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            return Err(ToolError::not_found(format!(
                "There is no process '{id}' in this session"
            ))
            .with_hint(format!("Existing session_ids: {there}. A pid is a number.")));
        };
        let output = match output {
            Some(text) => Some(OutputWatch::start(text, handle.job.log().len())?),
            None => None,
        };
        Ok(Self::Job { handle, output })
    }

    pub(super) async fn poll(&mut self, cx: &ToolContext) -> Result<Option<WakeEvent>, ToolError> {
        match self {
            Self::Pid(pid, None) => {
                let reason = format!("There is no process {pid}; it has ended or never existed");
                Ok(Some(WakeEvent::new(WakeCause::Process, reason)))
            }
            Self::Pid(pid, Some(started)) => {
                let is_alive = tree::is_alive(*pid, *started);
                let ended =
                    || WakeEvent::new(WakeCause::Process, format!("process {pid} has ended"));
                Ok((!is_alive).then(ended))
            }
            Self::Job { handle, output } => {
                // Read before the output: a job that has ended writes no more.
                let ended = handle.job.ended();
                if let Some(output) = output
                    && let Some(event) = output.poll(handle, cx).await?
                {
                    return Ok(Some(event));
                }
                let text = output.as_ref().map(|output| output.text.as_str());
                Ok(ended.map(|ended| ended_event(&handle.job.id, ended, text)))
            }
        }
    }

    /// Sleeps for `time`, or less if the job ends or waits for input.
    pub(super) async fn pause(
        &self,
        time: Duration,
        cx: &ToolContext,
    ) -> Result<Option<WakeEvent>, ToolError> {
        let Self::Job { handle, output: None } = self else {
            return cx.run_until_cancelled(tokio::time::sleep(time)).await.map(|()| None);
        };
        let until = Some(Instant::now() + time);
        match handle
            .job
            .wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cx.cancel })
            .await
        {
            WaitOutcome::Cancelled => Err(ToolError::cancelled()),
            WaitOutcome::AwaitingInput => {
                let id = &handle.job.id;
                let reason = format!("{id} waits for input; answer with process action=submit");
                Ok(Some(WakeEvent::new(WakeCause::Question, reason)))
            }
            // A program that draws on its screen may still end.
            WaitOutcome::LiveScreen => {
                cx.run_until_cancelled(tokio::time::sleep(time)).await.map(|()| None)
            }
            WaitOutcome::Ended(_) | WaitOutcome::Deadline | WaitOutcome::IdleTimeout => Ok(None),
        }
    }

    pub(super) fn status_text(&self) -> String {
        match self {
            Self::Pid(pid, _) => format!("process {pid} still runs"),
            Self::Job { handle, output: None } => format!("{} still runs", handle.job.id),
            Self::Job { handle, output: Some(output) } => {
                format!("{} has not written '{}' yet", handle.job.id, output.text)
            }
        }
    }
}

/// The process table of this machine says nothing about a job on another.
fn remote_leftover_error(place: &str) -> ToolError {
    let message = format!("The process was started by an earlier instance of hermes, in {place}");
    ToolError::conflict(message)
        .with_hint("Whether it still runs is unknown; process action=kill ends it if it does.")
}

fn ended_event(id: &str, ended: JobExit, text: Option<&str>) -> WakeEvent {
    let mut reason = match ended.exit {
        ProcessExit::Signal(_) => format!("{id} was killed"),
        _ => format!("{id} ended with exit code {}", ended.exit.code()),
    };
    if let Some(text) = text {
        reason = format!(
            "{reason} and has not written '{text}'; process action=log shows its \
            output"
        );
    }
    if ended.has_descendants {
        reason.push_str("; a process that it started still runs");
    }
    WakeEvent { exit_code: Some(ended.exit.code()), ..WakeEvent::new(WakeCause::Process, reason) }
}

impl OutputWatch {
    fn start(text: &str, early: u64) -> Result<Self, ToolError> {
        if text.is_empty() || text.contains(['\n', '\r']) {
            return Err(ToolError::invalid("'until_output' must be a single non-empty line")
                .with_hint("Give literal text from the line to wait for, not a pattern."));
        }
        let watch = PatternWatch::new(&[text.to_owned()], WatchSettings::default());
        Ok(Self { text: text.to_owned(), watch: Some(watch), offset: 0, initial_bytes: early })
    }

    async fn poll(
        &mut self,
        handle: &Arc<JobHandle>,
        cx: &ToolContext,
    ) -> Result<Option<WakeEvent>, ToolError> {
        let Some(mut watch) = self.watch.take() else { return Ok(None) };
        let (job, own, mut offset) = (Arc::clone(handle), cx.clone(), self.offset);
        let read = blocking(cx, move || {
            let mut found = None;
            while found.is_none() && own.check_cancelled().is_ok() {
                let piece = job.job.log().read_from(offset, READ_CHUNK_BYTES);
                if piece.bytes.is_empty() {
                    break;
                }
                offset = piece.next;
                found = watch.feed(&piece.bytes, Instant::now()).into_iter().next();
            }
            (watch, offset, found)
        });
        let (watch, offset, found) = read.await?;
        self.watch = Some(watch);
        let before = std::mem::replace(&mut self.offset, offset);
        let Some(WatchNotice::PatternHit(hit)) = found else { return Ok(None) };
        let when = if before < self.initial_bytes { "had already written it" } else { "wrote it" };
        let event = WakeEvent::new(WakeCause::Output, format!("{} {when}", handle.job.id));
        let exit_code = handle.job.ended().map(|ended| ended.exit.code());
        Ok(Some(WakeEvent { line: hit.lines.into_iter().next(), exit_code, ..event }))
    }
}
