//! Programs in another place, reached by a program of this machine: in a
//! container, on another host.
//!
//! A [`Transport`] knows how to get there; everything else is the same for all.
//! What is to run travels as text on the carrier's standard input, in front of
//! what the program itself will read, so that neither a value of its
//! environment nor its command line is seen in a list of processes here, and
//! one trip is enough.

mod control;
pub(crate) mod exit_report;
pub(crate) mod greeting;
pub(crate) mod remarks;
mod script;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::OnceCell;

use crate::JobContainment;
use crate::async_streams;
use crate::backend::{ExecBackend, HostFacts, ProcessExit, SpawnedProcess};
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::local::LocalBackend;
use crate::output::OutputStream;
use crate::tree;
use control::{NoticeWriter, RemoteProcess, TerminationTasks};
use greeting::GreetingFilter;
use remarks::BackendRemarks;
pub(crate) use script::fresh_marker;
pub use script::quote;

/// How long a place has to answer the first question.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long what went its own way may take to end by itself.
const STRAY_GRACE: Duration = Duration::from_millis(500);
/// How long a place has to end what is left there.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of an answer to a question of ours.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The way to a place where programs run.
pub trait Transport: Debug + Send + Sync + 'static {
    /// Its name, as in the configuration.
    fn name(&self) -> &str;

    /// Opens it, if it is not open: starts the container, connects to the host.
    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>>;

    /// The program of this machine that runs `sh -c GUARDIAN_SCRIPT` there.
    fn transport_process(&self, script: &str, carriage: TransportIo) -> TransportProcess;

    /// The folder that a session begins in, if not the one that programs are
    /// started in.
    fn directory(&self) -> Option<OsString> {
        None
    }

    /// What keeps programs from getting out of there, in words.
    fn containment_summary(&self) -> Option<String>;

    /// What it means that the carrier ended like this, if that was not the
    /// program's own end: the connection broke, the container is gone.
    fn explain_failure(&self, exit: ProcessExit, errors: &str) -> Option<ToolError>;

    /// The same of a program of which nobody there has said how it ended: its
    /// errors were its own, so this may take a look at what is still there.
    fn diagnose_loss(&self, exit: ProcessExit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move { self.explain_failure(exit, "") })
    }

    /// Which of the places of this name it leads to.
    fn location(&self) -> String {
        self.name().to_owned()
    }

    /// Whether somebody there may print something before a program has begun:
    /// a login shell that greets.
    fn may_print_greeting(&self) -> bool {
        false
    }

    /// Whether the carrier may outlast the program, for as long as somebody
    /// else holds its streams: then a shell there waits for it, and says how it
    /// ended.
    fn may_outlive_program(&self) -> bool {
        false
    }

    /// A program there could not be ended, perhaps because nothing more can be
    /// started: makes room for `script`, which ends it and starts nothing, or
    /// ends it by other means, if there are any.
    fn force_kill<'a>(&'a self, script: &'a str) -> BoxFuture<'a, ()> {
        let _ = script;
        Box::pin(async {})
    }

    /// What programs find in their environment beside what is found there.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        BTreeMap::new()
    }

    /// What has happened to the place, for whoever runs the next program: it
    /// is told once.
    fn take_notice(&self) -> Option<String> {
        None
    }

    /// Whether what programs have left there goes on when this is closed.
    fn keeps_programs_on_close(&self) -> bool {
        true
    }

    /// Ends what it keeps going.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// How a program is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportIo {
    /// It has a terminal there.
    pub terminal: bool,
}

/// A program of this machine that runs another one elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportProcess {
    /// A path, or a name to look for.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its own environment.
    pub environment: BTreeMap<OsString, OsString>,
}

/// A place that is reached by a [`Transport`].
#[derive(Debug)]
pub struct RemoteBackend<W> {
    transport: Arc<W>,
    local: Arc<LocalBackend>,
    probed: OnceCell<ProbedHost>,
    terminations: TerminationTasks,
    /// What all programs that were started there bear behind their marks.
    owner_mark: String,
    /// Whether there was one.
    was_used: AtomicBool,
}

/// A place as it was found.
#[derive(Debug)]
struct ProbedHost {
    facts: Arc<HostFacts>,
    /// What is in the environment before anything is added.
    base_environment: BTreeMap<OsString, OsString>,
    /// Somebody greets there.
    prints_greeting: bool,
    /// How long it takes to ask for something.
    round_trip: Duration,
}

impl<W: Transport> RemoteBackend<W> {
    /// The place at the end of this way.
    pub fn new(way: W) -> Self {
        Self {
            transport: Arc::new(way),
            local: Arc::default(),
            probed: OnceCell::new(),
            terminations: TerminationTasks::default(),
            owner_mark: script::fresh_marker(),
            was_used: AtomicBool::new(false),
        }
    }

    /// The way there.
    pub fn transport(&self) -> &W {
        &self.transport
    }

    async fn probed_host(&self) -> Result<&ProbedHost, ToolError> {
        self.transport.open().await?;
        self.probed.get_or_try_init(|| self.probe()).await
    }

    async fn probe(&self) -> Result<ProbedHost, ToolError> {
        let begin = Instant::now();
        let (done, greeted) =
            run_query(&*self.transport, &self.local, script::PROBE_SCRIPT, PROBE_TIMEOUT).await?;
        let trip = begin.elapsed();
        if let Some(error) = self.transport.explain_failure(done.exit, &done.errors) {
            return Err(error);
        }
        let mut place =
            script::parse_probe(&done.output, self.transport.directory()).ok_or_else(|| {
                let said = String::from_utf8_lossy(&done.output);
                let said = said.trim().lines().chain(done.errors.trim().lines()).next_back();
                ToolError::unavailable(format!(
                    "{}: no shell answers there{}",
                    self.transport.name(),
                    said.map(|said| format!(": {said}")).unwrap_or_default()
                ))
                .with_hint("A place for commands needs a POSIX `sh` with the usual small programs.")
            })?;
        let bare = place.environment.clone();
        place.environment.extend(self.transport.environment());
        Ok(ProbedHost {
            facts: Arc::new(place),
            base_environment: bare,
            prints_greeting: greeted,
            round_trip: trip,
        })
    }
}

impl<W: Transport> ExecBackend for RemoteBackend<W> {
    fn name(&self) -> &str {
        self.transport.name()
    }

    fn location(&self) -> String {
        self.transport.location()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async { Ok(Arc::clone(&self.probed_host().await?.facts)) })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async move {
            let found = self.probed_host().await?;
            let terminal = matches!(order.output, StdioMode::Terminal(_));
            let mark = job_mark(job);
            let text =
                script::launch_script(&order, &found.base_environment, &mark, &self.owner_mark);
            self.was_used.store(true, Ordering::Relaxed);
            let end = script::fresh_marker();
            let (loader, sent) = if terminal {
                // A terminal would show what it is sent, and cut it.
                (self.upload_script(text, &end).await?, Vec::new())
            } else {
                let sent = script::with_end_marker(text, &end);
                (script::load_script(sent.len(), &end), sent)
            };
            let word =
                (!terminal && self.transport.may_outlive_program()).then(script::fresh_marker);
            let loader = word.as_ref().map_or_else(
                || loader.clone(),
                |word| exit_report::wait_and_report_script(&loader, word),
            );
            let greeting = found.prints_greeting.then(|| GreetingFilter::new(order.output));
            let loader = greeting.as_ref().map_or(loader.clone(), |it| it.prefix_script(&loader));
            let carrier = self.transport.transport_process(&loader, TransportIo { terminal });
            let failed = |error: io::Error| ToolError::io("The way there", &error);
            let (heard, said) =
                pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
            let mut started = self.local.start(job, transport_spec(carrier, order.output)).await?;
            started.pid = None;
            started.containment = self
                .transport
                .containment_summary()
                .map(|held| Arc::new(JobContainment::from_summary(held)));
            if let Some(greeting) = greeting {
                started.output = greeting.filter_streams(started.output).map_err(failed)?;
            }
            let told = word
                .map(|word| exit_report::extract_exit_code(&mut started.output, &word))
                .transpose();
            let told = told.map_err(failed)?;
            // What is told of the place comes with what the program tells.
            started.output.push((OutputStream::Stderr, heard));
            let remote = RemoteProcess::watch(
                started.control,
                Arc::clone(&self.transport),
                Arc::clone(&self.local),
                self.terminations.clone(),
                mark,
                told,
                NoticeWriter { stream: said, terminal, remarks: BackendRemarks::current() },
            );
            started.control = Box::new(remote.with_round_trip(found.round_trip));
            let sending = send_script(started.input, &sent, &order.input);
            match tokio::time::timeout(PROBE_TIMEOUT, sending).await {
                Ok(input) => started.input = input.map_err(failed)?,
                Err(_) => {
                    started.control.terminate(Duration::ZERO).await;
                    let message = format!("{}: nobody there reads what is sent", self.name());
                    return Err(ToolError::new(ErrorKind::Timeout, message)
                        .with_hint("The command was not run; try again."));
                }
            }
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // What a place that does not answer was asked to end: the carriers
            // of these questions are not to outlive us.
            self.terminations.abort_all().await;
            self.terminate_strays().await;
            self.transport.close().await;
        })
    }

    fn take_notice(&self) -> Option<String> {
        self.transport.take_notice()
    }
}

impl<W: Transport> RemoteBackend<W> {
    /// Ends what programs have left there, wherever that has gone: nobody here
    /// would ever know of it.
    async fn terminate_strays(&self) {
        if !self.was_used.swap(false, Ordering::Relaxed)
            || !self.transport.keeps_programs_on_close()
        {
            return;
        }
        let text = script::terminate_all_script(&self.owner_mark, STRAY_GRACE);
        // A place that does not answer cannot be waited for: we are about to end.
        let _ =
            run_script(&*self.transport, &self.local, &text, STRAY_GRACE + CLEANUP_TIMEOUT).await;
    }

    /// Leaves a text there for a shell that reads it, and throws it away.
    async fn upload_script(&self, text: Vec<u8>, word: &str) -> Result<String, ToolError> {
        let end = script::fresh_marker();
        let sent = script::with_end_marker(text, &end);
        let keeper = script::save_script(word, sent.len(), &end);
        let greeting =
            self.transport.may_print_greeting().then(|| GreetingFilter::new(StdioMode::Separate));
        let keeper = greeting.as_ref().map_or(keeper.clone(), |it| it.prefix_script(&keeper));
        let mut errand = query_command(&*self.transport, &keeper, PROBE_TIMEOUT);
        errand.spec.input = StdinSource::Bytes(sent);
        let mut done = errand.run(&*self.local, &end).await?;
        if let Some(greeting) = greeting {
            greeting.strip_from(&mut done);
        }
        if let Some(error) = self.transport.explain_failure(done.exit, &done.errors) {
            return Err(error);
        }
        let file = String::from_utf8_lossy(&done.output).trim_end_matches('\n').to_owned();
        if !done.succeeded() || file.is_empty() {
            return Err(ToolError::unavailable(format!(
                "{}: nothing can be written there: {}",
                self.transport.name(),
                done.errors.trim()
            )));
        }
        Ok(script::run_saved_script(&file))
    }
}

/// What the processes of a job are known by there. It is another one than
/// here: this may be the same machine after all.
pub(crate) fn job_mark(job: &str) -> String {
    tree::nested_mark(None, &format!("{job}-there"))
}

/// Runs a few words of `sh` there.
async fn run_script(
    way: &dyn Transport,
    local: &LocalBackend,
    text: &str,
    limit: Duration,
) -> Result<CaptureResult, ToolError> {
    Ok(run_query(way, local, text, limit).await?.0)
}

/// The same, and whether somebody has printed something before.
async fn run_query(
    way: &dyn Transport,
    local: &LocalBackend,
    text: &str,
    limit: Duration,
) -> Result<(CaptureResult, bool), ToolError> {
    let greeting = way.may_print_greeting().then(|| GreetingFilter::new(StdioMode::Separate));
    let text = greeting.as_ref().map_or(text.to_owned(), |it| it.prefix_script(text));
    // Each has a name of its own: what is ended is found by it.
    let mut done = query_command(way, &text, limit).run(local, &script::fresh_marker()).await?;
    let greeted = greeting.is_some_and(|greeting| greeting.strip_from(&mut done));
    Ok((done, greeted))
}

fn query_command(way: &dyn Transport, text: &str, limit: Duration) -> CapturedCommand {
    let carrier = way.transport_process(text, TransportIo { terminal: false });
    let mut order = transport_spec(carrier, StdioMode::Separate);
    order.input = StdinSource::Bytes(Vec::new());
    CapturedCommand { spec: order, timeout: limit, max_output_bytes: MAX_REPLY_BYTES }
}

/// The order for a carrier; it runs here, and nothing holds it.
fn transport_spec(carrier: TransportProcess, output: StdioMode) -> CommandSpec {
    CommandSpec {
        program: carrier.program,
        arguments: carrier.arguments,
        environment: carrier.environment,
        directory: "/".into(),
        input: StdinSource::Pipe,
        output,
        confinement: None,
    }
}

/// Sends what goes in front, and keeps the stream for whoever writes more.
async fn send_script(
    stream: Option<OwnedFd>,
    sent: &[u8],
    input: &StdinSource,
) -> io::Result<Option<OwnedFd>> {
    let Some(stream) = stream else { return Ok(None) };
    if sent.is_empty() {
        return Ok(Some(stream));
    }
    let stream = async_streams::register_nonblocking(stream)?;
    // A carrier that is gone says so by its end.
    let _ = async_streams::write_all(&stream, sent).await;
    Ok((*input != StdinSource::Empty).then(|| stream.into_inner()))
}
