//! An interpreter that runs: its streams, and how it is steered.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{Confinement, ToolError};
use hermes_exec::surrogates;
use hermes_exec::job_records::JobRecord;
use hermes_exec::output::{OutputLog, OutputMask, OutputStream, SpillTarget};
use hermes_exec::tree::Signal;
use hermes_exec::{ProcessControl, ProcessExit, JobRegistry, SpawnedProcess};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use crate::answer::Told;
use crate::frames::{Frames, Piece};
use crate::language::Language;
use crate::pictures::Drawn;

/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;
/// Bytes of the longest message of a driver.
const LONGEST_MESSAGE: usize = 8 << 20;
/// Bytes of the largest picture.
const LARGEST_PICTURE: usize = 32 << 20;
/// Messages that wait for whoever asked.
const WAITING: usize = 16;
/// Bytes of disk for what one piece of code writes.
const SPILL: u64 = 1 << 30;
/// One that is there for so long stays.
const STAYS: Duration = Duration::from_secs(2);
/// How long what an ended interpreter has left behind has to go.
const GRACE: Duration = Duration::from_secs(1);

/// What an interpreter was made with.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) word: String,
    pub(crate) language: Language,
    pub(crate) database: Option<PathBuf>,
    pub(crate) confinement: Option<Arc<Confinement>>,
    pub(crate) jobs: Arc<JobRegistry>,
    pub(crate) mask: Option<Arc<dyn OutputMask>>,
    /// When its walls were made.
    pub(crate) since: SystemTime,
}

/// An interpreter that runs.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) made: Made,
    pub(crate) held: Option<String>,
    pub(crate) pid: Option<u32>,
    /// What it calls itself.
    pub(crate) version: OnceLock<String>,
    pub(crate) events: tokio::sync::Mutex<mpsc::Receiver<Event>>,
    ended: watch::Receiver<Option<ProcessExit>>,
    control: Arc<dyn ProcessControl>,
    pub(crate) input: tokio::sync::Mutex<pipe::Sender>,
    log: Arc<Mutex<OutputLog>>,
    used: Mutex<Instant>,
}

/// Something that a driver has done.
#[derive(Debug)]
pub(crate) enum Event {
    Told(Box<Told>),
    Drew(Drawn),
    /// All that was written to the standard error before is there.
    Marked,
}

impl Interpreter {
    /// Listens to it from now on.
    pub(crate) fn attend(started: SpawnedProcess, made: Made) -> Result<Arc<Self>, ToolError> {
        let failed = |error: io::Error| ToolError::io("The interpreter's streams", &error);
        let SpawnedProcess { pid, output, input, control, containment } = started;
        let held = containment.map(|containment| containment.summary.clone());
        let input = input.ok_or_else(|| ToolError::internal("The interpreter reads nothing"))?;
        let input = pipe::Sender::from_owned_fd(input).map_err(failed)?;
        let control: Arc<dyn ProcessControl> = control.into();
        let log = Arc::new(Mutex::new(made.fresh_log()));
        let (sender, events) = mpsc::channel(WAITING);
        for (source, stream) in output {
            let stream = receiver(stream).map_err(failed)?;
            let frames = Frames::new(&made.word);
            let heard = Heard { log: Arc::clone(&log), sender: sender.clone() };
            let kept = Kept::default();
            tokio::spawn(Ear { source, frames, heard, kept }.listen(stream));
        }
        let (end, ended) = watch::channel(None);
        let (watched, jobs, id) = (Arc::clone(&control), Arc::clone(&made.jobs), made.id.clone());
        tokio::spawn(async move {
            let exit = watched.wait().await.unwrap_or(ProcessExit::Code(-1));
            end.send_replace(Some(exit));
            // What it has started would be nobody's.
            watched.terminate(GRACE).await;
            forget(&jobs, &id);
        });
        Ok(Arc::new(Self {
            made,
            held,
            pid,
            version: OnceLock::new(),
            events: tokio::sync::Mutex::new(events),
            ended,
            control,
            input: tokio::sync::Mutex::new(input),
            log,
            used: Mutex::new(Instant::now()),
        }))
    }

    /// Writes it down if it stays for longer: one that is idle ends by itself
    /// when nobody is there any more, one that is busy does not.
    pub(crate) async fn write_down(self: Arc<Self>, entry: JobRecord) {
        if tokio::time::timeout(STAYS, self.exit()).await.is_ok() {
            return;
        }
        let Some(leftovers) = self.made.jobs.records() else { return };
        // Without it a crash leaves a process that nobody knows of.
        let _ = leftovers.record(&entry);
        if self.ended().is_some() {
            let _ = leftovers.remove(&entry.id);
        }
    }

    /// Whether a place came to be only after it was started, as far as the file
    /// system knows.
    pub(crate) fn precedes(&self, path: &Path) -> bool {
        let made = std::fs::symlink_metadata(path).and_then(|found| found.created());
        made.is_ok_and(|made| made > self.made.since)
    }

    /// How it has ended; none as long as it runs.
    pub(crate) fn ended(&self) -> Option<ProcessExit> {
        *self.ended.borrow()
    }

    /// Waits for its end.
    pub(crate) async fn exit(&self) -> ProcessExit {
        let mut ended = self.ended.clone();
        let exit = ended.wait_for(Option::is_some).await;
        exit.ok().and_then(|exit| *exit).unwrap_or(ProcessExit::Code(-1))
    }

    /// Sends it something.
    pub(crate) async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let input = self.input.lock().await;
        while !bytes.is_empty() {
            input.writable().await?;
            match input.try_write(bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Interrupts what it does; to how many processes that was said.
    pub(crate) async fn interrupt(&self) -> usize {
        self.control.signal(Signal::INT).await
    }

    /// Ends it and all that it has started.
    pub(crate) async fn end(&self, grace: Duration) {
        self.control.terminate(grace).await;
        // Its end has yet to be noticed.
        let _ = tokio::time::timeout(GRACE, self.exit()).await;
        forget(&self.made.jobs, &self.made.id);
    }

    /// What was written since this was last asked.
    pub(crate) fn take_log(&self) -> OutputLog {
        std::mem::replace(&mut *lock(&self.log), self.made.fresh_log())
    }

    /// It is used now.
    pub(crate) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// For how long it was not used.
    pub(crate) fn idle(&self) -> Duration {
        lock(&self.used).elapsed()
    }

    /// What it is, in words.
    pub(crate) fn describe(&self) -> String {
        self.version.get().cloned().unwrap_or_default()
    }
}

impl Made {
    /// A log for one piece of code. It goes to a file only if somebody takes
    /// secrets out of it.
    fn fresh_log(&self) -> OutputLog {
        let spill = self.mask.clone().map(|mask| SpillTarget {
            directory: self.jobs.directory().join("output"),
            name: format!("repl-{}.log", self.id),
            max_bytes: SPILL,
            mask: Some(mask),
        });
        OutputLog::new(spill)
    }
}

/// It need not be looked for any more.
fn forget(jobs: &JobRegistry, id: &str) {
    // Nobody makes a folder to take nothing out of it.
    if let Some(leftovers) = jobs.directory().join("running").is_dir().then(|| jobs.records()) {
        let _ = leftovers.map(|leftovers| leftovers.remove(id));
    }
}

fn receiver(stream: OwnedFd) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(stream)
}

/// Where what is heard goes.
#[derive(Debug)]
struct Heard {
    log: Arc<Mutex<OutputLog>>,
    sender: mpsc::Sender<Event>,
}

/// What has come of a message so far.
#[derive(Debug, Default)]
struct Kept {
    message: Vec<u8>,
    picture: Vec<u8>,
}

/// Listens to one stream.
#[derive(Debug)]
struct Ear {
    source: OutputStream,
    frames: Frames,
    heard: Heard,
    kept: Kept,
}

impl Ear {
    async fn listen(mut self, stream: pipe::Receiver) {
        let mut buffer = vec![0; CHUNK];
        loop {
            if stream.readable().await.is_err() {
                break;
            }
            let read = match stream.try_read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => break,
            };
            for event in self.take(buffer.get(..read).unwrap_or_default()) {
                // If nobody asks any more, nobody wants to know.
                let _ = self.heard.sender.send(event).await;
            }
        }
        let rest = self.frames.finish();
        lock(&self.heard.log).push(self.source, &rest);
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let Self { source, frames, heard, kept } = self;
        let mut events = Vec::new();
        frames.feed(bytes, |piece| match piece {
            Piece::Raw(raw) => lock(&heard.log).push(*source, raw),
            Piece::Part(_, _) if *source == OutputStream::Stderr => events.push(Event::Marked),
            Piece::Part(b'f', part) => extend(&mut kept.picture, part, LARGEST_PICTURE),
            Piece::Part(kind, part) => {
                extend(&mut kept.message, part, LONGEST_MESSAGE);
                if kind == b'e' {
                    events.extend(kept.finish());
                }
            }
        });
        events
    }
}

impl Kept {
    fn finish(&mut self) -> Option<Event> {
        let message = std::mem::take(&mut self.message);
        // Whoever waits for it must not wait for ever.
        let told: Told = surrogates::from_slice_lossy(&message).unwrap_or_else(|_| Told::garbled());
        let Some(kind) = told.file else { return Some(Event::Told(Box::new(told))) };
        let bytes = std::mem::take(&mut self.picture);
        let extension = told.extension.unwrap_or_default();
        // Half a picture is none.
        (bytes.len() < LARGEST_PICTURE).then_some(Event::Drew(Drawn { kind, extension, bytes }))
    }
}

/// Adds as much as there is room for.
fn extend(to: &mut Vec<u8>, part: &[u8], most: usize) {
    let room = most.saturating_sub(to.len());
    to.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
