//! The breakpoints of a program that runs.

use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use serde_json::json;

use super::{ANSWER, Session};
use crate::breakpoints::{Breakpoint, Wanted};
use crate::client::Fault;

impl Session {
    /// The breakpoints.
    pub fn breakpoints(&self) -> Vec<Breakpoint> {
        self.shared.look().breakpoints.all.clone()
    }

    /// The same as they were asked for.
    pub fn wanted(&self) -> Vec<Wanted> {
        self.shared.look().breakpoints.all.iter().map(|one| one.wanted.clone()).collect()
    }

    /// Adds breakpoints.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn set(&self, wanted: Vec<Wanted>) -> Result<(), ToolError> {
        {
            let mut state = self.shared.look();
            wanted.iter().for_each(|one| {
                state.breakpoints.add(one.clone());
            });
        }
        self.tell(&wanted).await
    }

    /// Takes those away that are not kept; how many that were.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn clear(
        &self,
        mut keep: impl FnMut(&Breakpoint) -> bool,
    ) -> Result<usize, ToolError> {
        let mut gone = Vec::new();
        self.shared.look().breakpoints.all.retain(|one| {
            let kept = keep(one);
            if !kept {
                gone.push(one.wanted.clone());
            }
            kept
        });
        self.tell(&gone).await?;
        Ok(gone.len())
    }

    async fn tell(&self, changed: &[Wanted]) -> Result<(), ToolError> {
        let mut files: Vec<&PathBuf> = changed
            .iter()
            .filter_map(|one| match one {
                Wanted::Line { file, .. } => Some(file),
                Wanted::Function { .. } => None,
            })
            .collect();
        files.sort();
        files.dedup();
        let failed = |fault: Fault| fault.into_error("The breakpoints cannot be changed");
        for file in files {
            self.tell_file(file).await.map_err(failed)?;
        }
        if changed.iter().any(|one| matches!(one, Wanted::Function { .. })) {
            self.tell_functions().await.map_err(failed)?;
        }
        Ok(())
    }

    pub(super) async fn tell_file(&self, file: &Path) -> Result<(), Fault> {
        let asked = self.shared.look().breakpoints.of_file(file);
        let asked = json!({ "source": { "path": file }, "breakpoints": asked });
        let answer = self.client.ask("setBreakpoints", asked, ANSWER).await?;
        self.shared.look().breakpoints.settle(Some(file), &answer);
        Ok(())
    }

    pub(super) async fn tell_functions(&self) -> Result<(), Fault> {
        let extra = self.found.adapter.functions(&self.launch.stop_on);
        let asked = self.shared.look().breakpoints.of_functions(extra);
        let asked = json!({ "breakpoints": asked });
        let answer = self.client.ask("setFunctionBreakpoints", asked, ANSWER).await?;
        self.shared.look().breakpoints.settle(None, &answer);
        Ok(())
    }
}
