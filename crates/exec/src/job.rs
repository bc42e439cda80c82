//! A command that runs, or has run: what it writes is taken in, whether
//! somebody waits for it or not.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{CancellationToken, ToolError};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot, watch};

use crate::backend::{Backend, Control, Exit, Started, Waiting};
use crate::containment::{JobContainment, SandboxStop};
use crate::elsewhere::remarks::Remarks;
use crate::network::ListeningPort;
use crate::order::{Input, Order, Output, Size};
use crate::output::{Log, Source, Spill};
use crate::ready;
use crate::screen::Screen;
use crate::state::Frame;
use crate::strays;
use crate::tree::{Root, Signal};

/// Bytes that are read at a time.
const CHUNK: usize = 256 * 1024;

/// Bytes that are read at a time of a job that says little, as most do.
const SIP: usize = 8 * 1024;

/// After its end, so long is waited for more from whoever still has its pipe.
const DRAIN: Duration = Duration::from_millis(100);

/// How long it may take until the end of a job is noticed.
const NOTICE: Duration = Duration::from_secs(2);

/// The same of one that was ended, and of what it left.
const SETTLE: Duration = Duration::from_secs(1);

/// How long a terminal's reply is offered to a program.
const REPLY: Duration = Duration::from_millis(50);

/// How often a silent job is looked at.
const GLANCE: Duration = Duration::from_millis(250);

/// After so long without a word it may be waiting for somebody to type.
const HUSH: Duration = Duration::from_millis(500);

/// How often a stream is read for somebody who wants to know where it stands.
const READS: usize = 64;

/// Those who want to know.
type Calls = mpsc::UnboundedReceiver<oneshot::Sender<bool>>;

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
    began: Instant,
    control: Box<dyn Control>,
    log: Mutex<Log>,
    screen: Option<Mutex<Screen>>,
    /// Takes what the shell reports of itself out of the output.
    frame: Option<Mutex<Frame>>,
    input: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    /// It did not read the last reply of its terminal.
    is_deaf: AtomicBool,
    last: Mutex<Instant>,
    ended: watch::Sender<Option<Ended>>,
    /// After how long nothing that it started was there any more.
    over: OnceLock<Duration>,
    /// For whoever wants to know all that it has written by now.
    behind: mpsc::UnboundedSender<oneshot::Sender<bool>>,
    /// Why its end is not known.
    trouble: Mutex<Option<String>>,
    remarks: Remarks,
}

/// What becomes of a job's output.
#[derive(Debug, Default)]
pub struct Reports {
    /// Where it goes when it is long.
    pub spill: Option<Spill>,
    /// What is taken out of it.
    pub frame: Option<Frame>,
}

/// How and when a job has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub exit: Exit,
    /// After how long.
    pub after: Duration,
    /// Whether something that it started is known to run on.
    pub lingers: bool,
}

/// Why somebody who waited for a job waits no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It has ended.
    Ended(Ended),
    /// It was waited for long enough.
    Deadline,
    /// It was silent for too long.
    Silence,
    /// It waits for somebody to type.
    Question,
    /// It shows a screen that it keeps up by itself, and takes keys.
    Live,
    /// Whoever waited was called away.
    Cancelled,
}

/// How long a job is waited for.
#[derive(Debug)]
pub struct Patience<'a> {
    /// Until then.
    pub until: Option<Instant>,
    /// As long as it is not silent for longer.
    pub silence: Option<Duration>,
    /// Until this is set.
    pub cancel: &'a CancellationToken,
}

impl Job {
    /// Starts a command.
    pub async fn start(
        backend: &dyn Backend,
        id: String,
        command: String,
        order: Order,
        reports: Reports,
    ) -> Result<Arc<Self>, ToolError> {
        let Reports { spill, frame } = reports;
        let size = match order.output {
            Output::Terminal(size) => Some(size),
            _ => None,
        };
        let given = match &order.input {
            Input::Given(bytes) => Some(bytes.clone()),
            _ => None,
        };
        let started = backend.start(&id, order).await?;
        let now = Instant::now();
        let Started { pid, output, input, control, containment } = started;
        #[cfg(target_os = "linux")]
        if let Some(root) = control.root() {
            crate::guardian::claim(root.pid, &root.job);
        }
        let failed = |error: io::Error| ToolError::io("The command's streams", &error);
        let output = output.into_iter().map(|(source, fd)| Ok((source, ready::stream(fd)?)));
        let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let input = input.map(ready::stream).transpose().map_err(failed)?;
        let (behind, calls) = mpsc::unbounded_channel();
        let job = Arc::new(Self {
            id,
            command,
            started_at: SystemTime::now(),
            pid,
            containment,
            began: now,
            control,
            log: Mutex::new(Log::new(spill).growing()),
            screen: size.map(|size| Mutex::new(Screen::new(size.rows, size.columns))),
            frame: frame.map(Mutex::new),
            input: tokio::sync::Mutex::new(input),
            is_deaf: AtomicBool::new(false),
            last: Mutex::new(now),
            ended: watch::Sender::new(None),
            over: OnceLock::new(),
            behind,
            trouble: Mutex::default(),
            remarks: Remarks::wanted().unwrap_or_default(),
        });
        tokio::spawn(Arc::clone(&job).pump(output, calls));
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
    pub(crate) fn root(&self) -> Option<&Root> {
        self.control.root()
    }

    /// Which mechanisms hold it, in words.
    pub fn held(&self) -> Option<String> {
        self.containment.as_ref().map(|containment| containment.held.clone())
    }

    /// What the sandbox has stopped, as far as that is known or can be read
    /// from what the job has written. `directory` is where it ran.
    pub fn stops(&self, output: &str, directory: &std::path::Path) -> Vec<SandboxStop> {
        let Some(containment) = &self.containment else { return Vec::new() };
        let has_failed = self.ended().is_none_or(|ended| ended.exit != Exit::Code(0));
        containment.stops(self.began, has_failed, output, directory)
    }

    /// Whether it reaches other hosts through this program, and only as long as
    /// that runs.
    pub fn is_proxied(&self) -> bool {
        let network = self.containment.as_ref().and_then(|it| it.network.as_ref());
        network.is_some_and(|network| network.has_way_out())
    }

    /// What it listens on, as long as it runs.
    pub fn ports(&self) -> Vec<ListeningPort> {
        let network = self.containment.as_ref().and_then(|it| it.network.as_ref());
        let Some(network) = network.filter(|_| self.ended().is_none_or(|it| it.lingers)) else {
            return Vec::new();
        };
        let own = |port: &ListeningPort| port.job.as_deref() == Some(self.id.as_str());
        network.listening().into_iter().filter(own).collect()
    }

    /// What it has written so far.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }

    /// What its shell has reported of itself on its output.
    pub fn report(&self) -> Option<Vec<u8>> {
        self.frame.as_ref().and_then(|frame| lock(frame).report().map(<[u8]>::to_vec))
    }

    /// Its terminal, if it has one.
    pub fn screen(&self) -> Option<MutexGuard<'_, Screen>> {
        self.screen.as_ref().map(lock)
    }

    /// How it has ended; none as long as it runs.
    pub fn ended(&self) -> Option<Ended> {
        *self.ended.borrow()
    }

    /// Why it is not known how it has ended: its place was lost.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// What is to be told of its place beside what it writes: it was lost and
    /// made anew.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.all()
    }

    /// Has something told with its result.
    pub(crate) fn remark(&self, text: String) {
        self.remarks.add(text);
    }

    /// For how long it has run, or did, with all that it left running.
    pub fn age(&self) -> Duration {
        match self.ended() {
            Some(ended) if !ended.lingers => self.over.get().copied().unwrap_or(ended.after),
            _ => self.began.elapsed(),
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
        ready::write(fd, bytes).await?;
        *lock(&self.last) = Instant::now();
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
        *lock(&self.last) = Instant::now();
    }

    /// Ends it and all that it has started.
    pub async fn end(&self, grace: Duration) {
        self.control.end(grace).await;
        let mut ended = self.ended.subscribe();
        // Its end, and that of what it left, has yet to be noticed.
        let is_over = |ended: &Option<Ended>| ended.is_some_and(|ended| !ended.lingers);
        let _ = tokio::time::timeout(grace.min(SETTLE), ended.wait_for(is_over)).await;
    }

    /// How it has ended by itself, also if that was only just now and has yet to
    /// be noticed; none as long as it runs.
    pub async fn ended_by_now(&self) -> Option<Ended> {
        if self.ended().is_none() && self.control.is_over() {
            let mut ended = self.ended.subscribe();
            let _ = tokio::time::timeout(NOTICE, ended.wait_for(Option::is_some)).await;
        }
        self.ended()
    }

    /// Sends it, and what it has started, a signal; to how many processes.
    pub async fn signal(&self, signal: Signal) -> usize {
        self.control.signal(signal).await
    }

    /// Gives its terminal another size.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        if let Some(mut screen) = self.screen() {
            screen.resize(size.rows, size.columns);
        }
        // It is about to draw anew.
        *lock(&self.last) = Instant::now();
        self.control.resize(size)
    }

    /// Waits for it.
    pub async fn wait(&self, patience: &Patience<'_>) -> Pause {
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(ended) = *ended.borrow_and_update() {
                return Pause::Ended(ended);
            }
            if patience.until.is_some_and(|until| until <= Instant::now()) {
                return Pause::Deadline;
            }
            let silent = lock(&self.last).elapsed();
            if patience.silence.is_some_and(|most| silent >= most) {
                return Pause::Silence;
            }
            if silent >= HUSH
                && let Some(pause) = self.asks().await
            {
                return pause;
            }
            let next = Instant::now() + GLANCE;
            let next = patience.until.map_or(next, |until| until.min(next));
            tokio::select! {
                biased;
                _ = ended.changed() => {}
                () = patience.cancel.cancelled() => return Pause::Cancelled,
                () = tokio::time::sleep_until(next.into()) => {}
            }
        }
    }

    /// Whether it waits for somebody to type at this moment, as far as can be
    /// told: it has said nothing for a while.
    pub async fn is_asking(&self) -> bool {
        let silent = lock(&self.last).elapsed();
        let is_silent = self.ended().is_none() && silent >= HUSH;
        is_silent && self.asks().await == Some(Pause::Question)
    }

    /// Whether it waits for somebody to type.
    async fn asks(&self) -> Option<Pause> {
        // One that has not read what it was sent does not wait for more, and
        // whoever sends it may be held up for ever.
        if !self.input.try_lock().is_ok_and(|input| input.is_some()) {
            return None;
        }
        let waiting = self.control.awaits_input().await;
        // What it asks may have been written just before.
        if waiting != Waiting::Nothing && self.catch_up().await {
            return None;
        }
        match waiting {
            Waiting::Nothing => None,
            Waiting::Typing => Some(Pause::Question),
            // Whoever wants something typed shows where it will stand.
            Waiting::Glance => match self.screen() {
                Some(screen) if !screen.cursor().visible => {
                    // It has yet to draw.
                    (!screen.text().trim().is_empty()).then_some(Pause::Live)
                }
                _ => Some(Pause::Question),
            },
        }
    }

    /// Takes in what it has written so far; whether there was something.
    async fn catch_up(&self) -> bool {
        let (tell, told) = oneshot::channel();
        self.behind.send(tell).is_ok() && told.await.unwrap_or(false)
    }

    /// Takes in what lies in its streams, whether it was announced or not.
    async fn drain(&self, output: &[(Source, AsyncFd<OwnedFd>)], buffer: &mut [u8]) -> bool {
        let mut found = false;
        for (source, stream) in output {
            for _ in 0..READS {
                match rustix::io::read(stream.get_ref(), &mut *buffer) {
                    Ok(read @ 1..) => {
                        found = true;
                        self.take(*source, buffer.get(..read).unwrap_or_default()).await;
                    }
                    // Its end is for whoever waits for it.
                    _ => break,
                }
            }
        }
        found
    }

    async fn pump(self: Arc<Self>, mut output: Vec<(Source, AsyncFd<OwnedFd>)>, mut calls: Calls) {
        let mut buffer = vec![0; SIP];
        let mut exit = None;
        let ended = self.control.ended();
        tokio::pin!(ended);
        while self.ended().is_none() || !output.is_empty() {
            if let Some(exit) = exit.filter(|_| output.is_empty()) {
                let leaves = self.leaves().await;
                self.finish(exit, leaves);
                break;
            }
            tokio::select! {
                biased;
                (at, read) = ready::read(&output, &mut buffer), if !output.is_empty() => match read {
                    Ok(read) if read > 0 => {
                        let source = output.get(at).map_or(Source::Stdout, |(source, _)| *source);
                        self.take(source, buffer.get(..read).unwrap_or_default()).await;
                        if read == buffer.len() {
                            buffer.resize(CHUNK, 0);
                        }
                    }
                    // A terminal that is left tells so by an error.
                    _ => drop(output.remove(at)),
                },
                status = &mut ended, if exit.is_none() => {
                    exit = Some(status.unwrap_or_else(|error| {
                        *lock(&self.trouble) = Some(error.to_string());
                        Exit::Code(-1)
                    }));
                }
                Some(tell) = calls.recv() => {
                    let _ = tell.send(self.drain(&output, &mut buffer).await);
                }
                () = tokio::time::sleep(DRAIN), if exit.is_some() && self.ended().is_none() => {
                    if let Some(exit) = exit {
                        self.finish(exit, true);
                    }
                }
            }
        }
        // Nobody is told any more where its streams stand: they have ended.
        drop(calls);
        self.log().close();
        if self.ended().is_some_and(|ended| ended.lingers) {
            // What has closed its streams may go on without them.
            self.control.deserted().await;
        }
        self.ended.send_if_modified(|ended| match ended {
            Some(ended) if ended.lingers => {
                let _ = self.over.set(self.began.elapsed());
                ended.lingers = false;
                true
            }
            _ => false,
        });
        self.input.lock().await.take();
    }

    /// Whether it has left something running that holds none of its streams.
    async fn leaves(&self) -> bool {
        // A place that is lost is not asked.
        self.trouble().is_none() && self.control.leaves(strays::are_likely(&self.command)).await
    }

    async fn take(&self, source: Source, bytes: &[u8]) {
        *lock(&self.last) = Instant::now();
        let bytes = match &self.frame {
            Some(frame) if source == Source::Stdout => lock(frame).feed(bytes),
            Some(frame) => lock(frame).feed_errors(bytes),
            None => Cow::Borrowed(bytes),
        };
        self.log().push(source, &bytes);
        let replies = self.screen().map(|mut screen| {
            screen.feed(&bytes);
            screen.replies()
        });
        if let Some(replies) = replies.filter(|replies| !replies.is_empty()) {
            // One that asks and does not read must not keep us from hearing it.
            let patience =
                if self.is_deaf.load(Ordering::Relaxed) { Duration::ZERO } else { REPLY };
            let replied = tokio::time::timeout(patience, self.write(&replies)).await;
            self.is_deaf.store(replied.is_err(), Ordering::Relaxed);
        }
    }

    fn finish(&self, exit: Exit, lingers: bool) {
        if let Some(frame) = &self.frame {
            let (rest, errors) = lock(frame).finish();
            let mut log = self.log();
            log.push(Source::Stdout, &rest);
            if !errors.is_empty() {
                log.push(Source::Stderr, &errors);
            }
        }
        if !lingers {
            self.log().close();
        }
        let after = self.began.elapsed();
        self.ended.send_replace(Some(Ended { exit, after, lingers }));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
