//! How a program elsewhere is steered: by a second trip.

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

/// How long a question may take.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a place has to answer when a program is to be ended there, beside
/// the time that the program itself has. Somebody waits for it who has waited
/// as long as the command was to take.
const KILL_REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Where every trip takes long it has the time of some more of them, each of which
/// counts for so long at most.
const EXTRA_ROUND_TRIPS: u32 = 4;
const MAX_ROUND_TRIP: Duration = Duration::from_secs(2);
/// The same when it is asked whether something runs there.
const PRESENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// A silent program is not looked at more often: each look is a trip.
const INPUT_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How often it is looked whether what a program has left still runs; the time
/// between two looks grows from the first to the second.
const DESCENDANT_POLL_RANGE: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(30));

/// When a carrier is told again of its terminal's size.
const RESIZE_RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(2)];
/// How long a carrier has to end after its program.
const TRANSPORT_EXIT_GRACE: Duration = Duration::from_millis(500);
/// How often a program is looked for that is not there (yet).
const MAX_LOOKUPS: usize = 8;
/// How long a program that nobody hears any more has to go by itself.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// How a program ended, as soon as that is known.
type ExitReceiver = watch::Receiver<Option<Result<ProcessExit, ToolError>>>;

/// Programs that are being ended, whoever still waits for that.
#[derive(Debug, Clone, Default)]
pub(super) struct TerminationTasks(Arc<Mutex<JoinSet<()>>>);

impl TerminationTasks {
    /// Has this done; what is given back comes when it is.
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

/// A program that runs elsewhere, and the carrier that stands for it here.
#[derive(Debug)]
pub(super) struct RemoteProcess<W> {
    transport_process: Arc<dyn ProcessControl>,
    transport: Arc<W>,
    local: Arc<LocalBackend>,
    terminations: TerminationTasks,
    mark: String,
    /// Somebody here wants it to end.
    kill_requested: Arc<AtomicBool>,
    /// How it ended, or why that will never be known.
    ended: ExitReceiver,
    /// Its code, as it is told there, if somebody tells it.
    exit_code: Option<ExitCodeReceiver>,
    /// When it was last looked at, and what was seen.
    last_input_check: Mutex<Option<(Instant, InputWait)>>,
    /// Where what is to be told beside its output goes.
    remarks: Option<BackendRemarks>,
    /// Something was done about what it has left.
    descendants_changed: Notify,
    /// How long the place has to answer when the program is to be ended.
    kill_timeout: Duration,
}

/// Where something can be said beside the program.
#[derive(Debug)]
pub(super) struct NoticeWriter {
    pub(super) stream: OwnedFd,
    /// Its lines end as those of a terminal.
    pub(super) terminal: bool,
    /// Where what is told before the program begins goes instead.
    pub(super) remarks: Option<BackendRemarks>,
}

impl NoticeWriter {
    fn print(&self, text: &str) {
        let end = if self.terminal { "\r\n" } else { "\n" };
        // If nobody listens, nobody wants to know.
        let _ = rustix::io::write(&self.stream, format!("hermes: {text}{end}").as_bytes());
    }
}

impl<W: Transport> RemoteProcess<W> {
    /// Watches over a carrier from now on.
    pub(super) fn watch(
        carrier: Box<dyn ProcessControl>,
        way: Arc<W>,
        local: Arc<LocalBackend>,
        endings: TerminationTasks,
        mark: String,
        told: Option<ExitCodeReceiver>,
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
            exit_code: told.clone(),
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
            // Its stream ends before it does.
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
            exit_code: told,
            last_input_check: asked,
            remarks,
            descendants_changed: stirred,
            kill_timeout: KILL_REPLY_TIMEOUT,
        }
    }

    /// The same at a place to which a trip takes so long.
    pub(super) fn with_round_trip(mut self, trip: Duration) -> Self {
        self.kill_timeout = KILL_REPLY_TIMEOUT + trip.min(MAX_ROUND_TRIP) * EXTRA_ROUND_TRIPS;
        self
    }

    /// Whether something of it runs there; none if nobody answers.
    async fn is_running(&self) -> Option<bool> {
        let text = script::presence_script(&self.mark);
        let done = run_script(&*self.transport, &self.local, &text, PRESENCE_TIMEOUT).await.ok()?;
        done.succeeded().then(|| done.output.starts_with(script::SOME_RUNNING))
    }
}

/// What is needed to find out how a program ended.
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
        let exit = exit.map_err(|error| ToolError::io("The way there", &error))?;
        if exit == ProcessExit::Code(0) || self.kill_requested.load(Ordering::Acquire) {
            return Ok(exit);
        }
        // A shell that has said how its program ended was there until then.
        let said = match &self.exit_code {
            Some(told) => {
                tokio::time::timeout(TRANSPORT_EXIT_GRACE, exit_report::wait_for_code(told))
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
        // Nobody hears any more what it writes, and nobody else will end it.
        let gone =
            terminate_remote(&*self.transport, &self.local, &self.mark, KILL_GRACE, || true).await;
        let there =
            if gone { "so it was ended there as well" } else { "and it may still run there" };
        let message = format!(
            "{}: the program that carried the command was killed by signal {signal}, {there}",
            self.transport.name()
        );
        Err(ToolError::new(ErrorKind::Network, message)
            .with_hint("See what the command has done before it is run again."))
    }
}

/// Ends a program there; whether it is surely gone.
///
/// What has only just been sent may not have its mark yet, and would begin
/// after nobody was found, so it is looked for again until its carrier is over.
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

/// Whether a program has ended, or has said how it will.
fn has_exited(ended: &ExitReceiver, told: Option<&ExitCodeReceiver>) -> bool {
    let has_told = || told.is_some_and(|told| told.borrow().is_some());
    ended.borrow().is_some() || has_told()
}

impl<W: Transport> ProcessControl for RemoteProcess<W> {
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>> {
        Box::pin(async move {
            let mut ended = self.ended.clone();
            let code = match &self.exit_code {
                Some(told) => exit_report::wait_for_code(told).await,
                None => None,
            };
            if let Some(code) = code {
                // Somebody else may hold its streams for long.
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
            let (mark, over, told) = (self.mark.clone(), ended.clone(), self.exit_code.clone());
            let ending = self.terminations.spawn(async move {
                let is_over = || has_exited(&over, told.as_ref());
                if !terminate_remote(&*way, &local, &mark, grace, is_over).await {
                    way.force_kill(&script::kill_script(&mark)).await;
                }
            });
            // A place that does not answer is not waited for: whoever ends the
            // program has waited long enough. It is still tried.
            let limit = grace + self.kill_timeout;
            let is_told = matches!(tokio::time::timeout(limit, ending).await, Ok(Ok(())));
            if let Some(remarks) = self.remarks.as_ref().filter(|_| !is_told) {
                remarks.add(format!(
                    "{} did not answer within {:.1} s, so it is not known whether the command was \
                     ended there.",
                    self.transport.name(),
                    limit.as_secs_f64()
                ));
            }
            if is_told {
                // Its last words, what its shell held among them, are on their way.
                let _ = tokio::time::timeout(TRANSPORT_EXIT_GRACE, ended.wait_for(Option::is_some))
                    .await;
            }
            // If the way there is broken, this end of it can still be ended: then
            // there is nothing that it could still bring.
            self.transport_process.terminate(if is_told { grace } else { Duration::ZERO }).await;
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
            // Once it was to be ended, nobody asks for long.
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
        // A carrier that has just begun may not have listened.
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
