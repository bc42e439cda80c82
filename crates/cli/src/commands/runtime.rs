//! The async runtime, made only by commands that need one.

use std::future::Future;
use std::sync::OnceLock;

use hermes::core::{CancellationToken, ErrorKind};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// The runtime whose workers run tools; one more thread than strictly needed
/// lets a deadline pass while a tool does not yield. It is never taken down: a
/// tool that does not stop must not keep the program from ending.
fn workers() -> Result<&'static Runtime, Failure> {
    static WORKERS: OnceLock<Runtime> = OnceLock::new();
    if let Some(workers) = WORKERS.get() {
        return Ok(workers);
    }
    let made = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let made = made.map_err(|e| cannot_start(&e))?;
    Ok(WORKERS.get_or_init(|| made))
}

/// Runs work that leaves something behind which tools will use.
pub(crate) fn early<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    Ok(workers()?.block_on(work))
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::failed(ErrorKind::Internal, format!("The program cannot start its threads: {error}"))
        .hint("Look at the limits on processes and open files (`ulimit -a`).")
}

/// Runs work that asks tools whether they are available, and no more.
pub(crate) fn brief<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(|e| cannot_start(&e))?;
    Ok(runtime.block_on(work))
}

/// Runs tool calls. The first interrupt cancels them, so that they can stop in
/// order; the second ends the program.
pub(crate) fn with_tools<T, F>(cancel: &CancellationToken, work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let runtime = workers()?;
    let cancel = cancel.clone();
    runtime.block_on(async move {
        // Before the work, so that no interrupt finds nobody.
        let mut interrupts = signal(SignalKind::interrupt()).map_err(|e| cannot_start(&e))?;
        let mut terminations = signal(SignalKind::terminate()).map_err(|e| cannot_start(&e))?;
        // On a worker, starting a tool's task does not have to wake another thread.
        let work = tokio::spawn(work);
        tokio::spawn(async move {
            while tokio::select! {
                more = interrupts.recv() => more,
                more = terminations.recv() => more,
            }
            .is_some()
            {
                if cancel.is_cancelled() {
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "what did not stop the first time does not return"
                    )]
                    std::process::exit(130);
                }
                cancel.cancel();
            }
        });
        work.await
            .map_err(|e| Failure::failed(ErrorKind::Internal, format!("The program crashed: {e}")))
    })
}
