//! The way from an async call to a thread that may block on the disk.

use hermes_core::{ToolContext, ToolError};

/// Runs `work` where it may block. A cancelled call is answered at once; the
/// thread notices at its next look at the token.
pub(crate) async fn off_thread<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let inner = cx.clone();
    let task = tokio::task::spawn_blocking(move || {
        // It may have waited for a thread, and the call may be over by now.
        inner.check()?;
        work(&inner)
    });
    match cx.race(task).await? {
        Ok(answer) => answer,
        Err(failure) => match failure.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::cancelled()),
        },
    }
}
