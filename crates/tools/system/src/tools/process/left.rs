//! Processes that an earlier program has started, and that still run.

use std::sync::Arc;

use hermes_core::{ToolContext, ToolError};
use hermes_exec::Jobs;
use hermes_exec::leftovers::Entry;

use super::Action;
use super::report::Output;
use crate::blocking::blocking;

/// Those of this session or of this folder; those elsewhere are somebody
/// else's affair.
pub(super) async fn here(jobs: &Arc<Jobs>, cx: &ToolContext) -> Vec<Entry> {
    let looked = Arc::clone(jobs);
    let mut entries = blocking(cx, move || looked.left_over()).await.unwrap_or_default();
    let cwd = cx.workplace.cwd();
    entries.retain(|entry| {
        entry.session == cx.session.id()
            || entry.cwd.starts_with(cwd)
            || cwd.starts_with(&entry.cwd)
    });
    entries
}

/// The answer about a process that is not one of this program.
pub(super) async fn answer(
    action: Action,
    id: &str,
    jobs: &Arc<Jobs>,
    cx: &ToolContext,
) -> Result<Output, ToolError> {
    let entries = here(jobs, cx).await;
    let Some(entry) = entries.iter().find(|entry| entry.id == id) else {
        return Err(unknown(id, &entries, jobs, cx));
    };
    if action != Action::Kill {
        let output = match &entry.output {
            Some(file) => format!(" Its output is in {}.", file.display()),
            None => " Its output is lost.".to_owned(),
        };
        return Err(ToolError::conflict("The process was started by an earlier hermes")
            .with_hint(format!("It still runs; action=kill ends it.{output}")));
    }
    let (jobs, entry) = (Arc::clone(jobs), entry.clone());
    let is_gone = blocking(cx, move || jobs.end_left_over(&entry)).await?;
    if !is_gone {
        return Err(ToolError::conflict("Some of its processes could not be ended")
            .with_hint("They may belong to another user."));
    }
    Ok(Output::named(id, "killed"))
}

fn unknown(id: &str, left: &[Entry], jobs: &Jobs, cx: &ToolContext) -> ToolError {
    let own = jobs.of(cx.session.id());
    let there: Vec<&str> = own
        .iter()
        .map(|listed| listed.job.id.as_str())
        .chain(left.iter().map(|entry| entry.id.as_str()))
        .collect();
    let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    ToolError::not_found(format!("There is no process '{id}' in this session"))
        .with_hint(format!("Those that there are: {there}."))
}
