//! A running or ended command, whose output is read even if no caller waits for
//! it.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{CancellationToken, ToolError};
use parking_lot::{Mutex, MutexGuard};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot, watch};

use crate::async_streams;
use crate::backend::{ExecBackend, InputWait, ProcessControl, ProcessExit, SpawnedProcess};
use crate::background_processes;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode, TerminalSize};
use crate::containment::{JobContainment, SandboxStop};
use crate::network::ListeningPort;
use crate::output::{OutputLog, OutputStream, SpillTarget};
use crate::remote::remarks::BackendRemarks;
use crate::screen::TerminalScreen;
use crate::state::ReportExtractor;
use crate::tree::{JobRoot, Signal};

/// Bytes per read.
const READ_CHUNK_BYTES: usize = 256 * 1024;

/// Bytes per read for jobs with little output, which most are.
const SMALL_READ_BYTES: usize = 8 * 1024;

/// After the exit, how long to wait for output of other processes that hold the
/// pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// How long to wait until an exit is noticed.
const EXIT_NOTICE_TIMEOUT: Duration = Duration::from_secs(2);

/// The same for a job that was terminated, and its descendants.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to wait for a program to read a reply of its terminal.
const REPLY_TIMEOUT: Duration = Duration::from_millis(50);

/// How often to check a silent job.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// After this long without output, a job may be waiting for input.
const IDLE_THRESHOLD: Duration = Duration::from_millis(500);

/// Maximum reads per stream when draining it on request.
const MAX_DRAIN_READS: usize = 64;

/// Requests to drain the streams; the reply is whether there was output.
type DrainRequests = mpsc::UnboundedReceiver<oneshot::Sender<bool>>;

/// A running or ended command.
#[derive(Debug)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// The command as given.
    pub command: String,
    /// When it was started.
    pub started_at: SystemTime,
    /// Its process id, if it runs on this machine.
    pub pid: Option<u32>,
    /// What confines it; `None` if it is unconfined.
    pub containment: Option<Arc<JobContainment>>,
    start_instant: Instant,
    /// Before the backend started it: on a busy machine, a process can end
    /// before `start_instant`.
    requested_at: Instant,
    control: Box<dyn ProcessControl>,
    log: Mutex<OutputLog>,
    screen: Option<Mutex<TerminalScreen>>,
    /// Extracts the shell's state report from the output.
    report_extractor: Option<Mutex<ReportExtractor>>,
    input: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    /// Whether it left the last reply of its terminal unread.
    ignores_replies: AtomicBool,
    last_output: Mutex<Instant>,
    ended: watch::Sender<Option<JobExit>>,
    /// Time until all its descendants had ended.
    total_duration: OnceLock<Duration>,
    /// Requests to read everything written so far.
    drain_requests: mpsc::UnboundedSender<oneshot::Sender<bool>>,
    /// Why the exit status is unknown.
    exit_error: Mutex<Option<String>>,
    remarks: BackendRemarks,
}

/// How a job's output is handled.
#[derive(Debug, Default)]
pub struct JobOutputOptions {
    /// Where long output is spilled.
    pub spill: Option<SpillTarget>,
    /// Extracts the shell's state report.
    pub report_extractor: Option<ReportExtractor>,
}

/// How and when a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobExit {
    /// How.
    pub exit: ProcessExit,
    /// Time from start to exit.
    pub elapsed: Duration,
    /// Whether a descendant is known to still run.
    pub has_descendants: bool,
}

/// Why waiting for a job stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    /// The job ended.
    Ended(JobExit),
    /// The deadline passed.
    Deadline,
    /// The job was silent for too long.
    IdleTimeout,
    /// The job waits for user input.
    AwaitingInput,
    /// The job shows a screen that it keeps updating, and accepts keys.
    LiveScreen,
    /// The wait was cancelled.
    Cancelled,
}

/// Limits on waiting for a job.
#[derive(Debug)]
pub struct WaitLimits<'a> {
    /// When to stop waiting.
    pub deadline: Option<Instant>,
    /// How long the job may be silent.
    pub idle_timeout: Option<Duration>,
    /// Cancels the wait.
    pub cancel: &'a CancellationToken,
}

impl Job {
    /// Starts a command.
    pub async fn start(
        backend: &dyn ExecBackend,
        id: String,
        command: String,
        spec: CommandSpec,
        reports: JobOutputOptions,
    ) -> Result<Arc<Self>, ToolError> {
        let JobOutputOptions { spill, report_extractor } = reports;
        let size = match spec.output {
            StdioMode::Terminal(size) => Some(size),
            _ => None,
        };
        let given = match &spec.input {
            StdinSource::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        let requested_at = Instant::now();
        let started = backend.start(&id, spec).await?;
        let now = Instant::now();
        let SpawnedProcess { pid, output, input, control, containment } = started;
        #[cfg(target_os = "linux")]
        if let Some(root) = control.root() {
            crate::guardian::tag_job(root.pid, &root.job);
        }
        let failed = |error: io::Error| ToolError::io("The command's standard streams", &error);
        let output = output
            .into_iter()
            .map(|(source, fd)| Ok((source, async_streams::register_nonblocking(fd)?)));
        let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let input = input.map(async_streams::register_nonblocking).transpose().map_err(failed)?;
        let (behind, calls) = mpsc::unbounded_channel();
        let job = Arc::new(Self {
            id,
            command,
            started_at: SystemTime::now(),
            pid,
            containment,
            start_instant: now,
            requested_at,
            control,
            log: Mutex::new(OutputLog::new(spill).growing()),
            screen: size.map(|size| Mutex::new(TerminalScreen::new(size.rows, size.columns))),
            report_extractor: report_extractor.map(Mutex::new),
            input: tokio::sync::Mutex::new(input),
            ignores_replies: AtomicBool::new(false),
            last_output: Mutex::new(now),
            ended: watch::Sender::new(None),
            total_duration: OnceLock::new(),
            drain_requests: behind,
            exit_error: Mutex::default(),
            remarks: BackendRemarks::current().unwrap_or_default(),
        });
        tokio::spawn(Arc::clone(&job).pump_output(output, calls));
        if let Some(bytes) = given {
            let job = Arc::clone(&job);
            tokio::spawn(async move {
                // A program that does not read all of its input is no failure.
                let _ = job.write(&bytes).await;
                job.close_input().await;
            });
        }
        Ok(job)
    }

    /// Its first process, if it runs on this machine.
    pub(crate) fn root(&self) -> Option<&JobRoot> {
        self.control.root()
    }

    /// Describes what confines it.
    pub fn containment_summary(&self) -> Option<String> {
        self.containment.as_ref().map(|containment| containment.summary.clone())
    }

    /// Returns what the sandbox blocked, as recorded or as inferred from the
    /// job's output. `directory` is its working directory.
    pub fn stops(&self, output: &str, directory: &std::path::Path) -> Vec<SandboxStop> {
        let Some(containment) = &self.containment else { return Vec::new() };
        let has_failed = self.ended().is_none_or(|ended| ended.exit != ProcessExit::Code(0));
        containment.stops(self.requested_at, has_failed, output, directory)
    }

    /// Whether it reaches other hosts through the proxy of this process, and
    /// loses the network when this process ends.
    pub fn is_proxied(&self) -> bool {
        let network = self.containment.as_ref().and_then(|it| it.network.as_ref());
        network.is_some_and(|network| network.has_egress())
    }

    /// Returns the ports it listens on, while it runs.
    pub fn ports(&self) -> Vec<ListeningPort> {
        let network = self.containment.as_ref().and_then(|it| it.network.as_ref());
        let Some(network) = network.filter(|_| self.ended().is_none_or(|it| it.has_descendants))
        else {
            return Vec::new();
        };
        let own = |port: &ListeningPort| port.job.as_deref() == Some(self.id.as_str());
        network.listening().into_iter().filter(own).collect()
    }

    /// Its output so far.
    pub fn log(&self) -> MutexGuard<'_, OutputLog> {
        self.log.lock()
    }

    /// Returns the state report of its shell, if complete.
    pub fn report(&self) -> Option<Vec<u8>> {
        self.report_extractor
            .as_ref()
            .and_then(|report_extractor| report_extractor.lock().report().map(<[u8]>::to_vec))
    }

    /// Its terminal, if it has one.
    pub fn screen(&self) -> Option<MutexGuard<'_, TerminalScreen>> {
        self.screen.as_ref().map(Mutex::lock)
    }

    /// Returns how it ended, or `None` while it runs.
    pub fn ended(&self) -> Option<JobExit> {
        *self.ended.borrow()
    }

    /// Returns how long it has written nothing.
    pub(crate) fn silent_for(&self) -> Duration {
        self.last_output.lock().elapsed()
    }

    /// Returns why its exit status is unknown, such as a lost backend.
    pub fn exit_error(&self) -> Option<String> {
        self.exit_error.lock().clone()
    }

    /// Returns remarks about the backend, such as that it was lost and
    /// recreated.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.all()
    }

    /// Adds a remark to its result.
    pub(crate) fn add_remark(&self, text: String) {
        self.remarks.add(text);
    }

    /// How long it has run, or did run, including its descendants.
    pub fn age(&self) -> Duration {
        match self.ended() {
            Some(ended) if !ended.has_descendants => {
                self.total_duration.get().copied().unwrap_or(ended.elapsed)
            }
            _ => self.start_instant.elapsed(),
        }
    }

    /// Whether its input is open.
    pub fn has_input(&self) -> bool {
        // The lock is held by a writer, so the input is open.
        self.input.try_lock().map_or(true, |input| input.is_some())
    }

    /// Writes to its input; waits until the job reads it.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let input = self.input.lock().await;
        let Some(fd) = &*input else { return Err(io::ErrorKind::NotConnected.into()) };
        async_streams::write_all(fd, bytes).await?;
        *self.last_output.lock() = Instant::now();
        Ok(())
    }

    /// Closes its input.
    pub async fn close_input(&self) {
        if self.screen.is_some() {
            // The terminal driver turns Ctrl-D into end of file.
            let _ = self.write(&[4]).await;
            return;
        }
        self.input.lock().await.take();
        // Most programs respond with output.
        *self.last_output.lock() = Instant::now();
    }

    /// Terminates it and all its descendants.
    pub async fn terminate(&self, grace: Duration) {
        self.control.terminate(grace).await;
        let mut ended = self.ended.subscribe();
        // The output task has yet to notice the exit of the job and its
        // descendants.
        let is_over = |ended: &Option<JobExit>| ended.is_some_and(|ended| !ended.has_descendants);
        let _ = tokio::time::timeout(grace.min(SETTLE_TIMEOUT), ended.wait_for(is_over)).await;
    }

    /// Returns how it ended on its own, including an exit that was not yet
    /// noticed; `None` while it runs.
    pub async fn ended_now(&self) -> Option<JobExit> {
        if self.ended().is_none() && self.control.has_exited() {
            let mut ended = self.ended.subscribe();
            let _ =
                tokio::time::timeout(EXIT_NOTICE_TIMEOUT, ended.wait_for(Option::is_some)).await;
        }
        self.ended()
    }

    /// Sends a signal to it and its descendants; returns the number of
    /// processes.
    pub async fn signal(&self, signal: Signal) -> usize {
        self.control.signal(signal).await
    }

    /// Resizes its terminal.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        if let Some(mut screen) = self.screen() {
            screen.resize(size.rows, size.columns);
        }
        // It is about to redraw.
        *self.last_output.lock() = Instant::now();
        self.control.resize(size)
    }

    /// Waits until it ends or a limit is reached.
    pub async fn wait(&self, timeout: &WaitLimits<'_>) -> WaitOutcome {
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(ended) = *ended.borrow_and_update() {
                return WaitOutcome::Ended(ended);
            }
            if timeout.deadline.is_some_and(|until| until <= Instant::now()) {
                return WaitOutcome::Deadline;
            }
            let silent = self.silent_for();
            if timeout.idle_timeout.is_some_and(|most| silent >= most) {
                return WaitOutcome::IdleTimeout;
            }
            if silent >= IDLE_THRESHOLD
                && let Some(pause) = self.input_outcome().await
            {
                return pause;
            }
            let next = Instant::now() + POLL_INTERVAL;
            let next = timeout.deadline.map_or(next, |until| until.min(next));
            tokio::select! {
                biased;
                _ = ended.changed() => {}
                () = timeout.cancel.cancelled() => return WaitOutcome::Cancelled,
                () = tokio::time::sleep_until(next.into()) => {}
            }
        }
    }

    /// Whether it appears to wait for user input: it has been silent for a
    /// while.
    pub async fn is_awaiting_input(&self) -> bool {
        let silent = self.silent_for();
        let is_silent = self.ended().is_none() && silent >= IDLE_THRESHOLD;
        is_silent && self.input_outcome().await == Some(WaitOutcome::AwaitingInput)
    }

    /// Returns the outcome if it waits for user input.
    async fn input_outcome(&self) -> Option<WaitOutcome> {
        // If the lock is held, the job has not read what was sent, so it does
        // not wait for more, and the writer may block forever.
        if !self.input.try_lock().is_ok_and(|input| input.is_some()) {
            return None;
        }
        let waiting = self.control.input_wait().await;
        // Its prompt may have been written just before.
        if waiting != InputWait::NotWaiting && self.catch_up().await {
            return None;
        }
        match waiting {
            InputWait::NotWaiting => None,
            InputWait::Blocked => Some(WaitOutcome::AwaitingInput),
            // A program that prompts for input shows the cursor.
            InputWait::Polling => match self.screen() {
                Some(screen) if !screen.cursor().visible => {
                    // An empty screen has yet to be drawn.
                    (!screen.text().trim().is_empty()).then_some(WaitOutcome::LiveScreen)
                }
                _ => Some(WaitOutcome::AwaitingInput),
            },
        }
    }

    /// Reads the output written so far; returns whether there was any.
    async fn catch_up(&self) -> bool {
        let (tell, shown) = oneshot::channel();
        self.drain_requests.send(tell).is_ok() && shown.await.unwrap_or(false)
    }

    /// Reads everything available in its streams.
    async fn drain(&self, output: &[(OutputStream, AsyncFd<OwnedFd>)], buffer: &mut [u8]) -> bool {
        let mut found = false;
        for (source, stream) in output {
            for _ in 0..MAX_DRAIN_READS {
                match rustix::io::read(stream.get_ref(), &mut *buffer) {
                    Ok(read @ 1..) => {
                        found = true;
                        self.ingest(*source, buffer.get(..read).unwrap_or_default()).await;
                    }
                    // The main loop handles end of file.
                    _ => break,
                }
            }
        }
        found
    }

    async fn pump_output(
        self: Arc<Self>,
        mut output: Vec<(OutputStream, AsyncFd<OwnedFd>)>,
        mut calls: DrainRequests,
    ) {
        let mut buffer = vec![0; SMALL_READ_BYTES];
        let mut exit = None;
        let ended = self.control.wait();
        tokio::pin!(ended);
        while self.ended().is_none() || !output.is_empty() {
            if let Some(exit) = exit.filter(|_| output.is_empty()) {
                let leaves = self.has_descendants().await;
                self.finish(exit, leaves);
                break;
            }
            tokio::select! {
                biased;
                (at, read) = async_streams::read_any(&output, &mut buffer), if !output.is_empty() => match read {
                    Ok(read) if read > 0 => {
                        let source = output.get(at).map_or(OutputStream::Stdout, |(source, _)| *source);
                        self.ingest(source, buffer.get(..read).unwrap_or_default()).await;
                        if read == buffer.len() {
                            buffer.resize(READ_CHUNK_BYTES, 0);
                        }
                    }
                    // A terminal that is closed on the other side returns an
                    // error.
                    _ => drop(output.remove(at)),
                },
                status = &mut ended, if exit.is_none() => {
                    exit = Some(status.unwrap_or_else(|error| {
                        *self.exit_error.lock() = Some(error.to_string());
                        ProcessExit::Code(-1)
                    }));
                }
                Some(tell) = calls.recv() => {
                    let _ = tell.send(self.drain(&output, &mut buffer).await);
                }
                () = tokio::time::sleep(DRAIN_TIMEOUT), if exit.is_some() && self.ended().is_none() => {
                    if let Some(exit) = exit {
                        self.finish(exit, true);
                    }
                }
            }
        }
        // The streams have ended; fail pending and later drain requests.
        drop(calls);
        self.log().close();
        if self.ended().is_some_and(|ended| ended.has_descendants) {
            // Descendants that closed the streams may still run.
            self.control.wait_for_descendants().await;
        }
        self.ended.send_if_modified(|ended| match ended {
            Some(ended) if ended.has_descendants => {
                let _ = self.total_duration.set(self.start_instant.elapsed());
                ended.has_descendants = false;
                true
            }
            _ => false,
        });
        self.input.lock().await.take();
    }

    /// Whether a descendant without its streams still runs.
    async fn has_descendants(&self) -> bool {
        // Do not query a lost backend.
        self.exit_error().is_none()
            && self
                .control
                .has_descendants(background_processes::may_leave_processes(&self.command))
                .await
    }

    async fn ingest(&self, source: OutputStream, bytes: &[u8]) {
        *self.last_output.lock() = Instant::now();
        let bytes = match &self.report_extractor {
            Some(report_extractor) if source == OutputStream::Stdout => {
                report_extractor.lock().feed(bytes)
            }
            Some(report_extractor) => report_extractor.lock().feed_errors(bytes),
            None => Cow::Borrowed(bytes),
        };
        self.log().push(source, &bytes);
        let replies = self.screen().map(|mut screen| {
            screen.feed(&bytes);
            screen.take_replies()
        });
        if let Some(replies) = replies.filter(|replies| !replies.is_empty()) {
            // A program that queries its terminal but does not read must not
            // block its output.
            let timeout = if self.ignores_replies.load(Ordering::Relaxed) {
                Duration::ZERO
            } else {
                REPLY_TIMEOUT
            };
            let replied = tokio::time::timeout(timeout, self.write(&replies)).await;
            self.ignores_replies.store(replied.is_err(), Ordering::Relaxed);
        }
    }

    fn finish(&self, exit: ProcessExit, lingers: bool) {
        if let Some(report_extractor) = &self.report_extractor {
            let (rest, errors) = report_extractor.lock().finish();
            let mut log = self.log();
            log.push(OutputStream::Stdout, &rest);
            if !errors.is_empty() {
                log.push(OutputStream::Stderr, &errors);
            }
        }
        if !lingers {
            self.log().close();
        }
        let after = self.start_instant.elapsed();
        self.ended.send_replace(Some(JobExit { exit, elapsed: after, has_descendants: lingers }));
    }
}
