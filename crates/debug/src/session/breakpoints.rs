//! The breakpoints of a debugged program.

use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use serde_json::json;

use super::{DebugSession, REQUEST_TIMEOUT};
use crate::breakpoints::{Breakpoint, BreakpointRequest};
use crate::client::DapError;

impl DebugSession {
    /// Returns the breakpoints.
    pub fn breakpoints(&self) -> Vec<Breakpoint> {
        self.state.lock().breakpoints.all.clone()
    }

    /// Returns the breakpoints as requested.
    pub fn breakpoint_requests(&self) -> Vec<BreakpointRequest> {
        self.state.lock().breakpoints.all.iter().map(|one| one.wanted.clone()).collect()
    }

    /// Adds breakpoints.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn add_breakpoints(&self, wanted: Vec<BreakpointRequest>) -> Result<(), ToolError> {
        {
            let mut state = self.state.lock();
            wanted.iter().for_each(|one| {
                state.breakpoints.add(one.clone());
            });
        }
        self.sync_breakpoints(&wanted).await
    }

    /// Removes the breakpoints that `keep` rejects, and returns their number.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn retain_breakpoints(
        &self,
        mut keep: impl FnMut(&Breakpoint) -> bool,
    ) -> Result<usize, ToolError> {
        let mut gone = Vec::new();
        self.state.lock().breakpoints.all.retain(|one| {
            let kept = keep(one);
            if !kept {
                gone.push(one.wanted.clone());
            }
            kept
        });
        self.sync_breakpoints(&gone).await?;
        Ok(gone.len())
    }

    async fn sync_breakpoints(&self, changed: &[BreakpointRequest]) -> Result<(), ToolError> {
        let mut files: Vec<&PathBuf> = changed
            .iter()
            .filter_map(|one| match one {
                BreakpointRequest::Line { file, .. } => Some(file),
                BreakpointRequest::Function { .. } => None,
            })
            .collect();
        files.sort();
        files.dedup();
        let failed = |fault: DapError| fault.into_tool_error("The breakpoints cannot be changed");
        for file in files {
            self.sync_file(file).await.map_err(failed)?;
        }
        if changed.iter().any(|one| matches!(one, BreakpointRequest::Function { .. })) {
            self.sync_functions().await.map_err(failed)?;
        }
        Ok(())
    }

    pub(super) async fn sync_file(&self, file: &Path) -> Result<(), DapError> {
        let asked = self.state.lock().breakpoints.source_breakpoints(file);
        let asked = json!({ "source": { "path": file }, "breakpoints": asked });
        let answer = self.client.request("setBreakpoints", asked, REQUEST_TIMEOUT).await?;
        self.state.lock().breakpoints.apply_response(Some(file), &answer);
        Ok(())
    }

    pub(super) async fn sync_functions(&self) -> Result<(), DapError> {
        let extra = self.debugger.adapter.panic_functions(&self.launch.stop_on);
        let asked = self.state.lock().breakpoints.function_breakpoints(extra);
        let asked = json!({ "breakpoints": asked });
        let answer = self.client.request("setFunctionBreakpoints", asked, REQUEST_TIMEOUT).await?;
        self.state.lock().breakpoints.apply_response(None, &answer);
        Ok(())
    }
}
