//! One exchange with an interpreter, from the code to its result.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use hermes_exec::ProcessExit;
use hermes_exec::output::OutputStream;
use tokio::sync::mpsc;

use crate::images::{ReceivedImage, SavedImage};
use crate::interpreter::{DriverEvent, InterpreterProcess};
use crate::language::ReplLanguage;
use crate::limits::ReplLimits;
use crate::result::{DriverMessage, ReplResult, ReplStatus};

/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for the last output of an interpreter that has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Grace period before an unresponsive interpreter is killed.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// Interval after which a shell is interrupted again.
pub(crate) const INTERRUPT_RETRY_INTERVAL: Duration = Duration::from_millis(700);
/// Maximum number of images per result.
const MAX_IMAGES: usize = 20;

/// A request to run code.
#[derive(Debug)]
pub(crate) struct CodeRequest<'a> {
    pub(crate) id: u64,
    pub(crate) code: &'a str,
    pub(crate) typescript: bool,
    pub(crate) timeout: Duration,
    pub(crate) limits: &'a ReplLimits,
    /// Directory for images.
    pub(crate) image_dir: &'a Path,
}

/// Why code is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopReason {
    Timeout,
    Cancelled,
}

/// How a run ended.
#[derive(Debug)]
enum RunEnd {
    Answered(Box<DriverMessage>),
    /// The interpreter exited or was killed by another process.
    Exited(ProcessExit),
    /// The interpreter had to be killed.
    Killed,
}

/// Results collected while code runs.
#[derive(Debug, Default)]
struct RunArtifacts {
    images: Vec<SavedImage>,
    notes: Vec<String>,
    stderr_flushed: bool,
}

impl InterpreterProcess {
    /// Sends the driver and waits until it is ready.
    pub(crate) async fn handshake(&self) -> Result<(), String> {
        // If it has exited, the loop below notices.
        let _ = self.write(&self.spec.language.driver_source()).await;
        let mut events = self.events.lock().await;
        let (mut ready, mut marked) = (false, false);
        while !(ready && marked) {
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(DriverEvent::Message(shown)) => if let Some(version) = shown.ready {
                        let name = self.spec.language.name();
                        let program = shown.program.unwrap_or_default();
                        let _ = self.version.set(format!("{name} {version} ({program})"));
                        ready = true;
                    },
                    Some(DriverEvent::StderrFlushed) => marked = true,
                    Some(DriverEvent::Image(_)) => {}
                    None => return Err(self.last_stderr_line()),
                },
                _ = self.wait_exit() => {
                    drain_events(&mut events, |_| ()).await;
                    return Err(self.last_stderr_line());
                }
            }
        }
        // Discards the shell's complaints about its terminal.
        self.take_log();
        Ok(())
    }

    fn last_stderr_line(&self) -> String {
        let log = self.take_log();
        let said = log.stream_summary(OutputStream::Stderr, 2_000).text;
        said.trim().lines().next_back().unwrap_or("it exited immediately").to_owned()
    }

    /// Runs code and waits for the result.
    pub(crate) async fn execute(&self, question: &CodeRequest<'_>, cx: &ToolContext) -> ReplResult {
        self.touch();
        let began = Instant::now();
        let mut gathered = RunArtifacts::default();
        let (end, stop) = self.exchange(question, &mut gathered, cx).await;
        self.touch();
        let log = self.take_log();
        let ReplLimits { stdout, stderr, .. } = *question.limits;
        let mut answer = ReplResult {
            status: ReplStatus::Ok,
            value: None,
            rows: None,
            exit_code: None,
            error: None,
            stdout: log.stream_summary(OutputStream::Stdout, stdout).into(),
            stderr: log.stream_summary(OutputStream::Stderr, stderr).into(),
            images: gathered.images,
            notes: gathered.notes,
            seconds: began.elapsed().as_secs_f64(),
            interpreter: self.describe(),
            sandbox: self.sandbox.clone(),
        };
        if self.spec.language == ReplLanguage::Bash {
            answer.stderr.text = strip_shell_noise(&answer.stderr.text, question.code);
        }
        answer.apply_end(end, stop, question);
        answer
    }

    async fn exchange(
        &self,
        question: &CodeRequest<'_>,
        gathered: &mut RunArtifacts,
        cx: &ToolContext,
    ) -> (RunEnd, Option<StopReason>) {
        let mut events = self.events.lock().await;
        // Discards late messages about an earlier request.
        while events.try_recv().is_ok() {}
        let language = self.spec.language;
        let request = language.request(question.id, question.code, question.typescript);
        let mut sending = Box::pin(self.write(&request));
        let mut sent = false;
        let began = Instant::now();
        let mut until = began.checked_add(question.timeout).unwrap_or(began);
        let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
        let mut stop = None;
        let (is_shell, mut again) = (language == ReplLanguage::Bash, until);
        loop {
            let why = tokio::select! {
                biased;
                event = events.recv() => {
                    let Some(event) = event else {
                        return (RunEnd::Exited(self.wait_exit().await), stop);
                    };
                    if let Some(shown) = gathered.handle_event(event, question) {
                        gathered.wait_stderr_flushed(&mut events, question).await;
                        return (RunEnd::Answered(shown), stop);
                    }
                    continue;
                }
                _ = &mut sending, if !sent => {
                    sent = true;
                    continue;
                }
                exit = self.wait_exit() => {
                    let mut shown = None;
                    drain_events(&mut events, |event| shown = gathered.handle_event(event, question).or(shown.take()))
                        .await;
                    // It may have responded before it exited.
                    return (shown.map_or(RunEnd::Exited(exit), RunEnd::Answered), stop);
                }
                () = cx.cancel.cancelled(), if stop.is_none() => StopReason::Cancelled,
                () = tokio::time::sleep_until(until.into()) => StopReason::Timeout,
                // A shell misses an interrupt between two programs.
                () = tokio::time::sleep_until(again.into()), if stop.is_some() && is_shell => {
                    self.interrupt_run(question.id).await;
                    again = Instant::now() + INTERRUPT_RETRY_INTERVAL;
                    continue;
                }
                _ = tick.tick() => {
                    let seconds = began.elapsed().as_secs();
                    if seconds > 0 {
                        cx.report_progress(None, format!("{}: {seconds} s", language.name()));
                    }
                    continue;
                }
            };
            if stop.is_some() {
                // It ignored the interrupt.
                self.terminate(KILL_GRACE).await;
                drain_events(&mut events, |event| drop(gathered.handle_event(event, question)))
                    .await;
                return (RunEnd::Killed, stop);
            }
            stop = Some(why);
            until = Instant::now() + question.limits.grace;
            again = Instant::now() + INTERRUPT_RETRY_INTERVAL;
            self.interrupt_run(question.id).await;
        }
    }

    /// Interrupts the code of a request.
    pub(crate) async fn interrupt_run(&self, id: u64) {
        self.interrupt().await;
        // The interrupt may have discarded the response, so request it again. A
        // request still being written must not be interleaved.
        let reminder = self.spec.language.status_request(id);
        if let Ok(input) = self.input.try_lock() {
            // A pipe accepts so few bytes atomically, unless it is full.
            let _ = input.try_write(&reminder);
        }
    }
}

/// Drains the remaining events of an interpreter that has exited.
async fn drain_events(events: &mut mpsc::Receiver<DriverEvent>, mut take: impl FnMut(DriverEvent)) {
    let all = async {
        while let Some(event) = events.recv().await {
            take(event);
        }
    };
    // Its child processes may keep the stream open.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
}

impl RunArtifacts {
    /// Handles a driver event; returns the message that ends the run, if it is
    /// one.
    fn handle_event(
        &mut self,
        event: DriverEvent,
        question: &CodeRequest<'_>,
    ) -> Option<Box<DriverMessage>> {
        match event {
            DriverEvent::Message(shown) => {
                (shown.done == Some(question.id) || shown.is_garbled).then_some(shown)
            }
            DriverEvent::Image(drawn) => {
                self.save_image(&drawn, question.image_dir);
                None
            }
            DriverEvent::StderrFlushed => {
                self.stderr_flushed = true;
                None
            }
        }
    }

    fn save_image(&mut self, drawn: &ReceivedImage, dir: &Path) {
        if self.images.len() >= MAX_IMAGES {
            return;
        }
        match drawn.save(dir) {
            Ok(picture) => self.images.push(picture),
            Err(error) => self.notes.push(format!("Cannot save an image: {error}")),
        }
    }

    /// Waits until all stderr output written before the response has arrived.
    async fn wait_stderr_flushed(
        &mut self,
        events: &mut mpsc::Receiver<DriverEvent>,
        question: &CodeRequest<'_>,
    ) {
        let all = async {
            while !self.stderr_flushed {
                match events.recv().await {
                    Some(event) => drop(self.handle_event(event, question)),
                    None => break,
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
    }
}

impl ReplResult {
    fn apply_end(&mut self, end: RunEnd, stop: Option<StopReason>, question: &CodeRequest<'_>) {
        let seconds = question.timeout.as_secs_f64();
        let shown = match end {
            RunEnd::Answered(shown) => *shown,
            RunEnd::Killed => {
                self.status = ReplStatus::Ended;
                let why = match stop {
                    Some(StopReason::Cancelled) => "The call was cancelled".to_owned(),
                    _ => format!("The code ran longer than {seconds:.1} s"),
                };
                self.notes.push(format!(
                    "{why} and did not stop when interrupted, so the interpreter was killed. \
                     Its state is lost; the next call starts a new one."
                ));
                return;
            }
            RunEnd::Exited(exit) => {
                self.status = ReplStatus::Ended;
                self.exit_code = Some(exit.code());
                // Node prints this before it aborts.
                let said = self.stderr.text.to_ascii_lowercase();
                let is_full = exit.code() != 0
                    && ["out of memory", "allocation failed", "memoryerror"]
                        .iter()
                        .any(|it| said.contains(it));
                let why = if is_full { ": it ran out of memory" } else { "" };
                self.notes.push(format!(
                    "The interpreter {}{why}. Its state is lost; the next call starts a new one.",
                    describe_exit(exit)
                ));
                return;
            }
        };
        self.value = shown.value;
        self.rows = shown.rows;
        self.exit_code = shown.status;
        self.error = shown.error;
        self.notes.extend(shown.note);
        // A shell whose program was stopped may report success.
        let was_interrupted = match shown.status {
            Some(status) => status == 130 || stop.is_some(),
            None => shown.interrupted,
        };
        self.status = match (stop, was_interrupted, &self.error) {
            (Some(StopReason::Timeout), true, _) => {
                self.notes.push(format!(
                    "The code ran longer than {seconds:.1} s and was interrupted; the state is \
                     kept. Increase 'timeout' to give it more time."
                ));
                ReplStatus::Timeout
            }
            (_, true, _) => ReplStatus::Interrupted,
            (_, false, Some(_)) => ReplStatus::Error,
            (_, false, None) if shown.status.is_some_and(|status| status != 0) => ReplStatus::Error,
            (_, false, None) => ReplStatus::Ok,
        };
    }
}

/// Removes messages of a shell that runs interactively without a terminal.
fn strip_shell_noise(text: &str, code: &str) -> String {
    // With `set -x`, the shell traces the command that runs the code; traces of
    // the code itself are one level deeper.
    let quoted = code.replace('\'', r"'\''");
    let shown = [format!("+ eval '{quoted}'\n"), format!("+ eval {code}\n")];
    let at = shown.iter().find_map(|shown| Some((text.find(shown.as_str())?, shown.len())));
    let (before, text) = match at {
        Some((at, length)) => {
            let (before, rest) = text.split_at(at);
            (before, rest.get(length..).unwrap_or_default())
        }
        None => ("", text),
    };
    let is_noise = |line: &str| {
        // With `set -v`, the shell echoes our own wrapper lines.
        let ours = ["{ __hermes_begin ", "{ __hermes_end "];
        let is_ours = ours.iter().any(|begin| line.starts_with(begin));
        is_ours
            || line.starts_with("bash: [")
                && line.trim_end().ends_with("tcsetattr: Inappropriate ioctl for device")
    };
    let lines = before.split_inclusive('\n').chain(text.split_inclusive('\n'));
    lines.filter(|line| !is_noise(line)).collect()
}

pub(crate) fn describe_exit(exit: ProcessExit) -> String {
    match exit {
        ProcessExit::Code(code) => format!("exited with code {code}"),
        ProcessExit::Signal(signal) => {
            let name = match signal {
                4 => " (illegal instruction)",
                6 => " (aborted)",
                7 => " (bus error)",
                9 => " (killed; possibly out of memory)",
                11 => " (segmentation fault)",
                15 => " (terminated)",
                _ => "",
            };
            format!("was killed by signal {signal}{name}")
        }
    }
}
