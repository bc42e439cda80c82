//! Work that would hold up the runtime, done beside it.

use hermes_core::{ToolContext, ToolError};

/// Runs `work` on a thread where it may block. A cancelled call does not wait
/// for it.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let done = cx.run_until_cancelled(tokio::task::spawn_blocking(work)).await?;
    done.map_err(|e| ToolError::internal(format!("The work broke off: {e}")))
}
