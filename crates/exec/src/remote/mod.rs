//! Runs programs in containers and on other hosts through a local transport
//! process.
//!
//! A [`Transport`] connects to the host; everything else is shared. The program
//! to run is sent as a script on the transport process's stdin, before the
//! program's own input. This keeps its environment and command line out of the
//! local process list, and takes only one round trip.

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

use hermes_core::ids::random_marker;
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

/// Timeout of the first query to a host.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between SIGTERM and SIGKILL for stray processes.
const STRAY_GRACE: Duration = Duration::from_millis(500);
/// Timeout for terminating stray processes on the host.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum size of a query's output.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// A connection to a host where programs run.
pub trait Transport: Debug + Send + Sync + 'static {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// Opens it if necessary: starts the container, connects to the host.
    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Returns the local command that runs `sh -c SCRIPT` on the host.
    fn transport_process(&self, script: &str, carriage: TransportIo) -> TransportProcess;

    /// The directory in which a session starts, if it differs from the
    /// directory in which programs are started.
    fn directory(&self) -> Option<OsString> {
        None
    }

    /// Describes what confines programs there.
    fn containment_summary(&self) -> Option<String>;

    /// Explains the exit of the transport process if it was not the program's
    /// own exit: the connection broke, or the container is gone.
    fn explain_failure(&self, exit: ProcessExit, errors: &str) -> Option<ToolError>;

    /// Explains the exit of a program whose exit code was not reported. Its
    /// stderr is no evidence, so this may inspect the host.
    fn diagnose_loss(&self, exit: ProcessExit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move { self.explain_failure(exit, "") })
    }

    /// Identifies this host among others of the same name.
    fn location(&self) -> String {
        self.name().to_owned()
    }

    /// Whether output may precede the program's, such as the greeting of a
    /// login shell.
    fn may_print_greeting(&self) -> bool {
        false
    }

    /// Whether the transport process may outlive the program while other
    /// processes hold its streams. If so, a remote shell waits for the program
    /// and reports its exit code.
    fn may_outlive_program(&self) -> bool {
        false
    }

    /// Called if a program could not be terminated, possibly because no more
    /// processes can be started: makes room for `script`, which kills it
    /// without starting processes, or kills it by other means.
    fn force_kill<'a>(&'a self, script: &'a str) -> BoxFuture<'a, ()> {
        let _ = script;
        Box::pin(async {})
    }

    /// Environment variables of programs, in addition to those of the host.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        BTreeMap::new()
    }

    /// Takes the pending notice about the host, for the next program. Each
    /// notice is returned once.
    fn take_notice(&self) -> Option<String> {
        None
    }

    /// Whether processes left on the host keep running when the transport is
    /// closed.
    fn keeps_programs_on_close(&self) -> bool {
        true
    }

    /// Closes the connection and ends its helper processes.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// How a program's streams are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportIo {
    /// Whether it has a terminal on the host.
    pub terminal: bool,
}

/// A local command that runs another one on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportProcess {
    /// A path, or a name to look up.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: BTreeMap<OsString, OsString>,
}

/// A backend that is reached through a [`Transport`].
#[derive(Debug)]
pub struct RemoteBackend<W> {
    transport: Arc<W>,
    local: Arc<LocalBackend>,
    probed: OnceCell<ProbedHost>,
    terminations: TerminationTasks,
    /// Follows the job mark of every program that this backend starts.
    owner_mark: String,
    /// Whether a program was started.
    was_used: AtomicBool,
}

/// The results of probing a host.
#[derive(Debug)]
struct ProbedHost {
    facts: Arc<HostFacts>,
    /// The host's environment before additions.
    base_environment: BTreeMap<OsString, OsString>,
    /// Whether the login shell prints a greeting.
    prints_greeting: bool,
    /// Duration of a query.
    round_trip: Duration,
}

impl<W: Transport> RemoteBackend<W> {
    /// Creates the backend for a transport.
    pub fn new(way: W) -> Self {
        Self {
            transport: Arc::new(way),
            local: Arc::default(),
            probed: OnceCell::new(),
            terminations: TerminationTasks::default(),
            owner_mark: random_marker(),
            was_used: AtomicBool::new(false),
        }
    }

    /// The transport.
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
                    "{}: no shell responds on the backend{}",
                    self.transport.name(),
                    said.map(|said| format!(": {said}")).unwrap_or_default()
                ))
                .with_hint("The backend needs a POSIX `sh` with the usual utilities.")
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
        spec: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async move {
            let found = self.probed_host().await?;
            let terminal = matches!(spec.output, StdioMode::Terminal(_));
            let mark = job_mark(job);
            let text =
                script::launch_script(&spec, &found.base_environment, &mark, &self.owner_mark);
            self.was_used.store(true, Ordering::Relaxed);
            let end = random_marker();
            let (loader, sent) = if terminal {
                // A terminal would echo and truncate a script on stdin.
                (self.upload_script(text, &end).await?, Vec::new())
            } else {
                let sent = script::with_end_marker(text, &end);
                (script::load_script(sent.len(), &end), sent)
            };
            let word = (!terminal && self.transport.may_outlive_program()).then(random_marker);
            let loader = word.as_ref().map_or_else(
                || loader.clone(),
                |word| exit_report::wait_and_report_script(&loader, word),
            );
            let greeting = found.prints_greeting.then(|| GreetingFilter::new(spec.output));
            let loader = greeting.as_ref().map_or(loader.clone(), |it| it.prefix_script(&loader));
            let carrier = self.transport.transport_process(&loader, TransportIo { terminal });
            let failed =
                |error: io::Error| ToolError::io("cannot connect the transport process", &error);
            let (heard, said) =
                pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
            let mut started = self.local.start(job, transport_spec(carrier, spec.output)).await?;
            started.pid = None;
            started.containment = self
                .transport
                .containment_summary()
                .map(|held| Arc::new(JobContainment::from_summary(held)));
            if let Some(greeting) = greeting {
                started.output = greeting.filter_streams(started.output).map_err(failed)?;
            }
            let shown = word
                .map(|word| exit_report::extract_exit_code(&mut started.output, &word))
                .transpose();
            let shown = shown.map_err(failed)?;
            // Messages about the backend are part of stderr.
            started.output.push((OutputStream::Stderr, heard));
            let remote = RemoteProcess::watch(
                started.control,
                Arc::clone(&self.transport),
                Arc::clone(&self.local),
                self.terminations.clone(),
                mark,
                shown,
                NoticeWriter { stream: said, terminal, remarks: BackendRemarks::current() },
            );
            started.control = Box::new(remote.with_round_trip(found.round_trip));
            let sending = send_script(started.input, &sent, &spec.input);
            match tokio::time::timeout(PROBE_TIMEOUT, sending).await {
                Ok(input) => started.input = input.map_err(failed)?,
                Err(_) => {
                    started.control.terminate(Duration::ZERO).await;
                    let message = format!("{}: the shell does not read its input", self.name());
                    return Err(ToolError::new(ErrorKind::Timeout, message)
                        .with_hint("The command was not run; retry."));
                }
            }
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Abort terminations on a host that does not respond, so their
            // transport processes do not outlive us.
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
    /// Terminates all processes that programs left on the host, which are not
    /// visible from here.
    async fn terminate_strays(&self) {
        if !self.was_used.swap(false, Ordering::Relaxed)
            || !self.transport.keeps_programs_on_close()
        {
            return;
        }
        let text = script::terminate_all_script(&self.owner_mark, STRAY_GRACE);
        // Do not wait for a host that does not respond during shutdown.
        let _ =
            run_script(&*self.transport, &self.local, &text, STRAY_GRACE + CLEANUP_TIMEOUT).await;
    }

    /// Stores a script on the host for a shell that reads and deletes it.
    async fn upload_script(&self, text: Vec<u8>, word: &str) -> Result<String, ToolError> {
        let end = random_marker();
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
                "{}: cannot write to the backend: {}",
                self.transport.name(),
                done.errors.trim()
            )));
        }
        Ok(script::run_saved_script(&file))
    }
}

/// Returns the remote mark of a job's processes. It differs from the local one,
/// since the host may be this machine.
pub(crate) fn job_mark(job: &str) -> String {
    tree::nested_mark(None, &format!("{job}-there"))
}

/// Runs a short `sh` script on the host.
async fn run_script(
    way: &dyn Transport,
    local: &LocalBackend,
    text: &str,
    limit: Duration,
) -> Result<CaptureResult, ToolError> {
    Ok(run_query(way, local, text, limit).await?.0)
}

/// Runs a script; also returns whether a greeting preceded its output.
async fn run_query(
    way: &dyn Transport,
    local: &LocalBackend,
    text: &str,
    limit: Duration,
) -> Result<(CaptureResult, bool), ToolError> {
    let greeting = way.may_print_greeting().then(|| GreetingFilter::new(StdioMode::Separate));
    let text = greeting.as_ref().map_or(text.to_owned(), |it| it.prefix_script(text));
    // Each query has a unique mark by which it can be terminated.
    let mut done = query_command(way, &text, limit).run(local, &random_marker()).await?;
    let greeted = greeting.is_some_and(|greeting| greeting.strip_from(&mut done));
    Ok((done, greeted))
}

fn query_command(way: &dyn Transport, text: &str, limit: Duration) -> CapturedCommand {
    let carrier = way.transport_process(text, TransportIo { terminal: false });
    let mut spec = transport_spec(carrier, StdioMode::Separate);
    spec.input = StdinSource::Bytes(Vec::new());
    CapturedCommand { spec, timeout: limit, max_output_bytes: MAX_REPLY_BYTES }
}

/// Returns the spec of a transport process, which runs locally and unconfined.
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

/// Sends the script, and returns the stream for further input.
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
    // The exit of the transport process reports a failure.
    let _ = async_streams::write_all(&stream, sent).await;
    Ok((*input != StdinSource::Empty).then(|| stream.into_inner()))
}
