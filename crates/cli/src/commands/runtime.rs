//! The async runtime, made only by commands that need one.

use std::future::Future;
use std::sync::OnceLock;

use hermes::core::{CancellationToken, ErrorKind};
use rustix::process::Signal as Number;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::command_error::CommandError;

/// The runtime whose workers run tools; one more thread than strictly needed
/// lets a deadline pass while a tool does not yield. It is never taken down: a
/// tool that does not stop must not keep the program from ending.
fn worker_runtime() -> Result<&'static Runtime, CommandError> {
    static WORKER_RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(workers) = WORKER_RUNTIME.get() {
        return Ok(workers);
    }
    let made = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let made = made.map_err(|e| start_error(&e))?;
    Ok(WORKER_RUNTIME.get_or_init(|| made))
}

/// Runs work that leaves something behind which tools will use.
pub(crate) fn block_on_workers<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    Ok(worker_runtime()?.block_on(work))
}

fn start_error(error: &std::io::Error) -> CommandError {
    CommandError::failed(
        ErrorKind::Internal,
        format!("The program cannot start its threads: {error}"),
    )
    .hint("Look at the limits on processes and open files (`ulimit -a`).")
}

/// Runs work that asks tools whether they are available, and no more.
pub(crate) fn block_on_current_thread<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(|e| start_error(&e))?;
    Ok(runtime.block_on(work))
}

/// The signals that want the program to end.
struct ShutdownSignals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// None if whoever started the program wants it to outlive its terminal.
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

    /// The next one; whether it is somebody's who may lose patience. A terminal
    /// that closes tells so several times, and nobody waits there any more.
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

/// A file that grows past its limit (`ulimit -f`) is a write that fails, as on a
/// full disk, and not the end of the program. Somebody listens instead of nobody
/// caring: programs that are started get the system's way back by that.
fn ignore_file_size_signal() -> std::io::Result<()> {
    signal(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}

/// Whether the program was started so that this signal does nothing, as by
/// `nohup`. Where the system does not tell, it was not.
fn is_ignored(number: Number) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}

/// Runs tool calls. The first signal that wants an end cancels them, so that
/// they can stop in order; the second ends the program.
pub(crate) fn with_tools<T, F>(cancel: &CancellationToken, work: F) -> Result<T, CommandError>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let runtime = worker_runtime()?;
    let cancel = cancel.clone();
    runtime.block_on(async move {
        // Before the work, so that no interrupt finds nobody.
        let mut signals = ShutdownSignals::listen().map_err(|e| start_error(&e))?;
        // On a worker, starting a tool's task does not have to wake another thread.
        let work = tokio::spawn(work);
        tokio::spawn(async move {
            loop {
                let is_urgent = signals.next().await;
                if is_urgent && cancel.is_cancelled() {
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "what did not stop the first time does not return"
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
