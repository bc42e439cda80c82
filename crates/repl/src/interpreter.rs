//! An interpreter that runs: its streams, and how it is steered.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{Confinement, ToolError};
use hermes_exec::job_records::JobRecord;
use hermes_exec::output::{OutputLog, OutputMask, OutputStream, SpillTarget};
use hermes_exec::surrogates;
use hermes_exec::tree::Signal;
use hermes_exec::{JobRegistry, ProcessControl, ProcessExit, SpawnedProcess};
use parking_lot::Mutex;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use crate::frames::{FrameSplitter, StreamPiece};
use crate::images::ReceivedImage;
use crate::language::ReplLanguage;
use crate::result::DriverMessage;

/// Bytes that are read at a time.
const READ_CHUNK_BYTES: usize = 64 * 1024;
/// Bytes of the longest message of a driver.
const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// Bytes of the largest picture.
const MAX_IMAGE_BYTES: usize = 32 << 20;
/// Messages that wait for whoever asked.
const EVENT_QUEUE_CAPACITY: usize = 16;
/// Bytes of disk for what one piece of code writes.
const MAX_SPILL_BYTES: u64 = 1 << 30;
/// One that is there for so long stays.
const PERSIST_DELAY: Duration = Duration::from_secs(2);
/// How long what an ended interpreter has left behind has to go.
const ORPHAN_GRACE: Duration = Duration::from_secs(1);

/// What an interpreter was made with.
#[derive(Debug)]
pub(crate) struct InterpreterSpec {
    pub(crate) id: String,
    pub(crate) marker: String,
    pub(crate) language: ReplLanguage,
    pub(crate) database: Option<PathBuf>,
    pub(crate) confinement: Option<Arc<Confinement>>,
    pub(crate) jobs: Arc<JobRegistry>,
    pub(crate) mask: Option<Arc<dyn OutputMask>>,
    /// When its walls were made.
    pub(crate) sandboxed_at: SystemTime,
}

/// An interpreter that runs.
#[derive(Debug)]
pub(crate) struct InterpreterProcess {
    pub(crate) spec: InterpreterSpec,
    pub(crate) sandbox: Option<String>,
    pub(crate) pid: Option<u32>,
    /// What it calls itself.
    pub(crate) version: OnceLock<String>,
    pub(crate) events: tokio::sync::Mutex<mpsc::Receiver<DriverEvent>>,
    ended: watch::Receiver<Option<ProcessExit>>,
    control: Arc<dyn ProcessControl>,
    pub(crate) input: tokio::sync::Mutex<pipe::Sender>,
    log: Arc<Mutex<OutputLog>>,
    used: Mutex<Instant>,
}

/// Something that a driver has done.
#[derive(Debug)]
pub(crate) enum DriverEvent {
    Message(Box<DriverMessage>),
    Image(ReceivedImage),
    /// All that was written to the standard error before is there.
    StderrFlushed,
}

impl InterpreterProcess {
    /// Listens to it from now on.
    pub(crate) fn from_started(
        started: SpawnedProcess,
        made: InterpreterSpec,
    ) -> Result<Arc<Self>, ToolError> {
        let failed = |error: io::Error| ToolError::io("The interpreter's streams", &error);
        let SpawnedProcess { pid, output, input, control, containment } = started;
        let held = containment.map(|containment| containment.summary.clone());
        let input = input.ok_or_else(|| ToolError::internal("The interpreter reads nothing"))?;
        let input = pipe::Sender::from_owned_fd(input).map_err(failed)?;
        let control: Arc<dyn ProcessControl> = control.into();
        let log = Arc::new(Mutex::new(made.fresh_log()));
        let (sender, events) = mpsc::channel(EVENT_QUEUE_CAPACITY);
        for (source, stream) in output {
            let stream = receiver(stream).map_err(failed)?;
            let frames = FrameSplitter::new(&made.marker);
            let heard = OutputSink { log: Arc::clone(&log), sender: sender.clone() };
            let kept = PartialMessage::default();
            tokio::spawn(
                StreamReader { source, frames, sink: heard, partial: kept }.read_stream(stream),
            );
        }
        let (end, ended) = watch::channel(None);
        let (watched, jobs, id) = (Arc::clone(&control), Arc::clone(&made.jobs), made.id.clone());
        tokio::spawn(async move {
            let exit = watched.wait().await.unwrap_or(ProcessExit::Code(-1));
            end.send_replace(Some(exit));
            // What it has started would be nobody's.
            watched.terminate(ORPHAN_GRACE).await;
            remove_record(&jobs, &id);
        });
        Ok(Arc::new(Self {
            spec: made,
            sandbox: held,
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
    pub(crate) async fn persist(self: Arc<Self>, entry: JobRecord) {
        if tokio::time::timeout(PERSIST_DELAY, self.wait_exit()).await.is_ok() {
            return;
        }
        let Some(leftovers) = self.spec.jobs.records() else { return };
        // Without it a crash leaves a process that nobody knows of.
        let _ = leftovers.record(&entry);
        if self.exit_status().is_some() {
            let _ = leftovers.remove(&entry.id);
        }
    }

    /// Whether a place came to be only after it was started, as far as the file
    /// system knows.
    pub(crate) fn predates(&self, path: &Path) -> bool {
        let made = std::fs::symlink_metadata(path).and_then(|found| found.created());
        made.is_ok_and(|made| made > self.spec.sandboxed_at)
    }

    /// How it has ended; none as long as it runs.
    pub(crate) fn exit_status(&self) -> Option<ProcessExit> {
        *self.ended.borrow()
    }

    /// Waits for its end.
    pub(crate) async fn wait_exit(&self) -> ProcessExit {
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
    pub(crate) async fn terminate(&self, grace: Duration) {
        self.control.terminate(grace).await;
        // Its end has yet to be noticed.
        let _ = tokio::time::timeout(ORPHAN_GRACE, self.wait_exit()).await;
        remove_record(&self.spec.jobs, &self.spec.id);
    }

    /// What was written since this was last asked.
    pub(crate) fn take_log(&self) -> OutputLog {
        std::mem::replace(&mut *self.log.lock(), self.spec.fresh_log())
    }

    /// It is used now.
    pub(crate) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    /// For how long it was not used.
    pub(crate) fn idle_time(&self) -> Duration {
        self.used.lock().elapsed()
    }

    /// What it is, in words.
    pub(crate) fn describe(&self) -> String {
        self.version.get().cloned().unwrap_or_default()
    }
}

impl InterpreterSpec {
    /// A log for one piece of code. It goes to a file only if somebody takes
    /// secrets out of it.
    fn fresh_log(&self) -> OutputLog {
        let spill = self.mask.clone().map(|mask| SpillTarget {
            directory: self.jobs.directory().join("output"),
            name: format!("repl-{}.log", self.id),
            max_bytes: MAX_SPILL_BYTES,
            mask: Some(mask),
        });
        OutputLog::new(spill)
    }
}

/// It need not be looked for any more.
fn remove_record(jobs: &JobRegistry, id: &str) {
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
struct OutputSink {
    log: Arc<Mutex<OutputLog>>,
    sender: mpsc::Sender<DriverEvent>,
}

/// What has come of a message so far.
#[derive(Debug, Default)]
struct PartialMessage {
    message: Vec<u8>,
    image: Vec<u8>,
}

/// Listens to one stream.
#[derive(Debug)]
struct StreamReader {
    source: OutputStream,
    frames: FrameSplitter,
    sink: OutputSink,
    partial: PartialMessage,
}

impl StreamReader {
    async fn read_stream(mut self, stream: pipe::Receiver) {
        let mut buffer = vec![0; READ_CHUNK_BYTES];
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
            for event in self.split_events(buffer.get(..read).unwrap_or_default()) {
                // If nobody asks any more, nobody wants to know.
                let _ = self.sink.sender.send(event).await;
            }
        }
        let rest = self.frames.finish();
        self.sink.log.lock().push(self.source, &rest);
    }

    fn split_events(&mut self, bytes: &[u8]) -> Vec<DriverEvent> {
        let Self { source, frames, sink: heard, partial: kept } = self;
        let mut events = Vec::new();
        frames.feed(bytes, |piece| match piece {
            StreamPiece::CodeOutput(raw) => heard.log.lock().push(*source, raw),
            StreamPiece::DriverPart(_, _) if *source == OutputStream::Stderr => {
                events.push(DriverEvent::StderrFlushed)
            }
            StreamPiece::DriverPart(b'f', part) => {
                extend_bounded(&mut kept.image, part, MAX_IMAGE_BYTES)
            }
            StreamPiece::DriverPart(kind, part) => {
                extend_bounded(&mut kept.message, part, MAX_MESSAGE_BYTES);
                if kind == b'e' {
                    events.extend(kept.into_event());
                }
            }
        });
        events
    }
}

impl PartialMessage {
    fn into_event(&mut self) -> Option<DriverEvent> {
        let message = std::mem::take(&mut self.message);
        // Whoever waits for it must not wait for ever.
        let told: DriverMessage =
            surrogates::from_slice_lossy(&message).unwrap_or_else(|_| DriverMessage::unreadable());
        let Some(kind) = told.file else { return Some(DriverEvent::Message(Box::new(told))) };
        let bytes = std::mem::take(&mut self.image);
        let extension = told.extension.unwrap_or_default();
        // Half a picture is none.
        (bytes.len() < MAX_IMAGE_BYTES).then_some(DriverEvent::Image(ReceivedImage {
            kind,
            extension,
            bytes,
        }))
    }
}

/// Adds as much as there is room for.
fn extend_bounded(to: &mut Vec<u8>, part: &[u8], most: usize) {
    let room = most.saturating_sub(to.len());
    to.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
}
