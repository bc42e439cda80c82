//! The async runtime, created only by commands that need one.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use hermes::core::{CancellationToken, ErrorKind};
use rustix::process::Signal as Number;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::command_error::CommandError;

/// How long an idle thread for blocking work is kept.
const BLOCKING_KEEP_ALIVE: Duration = Duration::from_secs(60 * 60);

/// Returns the runtime that runs tools. The second worker lets deadlines pass
/// while a tool does not yield. It is never shut down: a tool that does not
/// stop must not delay the exit.
fn worker_runtime() -> Result<&'static Runtime, CommandError> {
    static WORKER_RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(workers) = WORKER_RUNTIME.get() {
        return Ok(workers);
    }
    let made = build_workers().map_err(|e| start_error(&e))?;
    Ok(WORKER_RUNTIME.get_or_init(|| made))
}

/// Builds the runtime, with a first thread for blocking work: later ones may
/// then be missing without a panic.
fn build_workers() -> std::io::Result<Runtime> {
    // The library panics if a thread cannot be started.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let made = std::panic::catch_unwind(|| {
        let mut builder = Builder::new_multi_thread();
        let workers = builder.worker_threads(2).thread_keep_alive(BLOCKING_KEEP_ALIVE);
        let runtime = workers.enable_all().build()?;
        drop(runtime.spawn_blocking(|| ()));
        Ok(runtime)
    });
    std::panic::set_hook(hook);
    made.unwrap_or_else(|_| Err(std::io::Error::other("no thread can be started")))
}

/// Runs work on the runtime that tools use later, so its tasks stay alive.
pub(crate) fn block_on_workers<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    Ok(worker_runtime()?.block_on(work))
}

fn start_error(error: &std::io::Error) -> CommandError {
    CommandError::failed(ErrorKind::Limit, format!("Cannot start the async runtime: {error}"))
        .hint("Check the limits on memory, processes and open files (`ulimit -a`).")
}

/// Runs short work that starts no tools, such as availability checks.
pub(crate) fn block_on_current_thread<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(|e| start_error(&e))?;
    Ok(runtime.block_on(work))
}

/// Signals that shut the program down.
struct ShutdownSignals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// `None` if SIGHUP is ignored, as with `nohup`.
    hang_up: Option<Signal>,
}

impl ShutdownSignals {
    fn listen() -> std::io::Result<Self> {
        ignore_file_size_signal()?;
        let hang_up = if is_ignored(Number::HUP) { None } else { Some(SignalKind::hangup()) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hang_up: hang_up.map(signal).transpose()?,
        })
    }

    /// Waits for the next signal. Returns whether a repeat may force the exit:
    /// a closing terminal sends SIGHUP several times, and no user is waiting
    /// there.
    async fn next(&mut self) -> bool {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => true,
            _ = self.quit.recv() => true,
            () = hung_up => false,
        }
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail instead of
/// ending the program. A handler, not SIG_IGN, so children get the default
/// disposition after exec.
fn ignore_file_size_signal() -> std::io::Result<()> {
    signal(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}

/// Whether the program was started with this signal ignored, as with `nohup`.
/// False if the system does not report it.
fn is_ignored(number: Number) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}

/// Runs tool calls. The first signal cancels them, so they can clean up; the
/// second ends the program.
pub(crate) fn with_tools<T, F>(cancel: &CancellationToken, work: F) -> Result<T, CommandError>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let runtime = worker_runtime()?;
    let cancel = cancel.clone();
    runtime.block_on(async move {
        // Before the work starts, so no signal is missed.
        let mut signals = ShutdownSignals::listen().map_err(|e| start_error(&e))?;
        // Starting a tool's task from a worker does not have to wake another
        // thread.
        let work = tokio::spawn(work);
        tokio::spawn(async move {
            loop {
                let is_urgent = signals.next().await;
                if is_urgent && cancel.is_cancelled() {
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "work that ignored the first signal does not return"
                    )]
                    std::process::exit(130);
                }
                cancel.cancel();
            }
        });
        work.await.map_err(|e| {
            CommandError::failed(ErrorKind::Internal, format!("The program crashed: {e}"))
        })
    })
}
