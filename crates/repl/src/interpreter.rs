//! A running interpreter: its streams and its control.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::surrogates;
use hermes_core::{Confinement, ToolError};
use hermes_exec::job_records::JobRecord;
use hermes_exec::output::{OutputLog, OutputMask, OutputStream, SpillTarget};
use hermes_exec::tree::Signal;
use hermes_exec::{JobRegistry, ProcessControl, ProcessExit, SpawnedProcess};
use parking_lot::Mutex;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use crate::frames::{FrameSplitter, StreamPiece};
use crate::images::ReceivedImage;
use crate::language::ReplLanguage;
use crate::result::DriverMessage;

/// Bytes read at a time.
const READ_CHUNK_BYTES: usize = 64 * 1024;
/// Maximum size of a driver message in bytes.
const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// Maximum size of an image in bytes.
const MAX_IMAGE_BYTES: usize = 32 << 20;
/// Capacity of the event queue.
const EVENT_QUEUE_CAPACITY: usize = 16;
/// Maximum spilled output of one run in bytes.
const MAX_SPILL_BYTES: u64 = 1 << 30;
/// How long an interpreter must run before it is recorded.
const PERSIST_DELAY: Duration = Duration::from_secs(2);
/// Grace period for child processes of an interpreter that has exited.
const ORPHAN_GRACE: Duration = Duration::from_secs(1);

/// What an interpreter was created with.
#[derive(Debug)]
pub(crate) struct InterpreterSpec {
    pub(crate) id: String,
    pub(crate) marker: String,
    pub(crate) language: ReplLanguage,
    pub(crate) database: Option<PathBuf>,
    pub(crate) confinement: Option<Arc<Confinement>>,
    pub(crate) jobs: Arc<JobRegistry>,
    pub(crate) mask: Option<Arc<dyn OutputMask>>,
    /// When its sandbox was created.
    pub(crate) sandboxed_at: SystemTime,
}

/// A running interpreter.
#[derive(Debug)]
pub(crate) struct InterpreterProcess {
    pub(crate) spec: InterpreterSpec,
    pub(crate) sandbox: Option<String>,
    pub(crate) pid: Option<u32>,
    /// The language, version and program that the driver reported.
    pub(crate) version: OnceLock<String>,
    pub(crate) events: tokio::sync::Mutex<mpsc::Receiver<DriverEvent>>,
    ended: watch::Receiver<Option<ProcessExit>>,
    control: Arc<dyn ProcessControl>,
    pub(crate) input: tokio::sync::Mutex<pipe::Sender>,
    log: Arc<Mutex<OutputLog>>,
    used: Mutex<Instant>,
}

/// An event from a driver.
#[derive(Debug)]
pub(crate) enum DriverEvent {
    Message(Box<DriverMessage>),
    Image(ReceivedImage),
    /// All earlier stderr output has arrived.
    StderrFlushed,
}

impl InterpreterProcess {
    /// Starts reading the streams of a started interpreter.
    pub(crate) fn from_started(
        started: SpawnedProcess,
        made: InterpreterSpec,
    ) -> Result<Arc<Self>, ToolError> {
        let failed =
            |error: io::Error| ToolError::io("Cannot open the interpreter's streams", &error);
        let SpawnedProcess { pid, output, input, control, containment } = started;
        let held = containment.map(|containment| containment.summary.clone());
        let input =
            input.ok_or_else(|| ToolError::internal("The interpreter has no stdin pipe"))?;
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
            // Otherwise its child processes would be orphaned.
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

    /// Records the interpreter if it keeps running: an idle one exits when this
    /// process is gone, a busy one does not.
    pub(crate) async fn persist(self: Arc<Self>, entry: JobRecord) {
        if tokio::time::timeout(PERSIST_DELAY, self.wait_exit()).await.is_ok() {
            return;
        }
        let Some(leftovers) = self.spec.jobs.records() else { return };
        // Without a record, a crash would leave an untracked process.
        let _ = leftovers.record(&entry);
        if self.exit_status().is_some() {
            let _ = leftovers.remove(&entry.id);
        }
    }

    /// Whether a path was created after the interpreter started, as far as the
    /// file system records that.
    pub(crate) fn predates(&self, path: &Path) -> bool {
        let made = std::fs::symlink_metadata(path).and_then(|found| found.created());
        made.is_ok_and(|made| made > self.spec.sandboxed_at)
    }

    /// Returns the exit status; `None` while it runs.
    pub(crate) fn exit_status(&self) -> Option<ProcessExit> {
        *self.ended.borrow()
    }

    /// Waits for the interpreter to exit.
    pub(crate) async fn wait_exit(&self) -> ProcessExit {
        let mut ended = self.ended.clone();
        let exit = ended.wait_for(Option::is_some).await;
        exit.ok().and_then(|exit| *exit).unwrap_or(ProcessExit::Code(-1))
    }

    /// Writes to the interpreter's stdin.
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

    /// Interrupts the interpreter; returns the number of processes signalled.
    pub(crate) async fn interrupt(&self) -> usize {
        self.control.signal(Signal::INT).await
    }

    /// Terminates the interpreter and all its child processes.
    pub(crate) async fn terminate(&self, grace: Duration) {
        self.control.terminate(grace).await;
        // The exit is observed asynchronously.
        let _ = tokio::time::timeout(ORPHAN_GRACE, self.wait_exit()).await;
        remove_record(&self.spec.jobs, &self.spec.id);
    }

    /// Returns the output since the last call.
    pub(crate) fn take_log(&self) -> OutputLog {
        std::mem::replace(&mut *self.log.lock(), self.spec.fresh_log())
    }

    /// Marks the interpreter as used now.
    pub(crate) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    /// Returns how long the interpreter has been idle.
    pub(crate) fn idle_time(&self) -> Duration {
        self.used.lock().elapsed()
    }

    /// Describes the interpreter.
    pub(crate) fn describe(&self) -> String {
        self.version.get().cloned().unwrap_or_default()
    }
}

impl InterpreterSpec {
    /// Creates the log of one run. It spills to a file only if secrets are
    /// masked.
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

/// Removes the record of an interpreter.
fn remove_record(jobs: &JobRegistry, id: &str) {
    // Avoids creating the directory only to remove nothing from it.
    if let Some(leftovers) = jobs.directory().join("running").is_dir().then(|| jobs.records()) {
        let _ = leftovers.map(|leftovers| leftovers.remove(id));
    }
}

fn receiver(stream: OwnedFd) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(stream)
}

/// Destination of what is read.
#[derive(Debug)]
struct OutputSink {
    log: Arc<Mutex<OutputLog>>,
    sender: mpsc::Sender<DriverEvent>,
}

/// A message or image received in part.
#[derive(Debug, Default)]
struct PartialMessage {
    message: Vec<u8>,
    image: Vec<u8>,
}

/// Reads one stream.
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
                // Without a receiver, the event is dropped.
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
                    events.extend(kept.take_event());
                }
            }
        });
        events
    }
}

impl PartialMessage {
    fn take_event(&mut self) -> Option<DriverEvent> {
        let message = std::mem::take(&mut self.message);
        // An unreadable message must still end the wait.
        let shown: DriverMessage =
            surrogates::from_slice_lossy(&message).unwrap_or_else(|_| DriverMessage::unreadable());
        let Some(kind) = shown.file else { return Some(DriverEvent::Message(Box::new(shown))) };
        let bytes = std::mem::take(&mut self.image);
        let extension = shown.extension.unwrap_or_default();
        // Drops a truncated image.
        (bytes.len() < MAX_IMAGE_BYTES).then_some(DriverEvent::Image(ReceivedImage {
            kind,
            extension,
            bytes,
        }))
    }
}

/// Appends as much as fits.
fn extend_bounded(to: &mut Vec<u8>, part: &[u8], most: usize) {
    let room = most.saturating_sub(to.len());
    to.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
}
