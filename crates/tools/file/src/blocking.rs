//! The way from an async call to a thread that may block on the disk.

use hermes_core::{ToolContext, ToolError};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// Runs `work` where it may block. A cancelled call is answered at once; the
/// thread notices at its next look at the token.
pub(crate) async fn off_thread<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let inner = cx.clone();
    let (tell, told) = oneshot::channel();
    let task = tokio::task::spawn_blocking(move || {
        // It may have waited for a thread, and the call may be over by now.
        let done = inner.check_cancelled().and_then(|()| work(&inner));
        drop(inner);
        // If nobody waits for it any more, the call was cancelled.
        let _ = tell.send(done);
    });
    match cx.run_until_cancelled(told).await? {
        Ok(answer) => answer,
        Err(_) => match task.await.map_err(JoinError::try_into_panic) {
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            _ => Err(ToolError::cancelled()),
        },
    }
}

/// The same for brief work. To wake another thread takes a good part of the
/// time of such work, so it is done right here if others can go on meanwhile.
/// A cancelled call is answered when the work next looks at the token.
pub(crate) async fn in_place<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
        return off_thread(cx, work).await;
    }
    tokio::task::block_in_place(|| cx.check_cancelled().and_then(|()| work(cx)))
}
