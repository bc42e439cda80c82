//! The async runtime, made only by commands that need one.

use std::future::Future;

use hermes::core::CancellationToken;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// A runtime whose workers run tools; one more thread than strictly needed
/// lets a deadline pass while a tool does not yield.
fn workers() -> Result<Runtime, Failure> {
    Ok(Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// Runs work that asks tools whether they are available, and no more.
pub(crate) fn brief<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?.block_on(work))
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
        // On a worker, starting a tool's task does not have to wake another thread.
        let work = tokio::spawn(work);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if cancel.is_cancelled() {
                    std::process::exit(130);
                }
                cancel.cancel();
            }
        });
        work.await
    });
    // A tool that does not stop must not keep the program from ending.
    runtime.shutdown_background();
    done.map_err(|e| Failure::failed(hermes::core::ErrorKind::Internal, format!("The program crashed: {e}")))
}
