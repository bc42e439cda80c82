//! Runs blocking disk work from async calls.

use hermes_core::{ToolContext, ToolError};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// Runs `work` on a blocking thread. A cancelled call returns at once; the
/// thread stops at its next check of the token.
pub(crate) async fn off_thread<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let inner = cx.clone();
    let (tell, shown) = oneshot::channel();
    let task = tokio::task::spawn_blocking(move || {
        // The call may have been cancelled while waiting for a thread.
        let done = inner.check_cancelled().and_then(|()| work(&inner));
        drop(inner);
        // If the receiver is gone, the call was cancelled.
        let _ = tell.send(done);
    });
    match cx.run_until_cancelled(shown).await? {
        Ok(answer) => answer,
        Err(_) => match task.await.map_err(JoinError::try_into_panic) {
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            _ => Err(ToolError::cancelled()),
        },
    }
}

/// Like [`off_thread`], for brief work. Waking another thread costs a large
/// part of the time of such work, so it runs on the current worker if other
/// tasks can move away. A cancelled call returns at the next check of the
/// token.
pub(crate) async fn in_place<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
        return off_thread(cx, work).await;
    }
    tokio::task::block_in_place(|| cx.check_cancelled().and_then(|()| work(cx)))
}
