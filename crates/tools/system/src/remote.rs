//! Files on the backend, if commands do not run on this machine.

use std::path::Path;
use std::sync::Arc;

use hermes_core::{Effect, Scope, ToolContext, ToolError};
use hermes_exec::{JobRegistry, file_transfer};

/// The jobs, if the backend is not local.
pub(crate) fn remote_jobs(cx: &ToolContext) -> Option<Arc<JobRegistry>> {
    cx.ports.get::<JobRegistry>().filter(|jobs| !jobs.backend().is_local())
}

/// Reads up to `most` bytes of a file on the backend.
pub(crate) async fn read(
    jobs: &JobRegistry,
    path: &Path,
    most: usize,
    cx: &ToolContext,
) -> Result<Vec<u8>, ToolError> {
    let effect = Effect::path(Scope::FILE_READ, path);
    cx.check_grant(&effect.scope, &effect.resource)?;
    Ok(cx.run_until_cancelled(file_transfer::read(jobs.backend(), path, most)).await??.bytes)
}

/// Writes a file on the backend.
pub(crate) async fn write(
    jobs: &JobRegistry,
    path: &Path,
    bytes: Vec<u8>,
    cx: &ToolContext,
) -> Result<(), ToolError> {
    let effect = Effect::path(Scope::FILE_WRITE, path);
    cx.check_grant(&effect.scope, &effect.resource)?;
    cx.run_until_cancelled(file_transfer::write(jobs.backend(), path, bytes, None)).await?
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
