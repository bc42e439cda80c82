//! A command that runs, or has run: what it writes is taken in, whether
//! somebody waits for it or not.

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

/// Bytes that are read at a time.
const READ_CHUNK_BYTES: usize = 256 * 1024;

/// Bytes that are read at a time of a job that says little, as most do.
const SMALL_READ_BYTES: usize = 8 * 1024;

/// After its end, so long is waited for more from whoever still has its pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// How long it may take until the end of a job is noticed.
const EXIT_NOTICE_TIMEOUT: Duration = Duration::from_secs(2);

/// The same of one that was ended, and of what it left.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a terminal's reply is offered to a program.
const REPLY_TIMEOUT: Duration = Duration::from_millis(50);

/// How often a silent job is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// After so long without a word it may be waiting for somebody to type.
const IDLE_THRESHOLD: Duration = Duration::from_millis(500);

/// How often a stream is read for somebody who wants to know where it stands.
const MAX_DRAIN_READS: usize = 64;

/// Those who want to know.
type DrainRequests = mpsc::UnboundedReceiver<oneshot::Sender<bool>>;

/// A command that runs, or has run.
#[derive(Debug)]
pub struct Job {
    /// Its name.
    pub id: String,
    /// The command, as it was given.
    pub command: String,
    /// When it was started.
    pub started_at: SystemTime,
    /// Its process, if it is one of this machine.
    pub pid: Option<u32>,
    /// What holds it; none if nothing does.
    pub containment: Option<Arc<JobContainment>>,
    start_instant: Instant,
    control: Box<dyn ProcessControl>,
    log: Mutex<OutputLog>,
    screen: Option<Mutex<TerminalScreen>>,
    /// Takes what the shell reports of itself out of the output.
    frame: Option<Mutex<ReportExtractor>>,
    input: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    /// It did not read the last reply of its terminal.
    ignores_replies: AtomicBool,
    last_output: Mutex<Instant>,
    ended: watch::Sender<Option<JobExit>>,
    /// After how long nothing that it started was there any more.
    total_duration: OnceLock<Duration>,
    /// For whoever wants to know all that it has written by now.
    drain_requests: mpsc::UnboundedSender<oneshot::Sender<bool>>,
    /// Why its end is not known.
    exit_error: Mutex<Option<String>>,
    remarks: BackendRemarks,
}

/// What becomes of a job's output.
#[derive(Debug, Default)]
pub struct JobOutputOptions {
    /// Where it goes when it is long.
    pub spill: Option<SpillTarget>,
    /// What is taken out of it.
    pub frame: Option<ReportExtractor>,
}

/// How and when a job has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobExit {
    /// How.
    pub exit: ProcessExit,
    /// After how long.
    pub elapsed: Duration,
    /// Whether something that it started is known to run on.
    pub has_descendants: bool,
}

/// Why somebody who waited for a job waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    /// It has ended.
    Ended(JobExit),
    /// It was waited for long enough.
    Deadline,
    /// It was silent for too long.
    IdleTimeout,
    /// It waits for somebody to type.
    AwaitingInput,
    /// It shows a screen that it keeps up by itself, and takes keys.
    LiveScreen,
    /// Whoever waited was called away.
    Cancelled,
}

/// How long a job is waited for.
#[derive(Debug)]
pub struct WaitLimits<'a> {
    /// Until then.
    pub deadline: Option<Instant>,
    /// As long as it is not silent for longer.
    pub idle_timeout: Option<Duration>,
    /// Until this is set.
    pub cancel: &'a CancellationToken,
}

impl Job {
    /// Starts a command.
    pub async fn start(
        backend: &dyn ExecBackend,
        id: String,
        command: String,
        order: CommandSpec,
        reports: JobOutputOptions,
    ) -> Result<Arc<Self>, ToolError> {
        let JobOutputOptions { spill, frame } = reports;
        let size = match order.output {
            StdioMode::Terminal(size) => Some(size),
            _ => None,
        };
        let given = match &order.input {
            StdinSource::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        let started = backend.start(&id, order).await?;
        let now = Instant::now();
        let SpawnedProcess { pid, output, input, control, containment } = started;
        #[cfg(target_os = "linux")]
        if let Some(root) = control.root() {
            crate::guardian::register_job(root.pid, &root.job);
        }
        let failed = |error: io::Error| ToolError::io("The command's streams", &error);
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
            control,
            log: Mutex::new(OutputLog::new(spill).growing()),
            screen: size.map(|size| Mutex::new(TerminalScreen::new(size.rows, size.columns))),
            frame: frame.map(Mutex::new),
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
                // One that does not read to the end is no failure.
                let _ = job.write(&bytes).await;
                job.close_input().await;
            });
        }
        Ok(job)
    }

    /// The process that it began with, if it is one of this machine.
    pub(crate) fn root(&self) -> Option<&JobRoot> {
        self.control.root()
    }

    /// Which mechanisms hold it, in words.
    pub fn containment_summary(&self) -> Option<String> {
        self.containment.as_ref().map(|containment| containment.summary.clone())
    }

    /// What the sandbox has stopped, as far as that is known or can be read
    /// from what the job has written. `directory` is where it ran.
    pub fn stops(&self, output: &str, directory: &std::path::Path) -> Vec<SandboxStop> {
        let Some(containment) = &self.containment else { return Vec::new() };
        let has_failed = self.ended().is_none_or(|ended| ended.exit != ProcessExit::Code(0));
        containment.stops(self.start_instant, has_failed, output, directory)
    }

    /// Whether it reaches other hosts through this program, and only as long as
    /// that runs.
    pub fn is_proxied(&self) -> bool {
        let network = self.containment.as_ref().and_then(|it| it.network.as_ref());
        network.is_some_and(|network| network.has_egress())
    }

    /// What it listens on, as long as it runs.
    pub fn ports(&self) -> Vec<ListeningPort> {
        let network = self.containment.as_ref().and_then(|it| it.network.as_ref());
        let Some(network) = network.filter(|_| self.ended().is_none_or(|it| it.has_descendants))
        else {
            return Vec::new();
        };
        let own = |port: &ListeningPort| port.job.as_deref() == Some(self.id.as_str());
        network.listening().into_iter().filter(own).collect()
    }

    /// What it has written so far.
    pub fn log(&self) -> MutexGuard<'_, OutputLog> {
        self.log.lock()
    }

    /// What its shell has reported of itself on its output.
    pub fn report(&self) -> Option<Vec<u8>> {
        self.frame.as_ref().and_then(|frame| frame.lock().report().map(<[u8]>::to_vec))
    }

    /// Its terminal, if it has one.
    pub fn screen(&self) -> Option<MutexGuard<'_, TerminalScreen>> {
        self.screen.as_ref().map(Mutex::lock)
    }

    /// How it has ended; none as long as it runs.
    pub fn ended(&self) -> Option<JobExit> {
        *self.ended.borrow()
    }

    /// Why it is not known how it has ended: its place was lost.
    pub fn exit_error(&self) -> Option<String> {
        self.exit_error.lock().clone()
    }

    /// What is to be told of its place beside what it writes: it was lost and
    /// made anew.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.all()
    }

    /// Has something told with its result.
    pub(crate) fn add_remark(&self, text: String) {
        self.remarks.add(text);
    }

    /// For how long it has run, or did, with all that it left running.
    pub fn age(&self) -> Duration {
        match self.ended() {
            Some(ended) if !ended.has_descendants => {
                self.total_duration.get().copied().unwrap_or(ended.elapsed)
            }
            _ => self.start_instant.elapsed(),
        }
    }

    /// Whether it can be sent something.
    pub fn has_input(&self) -> bool {
        // Where somebody is just doing that, it can.
        self.input.try_lock().map_or(true, |input| input.is_some())
    }

    /// Sends it something to read; waits for as long as it does not read it.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let input = self.input.lock().await;
        let Some(fd) = &*input else { return Err(io::ErrorKind::NotConnected.into()) };
        async_streams::write_all(fd, bytes).await?;
        *self.last_output.lock() = Instant::now();
        Ok(())
    }

    /// Tells it that no more is coming.
    pub async fn close_input(&self) {
        if self.screen.is_some() {
            // A terminal has no end; its driver makes one of this key.
            let _ = self.write(&[4]).await;
            return;
        }
        self.input.lock().await.take();
        // Most programs have something to say about that.
        *self.last_output.lock() = Instant::now();
    }

    /// Ends it and all that it has started.
    pub async fn terminate(&self, grace: Duration) {
        self.control.terminate(grace).await;
        let mut ended = self.ended.subscribe();
        // Its end, and that of what it left, has yet to be noticed.
        let is_over = |ended: &Option<JobExit>| ended.is_some_and(|ended| !ended.has_descendants);
        let _ = tokio::time::timeout(grace.min(SETTLE_TIMEOUT), ended.wait_for(is_over)).await;
    }

    /// How it has ended by itself, also if that was only just now and has yet to
    /// be noticed; none as long as it runs.
    pub async fn ended_now(&self) -> Option<JobExit> {
        if self.ended().is_none() && self.control.has_exited() {
            let mut ended = self.ended.subscribe();
            let _ =
                tokio::time::timeout(EXIT_NOTICE_TIMEOUT, ended.wait_for(Option::is_some)).await;
        }
        self.ended()
    }

    /// Sends it, and what it has started, a signal; to how many processes.
    pub async fn signal(&self, signal: Signal) -> usize {
        self.control.signal(signal).await
    }

    /// Gives its terminal another size.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        if let Some(mut screen) = self.screen() {
            screen.resize(size.rows, size.columns);
        }
        // It is about to draw anew.
        *self.last_output.lock() = Instant::now();
        self.control.resize(size)
    }

    /// Waits for it.
    pub async fn wait(&self, patience: &WaitLimits<'_>) -> WaitOutcome {
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(ended) = *ended.borrow_and_update() {
                return WaitOutcome::Ended(ended);
            }
            if patience.deadline.is_some_and(|until| until <= Instant::now()) {
                return WaitOutcome::Deadline;
            }
            let silent = self.last_output.lock().elapsed();
            if patience.idle_timeout.is_some_and(|most| silent >= most) {
                return WaitOutcome::IdleTimeout;
            }
            if silent >= IDLE_THRESHOLD
                && let Some(pause) = self.input_outcome().await
            {
                return pause;
            }
            let next = Instant::now() + POLL_INTERVAL;
            let next = patience.deadline.map_or(next, |until| until.min(next));
            tokio::select! {
                biased;
                _ = ended.changed() => {}
                () = patience.cancel.cancelled() => return WaitOutcome::Cancelled,
                () = tokio::time::sleep_until(next.into()) => {}
            }
        }
    }

    /// Whether it waits for somebody to type at this moment, as far as can be
    /// told: it has said nothing for a while.
    pub async fn is_awaiting_input(&self) -> bool {
        let silent = self.last_output.lock().elapsed();
        let is_silent = self.ended().is_none() && silent >= IDLE_THRESHOLD;
        is_silent && self.input_outcome().await == Some(WaitOutcome::AwaitingInput)
    }

    /// Whether it waits for somebody to type.
    async fn input_outcome(&self) -> Option<WaitOutcome> {
        // One that has not read what it was sent does not wait for more, and
        // whoever sends it may be held up for ever.
        if !self.input.try_lock().is_ok_and(|input| input.is_some()) {
            return None;
        }
        let waiting = self.control.input_wait().await;
        // What it asks may have been written just before.
        if waiting != InputWait::NotWaiting && self.catch_up().await {
            return None;
        }
        match waiting {
            InputWait::NotWaiting => None,
            InputWait::Blocked => Some(WaitOutcome::AwaitingInput),
            // Whoever wants something typed shows where it will stand.
            InputWait::Polling => match self.screen() {
                Some(screen) if !screen.cursor().visible => {
                    // It has yet to draw.
                    (!screen.text().trim().is_empty()).then_some(WaitOutcome::LiveScreen)
                }
                _ => Some(WaitOutcome::AwaitingInput),
            },
        }
    }

    /// Takes in what it has written so far; whether there was something.
    async fn catch_up(&self) -> bool {
        let (tell, told) = oneshot::channel();
        self.drain_requests.send(tell).is_ok() && told.await.unwrap_or(false)
    }

    /// Takes in what lies in its streams, whether it was announced or not.
    async fn drain(&self, output: &[(OutputStream, AsyncFd<OwnedFd>)], buffer: &mut [u8]) -> bool {
        let mut found = false;
        for (source, stream) in output {
            for _ in 0..MAX_DRAIN_READS {
                match rustix::io::read(stream.get_ref(), &mut *buffer) {
                    Ok(read @ 1..) => {
                        found = true;
                        self.ingest(*source, buffer.get(..read).unwrap_or_default()).await;
                    }
                    // Its end is for whoever waits for it.
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
                    // A terminal that is left tells so by an error.
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
        // Nobody is told any more where its streams stand: they have ended.
        drop(calls);
        self.log().close();
        if self.ended().is_some_and(|ended| ended.has_descendants) {
            // What has closed its streams may go on without them.
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

    /// Whether it has left something running that holds none of its streams.
    async fn has_descendants(&self) -> bool {
        // A place that is lost is not asked.
        self.exit_error().is_none()
            && self
                .control
                .has_descendants(background_processes::may_leave_processes(&self.command))
                .await
    }

    async fn ingest(&self, source: OutputStream, bytes: &[u8]) {
        *self.last_output.lock() = Instant::now();
        let bytes = match &self.frame {
            Some(frame) if source == OutputStream::Stdout => frame.lock().feed(bytes),
            Some(frame) => frame.lock().feed_errors(bytes),
            None => Cow::Borrowed(bytes),
        };
        self.log().push(source, &bytes);
        let replies = self.screen().map(|mut screen| {
            screen.feed(&bytes);
            screen.take_replies()
        });
        if let Some(replies) = replies.filter(|replies| !replies.is_empty()) {
            // One that asks and does not read must not keep us from hearing it.
            let patience = if self.ignores_replies.load(Ordering::Relaxed) {
                Duration::ZERO
            } else {
                REPLY_TIMEOUT
            };
            let replied = tokio::time::timeout(patience, self.write(&replies)).await;
            self.ignores_replies.store(replied.is_err(), Ordering::Relaxed);
        }
    }

    fn finish(&self, exit: ProcessExit, lingers: bool) {
        if let Some(frame) = &self.frame {
            let (rest, errors) = frame.lock().finish();
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
