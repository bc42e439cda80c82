//! The async runtime, made only by commands that need one.

use std::future::Future;

use hermes::core::{CancellationToken, ErrorKind};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// A runtime whose workers run tools; one more thread than strictly needed
/// lets a deadline pass while a tool does not yield.
fn workers() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|e| cannot_start(&e))
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
    let done = runtime.block_on(async move {
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
    });
    // A tool that does not stop must not keep the program from ending.
    runtime.shutdown_background();
    done
}
