//! Runs blocking work off the async runtime.

use hermes_core::{ToolContext, ToolError};

/// Runs `work` on a blocking thread. A cancelled call does not wait for it.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let done = cx.run_until_cancelled(tokio::task::spawn_blocking(work)).await?;
    done.map_err(|e| ToolError::internal(format!("a blocking task failed: {e}")))
}
