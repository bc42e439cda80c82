//! The way from an async call to a thread that may block on the disk.

use hermes_core::{ToolContext, ToolError};
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// Runs `work` where it may block. A cancelled call is answered at once; the
/// thread notices at its next look at the token.
pub(crate) async fn off_thread<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    off_thread_leaving(cx, move |cx| work(cx).map(|answer| (answer, ()))).await
}

/// [`off_thread`] for work that leaves much behind: that is cleared away when
/// the answer is on its way.
pub(crate) async fn off_thread_leaving<T: Send + 'static, L>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<(T, L), ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let inner = cx.clone();
    let (tell, told) = oneshot::channel();
    let task = tokio::task::spawn_blocking(move || {
        // It may have waited for a thread, and the call may be over by now.
        let done = inner.check().and_then(|()| work(&inner));
        drop(inner);
        let (answer, _left) = match done {
            Ok((answer, left)) => (Ok(answer), Some(left)),
            Err(error) => (Err(error), None),
        };
        // If nobody waits for it any more, the call was cancelled.
        let _ = tell.send(answer);
    });
    match cx.race(told).await? {
        Ok(answer) => answer,
        Err(_) => match task.await.map_err(JoinError::try_into_panic) {
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            _ => Err(ToolError::cancelled()),
        },
    }
}
