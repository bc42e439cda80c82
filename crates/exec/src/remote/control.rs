//! Controls a remote program through separate queries to its host.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;

use super::exit_report::{self, ExitCodeReceiver};
use super::remarks::BackendRemarks;
use super::{Transport, run_script, script};
use crate::backend::{InputWait, ProcessControl, ProcessExit};
use crate::command_spec::TerminalSize;
use crate::local::LocalBackend;
use crate::tree::Signal;

/// Timeout of a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the host to confirm a termination, in addition to the program's
/// grace period. Short, since the caller has already waited for the command's
/// timeout.
const KILL_REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Round trips added to that timeout on slow connections, each counted up to
/// `MAX_ROUND_TRIP`.
const EXTRA_ROUND_TRIPS: u32 = 4;
const MAX_ROUND_TRIP: Duration = Duration::from_secs(2);
/// Timeout for checking whether a program still runs.
const PRESENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// Minimum interval between checks of a silent program, since each is a round
/// trip.
const INPUT_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Range of the interval between checks for remaining descendants; it grows
/// from the first to the second.
const DESCENDANT_POLL_RANGE: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(30));

/// When to signal a terminal resize again.
const RESIZE_RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(2)];
/// How long the transport process may outlive its program.
const TRANSPORT_EXIT_GRACE: Duration = Duration::from_millis(500);
/// How often to look for a program that is not found, since it may not have
/// started yet.
const MAX_LOOKUPS: usize = 8;
/// Time between SIGTERM and SIGKILL for a program that lost its transport
/// process.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// How a program ended, once known.
type ExitReceiver = watch::Receiver<Option<Result<ProcessExit, ToolError>>>;

/// Terminations in progress, which continue even if the caller stops waiting.
#[derive(Debug, Clone, Default)]
pub(super) struct TerminationTasks(Arc<Mutex<JoinSet<()>>>);

impl TerminationTasks {
    /// Spawns the work; the receiver resolves when it is done.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> oneshot::Receiver<()> {
        let (sender, done) = oneshot::channel();
        let mut all = self.0.lock();
        while all.try_join_next().is_some() {}
        all.spawn(async move {
            work.await;
            let _ = sender.send(());
        });
        done
    }

    pub(super) async fn abort_all(&self) {
        let mut all = {
            let mut all = self.0.lock();
            std::mem::take(&mut *all)
        };
        all.shutdown().await;
    }
}

/// A remote program, and the local transport process that represents it.
#[derive(Debug)]
pub(super) struct RemoteProcess<W> {
    transport_process: Arc<dyn ProcessControl>,
    transport: Arc<W>,
    local: Arc<LocalBackend>,
    terminations: TerminationTasks,
    mark: String,
    /// Whether its termination was requested here.
    kill_requested: Arc<AtomicBool>,
    /// How it ended, or why that will never be known.
    ended: ExitReceiver,
    /// The exit code reported by the remote shell, if it reports one.
    exit_code: Option<ExitCodeReceiver>,
    /// When it was last checked, and the result.
    last_input_check: Mutex<Option<(Instant, InputWait)>>,
    /// Collects remarks that do not belong in its output.
    remarks: Option<BackendRemarks>,
    /// Signalled after an attempt to terminate its descendants.
    descendants_changed: Notify,
    /// Timeout for the host to confirm a termination.
    kill_timeout: Duration,
}

/// Writes messages about the backend next to the program's output.
#[derive(Debug)]
pub(super) struct NoticeWriter {
    pub(super) stream: OwnedFd,
    /// Whether lines end as in a terminal.
    pub(super) terminal: bool,
    /// Collects messages from before the program starts instead.
    pub(super) remarks: Option<BackendRemarks>,
}

impl NoticeWriter {
    fn print(&self, text: &str) {
        let end = if self.terminal { "\r\n" } else { "\n" };
        // If there is no reader, the message is not needed.
        let _ = rustix::io::write(&self.stream, format!("hermes: {text}{end}").as_bytes());
    }
}

impl<W: Transport> RemoteProcess<W> {
    /// Starts watching a transport process.
    pub(super) fn watch(
        carrier: Box<dyn ProcessControl>,
        way: Arc<W>,
        local: Arc<LocalBackend>,
        endings: TerminationTasks,
        mark: String,
        shown: Option<ExitCodeReceiver>,
        voice: NoticeWriter,
    ) -> Self {
        let carrier: Arc<dyn ProcessControl> = carrier.into();
        let unwanted = Arc::new(AtomicBool::new(false));
        let (sender, ended) = watch::channel(None);
        let end = ExitWaiter {
            transport_process: Arc::clone(&carrier),
            transport: Arc::clone(&way),
            local: Arc::clone(&local),
            mark: mark.clone(),
            kill_requested: Arc::clone(&unwanted),
            exit_code: shown.clone(),
        };
        if let Some(news) = way.take_notice() {
            match &voice.remarks {
                Some(remarks) => remarks.add(news),
                None => voice.print(&news),
            }
        }
        let remarks = voice.remarks.clone();
        tokio::spawn(async move {
            let end = end.wait().await;
            if let Err(error) = &end {
                voice.print(&format!("{}. {}", error.message(), error.hint()));
            }
            // End the stream before reporting the exit.
            drop(voice);
            sender.send_replace(Some(end));
        });
        let (asked, stirred) = (Mutex::default(), Notify::new());
        Self {
            transport_process: carrier,
            transport: way,
            local,
            terminations: endings,
            mark,
            kill_requested: unwanted,
            ended,
            exit_code: shown,
            last_input_check: asked,
            remarks,
            descendants_changed: stirred,
            kill_timeout: KILL_REPLY_TIMEOUT,
        }
    }

    /// Extends the termination timeout for a connection with this round-trip
    /// time.
    pub(super) fn with_round_trip(mut self, trip: Duration) -> Self {
        self.kill_timeout = KILL_REPLY_TIMEOUT + trip.min(MAX_ROUND_TRIP) * EXTRA_ROUND_TRIPS;
        self
    }

    /// Whether a process of it still runs; `None` if the host does not respond.
    async fn is_running(&self) -> Option<bool> {
        let text = script::presence_script(&self.mark);
        let done = run_script(&*self.transport, &self.local, &text, PRESENCE_TIMEOUT).await.ok()?;
        done.succeeded().then(|| done.output.starts_with(script::SOME_RUNNING))
    }
}

/// Determines how a program ended.
struct ExitWaiter<W> {
    transport_process: Arc<dyn ProcessControl>,
    transport: Arc<W>,
    local: Arc<LocalBackend>,
    mark: String,
    kill_requested: Arc<AtomicBool>,
    exit_code: Option<ExitCodeReceiver>,
}

impl<W: Transport> ExitWaiter<W> {
    async fn wait(self) -> Result<ProcessExit, ToolError> {
        let exit = self.transport_process.wait().await;
        let exit =
            exit.map_err(|error| ToolError::io("cannot wait for the transport process", &error))?;
        if exit == ProcessExit::Code(0) || self.kill_requested.load(Ordering::Acquire) {
            return Ok(exit);
        }
        // A shell that reported the exit code was connected until then.
        let said = match &self.exit_code {
            Some(shown) => {
                tokio::time::timeout(TRANSPORT_EXIT_GRACE, exit_report::wait_for_code(shown))
                    .await
                    .ok()
                    .flatten()
            }
            None => None,
        };
        if said.is_some() {
            return Ok(exit);
        }
        if let Some(error) = self.transport.diagnose_loss(exit).await {
            return Err(error);
        }
        let ProcessExit::Signal(signal) = exit else { return Ok(exit) };
        // Its output is no longer read, and nothing else will terminate it.
        let gone =
            terminate_remote(&*self.transport, &self.local, &self.mark, KILL_GRACE, || true).await;
        let there = if gone {
            "so the command was terminated as well"
        } else {
            "and the command may still run there"
        };
        let message = format!(
            "{}: the transport process was killed by signal {signal}, {there}",
            self.transport.name()
        );
        Err(ToolError::new(ErrorKind::Network, message)
            .with_hint("Check what the command has done before running it again."))
    }
}

/// Terminates a remote program; returns whether it is certainly gone.
///
/// A program that was just sent may not have its mark yet and would start after
/// an unsuccessful search, so the search is repeated until its transport
/// process ends.
async fn terminate_remote<W: Transport>(
    way: &W,
    local: &LocalBackend,
    mark: &str,
    grace: Duration,
    is_over: impl Fn() -> bool,
) -> bool {
    let text = script::terminate_script(mark, grace);
    for _ in 0..MAX_LOOKUPS {
        let Ok(done) = run_script(way, local, &text, QUERY_TIMEOUT + grace).await else {
            return false;
        };
        if !done.succeeded() || !done.output.starts_with(script::NONE_RUNNING) || is_over() {
            return done.succeeded();
        }
        tokio::time::sleep(TRANSPORT_EXIT_GRACE).await;
        if is_over() {
            return true;
        }
    }
    true
}

/// Whether a program has ended, or reported its exit code.
fn has_exited(ended: &ExitReceiver, shown: Option<&ExitCodeReceiver>) -> bool {
    let has_told = || shown.is_some_and(|shown| shown.borrow().is_some());
    ended.borrow().is_some() || has_told()
}

impl<W: Transport> ProcessControl for RemoteProcess<W> {
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>> {
        Box::pin(async move {
            let mut ended = self.ended.clone();
            let code = match &self.exit_code {
                Some(shown) => exit_report::wait_for_code(shown).await,
                None => None,
            };
            if let Some(code) = code {
                // Other processes may hold its streams for long.
                let _ = tokio::time::timeout(TRANSPORT_EXIT_GRACE, ended.wait_for(Option::is_some))
                    .await;
                return Ok(ProcessExit::Code(code));
            }
            let end = ended.wait_for(Option::is_some).await.map_err(io::Error::other)?;
            match &*end {
                Some(Ok(exit)) => Ok(*exit),
                Some(Err(error)) => Err(io::Error::other(error.message().to_owned())),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            }
        })
    }

    fn terminate(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.kill_requested.store(true, Ordering::Release);
            let mut ended = self.ended.clone();
            let (way, local) = (Arc::clone(&self.transport), Arc::clone(&self.local));
            let (mark, over, shown) = (self.mark.clone(), ended.clone(), self.exit_code.clone());
            let ending = self.terminations.spawn(async move {
                let is_over = || has_exited(&over, shown.as_ref());
                if !terminate_remote(&*way, &local, &mark, grace, is_over).await {
                    way.force_kill(&script::kill_script(&mark)).await;
                }
            });
            // Do not wait for a host that does not respond: the caller has
            // waited long enough. The attempt continues in the background.
            let limit = grace + self.kill_timeout;
            let is_reported = matches!(tokio::time::timeout(limit, ending).await, Ok(Ok(())));
            if let Some(remarks) = self.remarks.as_ref().filter(|_| !is_reported) {
                remarks.add(format!(
                    "{} did not respond within {:.1} s; the command may still run there.",
                    self.transport.name(),
                    limit.as_secs_f64()
                ));
            }
            if is_reported {
                // Its last output, including what its shell held, is still in
                // transit.
                let _ = tokio::time::timeout(TRANSPORT_EXIT_GRACE, ended.wait_for(Option::is_some))
                    .await;
            }
            // If the connection is broken, end the transport process at once:
            // it cannot deliver anything more.
            self.transport_process
                .terminate(if is_reported { grace } else { Duration::ZERO })
                .await;
            self.descendants_changed.notify_one();
        })
    }

    fn abandon(&self) {
        self.kill_requested.store(true, Ordering::Release);
        self.transport_process.abandon();
    }

    fn has_exited(&self) -> bool {
        has_exited(&self.ended, self.exit_code.as_ref())
    }

    fn has_descendants(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        Box::pin(async move { is_likely && self.is_running().await == Some(true) })
    }

    fn wait_for_descendants(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut pause = DESCENDANT_POLL_RANGE.0;
            // After a termination request, do not keep polling.
            while self.is_running().await != Some(false)
                && !self.kill_requested.load(Ordering::Acquire)
            {
                let _ = tokio::time::timeout(pause, self.descendants_changed.notified()).await;
                pause = (pause * 2).min(DESCENDANT_POLL_RANGE.1);
            }
        })
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize> {
        Box::pin(async move {
            let text = script::signal_script(&self.mark, signal);
            let done = run_script(&*self.transport, &self.local, &text, QUERY_TIMEOUT).await;
            let said = done.map(|done| String::from_utf8_lossy(&done.output).trim().parse());
            said.ok().and_then(Result::ok).unwrap_or_default()
        })
    }

    fn input_wait(&self) -> BoxFuture<'_, InputWait> {
        Box::pin(async move {
            let last = *self.last_input_check.lock();
            if let Some((at, seen)) = last
                && at.elapsed() < INPUT_CHECK_INTERVAL
            {
                return seen;
            }
            let done = run_script(
                &*self.transport,
                &self.local,
                &script::input_wait_script(&self.mark),
                QUERY_TIMEOUT,
            )
            .await;
            let waits = match done {
                Ok(done) if done.output.starts_with(b"waits") => InputWait::Blocked,
                Ok(done) if done.output.starts_with(b"looks") => InputWait::Polling,
                _ => InputWait::NotWaiting,
            };
            *self.last_input_check.lock() = Some((Instant::now(), waits));
            waits
        })
    }

    fn resize(&self, size: TerminalSize) -> io::Result<()> {
        self.transport_process.resize(size)?;
        // A transport process that has just started may have missed the signal.
        let carrier = Arc::clone(&self.transport_process);
        tokio::spawn(async move {
            for wait in RESIZE_RETRY_DELAYS {
                tokio::time::sleep(wait).await;
                carrier.signal(Signal::WINCH).await;
            }
        });
        Ok(())
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
