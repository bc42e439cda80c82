//! Consecutive failures per file, after which a different approach is
//! suggested.

use std::path::{Path, PathBuf};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use serde::{Deserialize, Serialize};

use crate::path_text::display_path;

/// The session document.
const FAILURES_DOCUMENT: &str = "patch_failures";
/// Maximum number of files tracked.
const MAX_FILES: usize = 64;
/// Number of failures after which a hint is added.
const ADVICE_THRESHOLD: u32 = 3;

#[derive(Debug, Serialize, Deserialize)]
struct FailureCount {
    task: String,
    path: String,
    times: u32,
}

/// Counts a failure and extends its hint after several.
pub(super) fn count(cx: &ToolContext, path: &Path, error: ToolError) -> ToolError {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArguments) {
        return error;
    }
    let path = display_path(path);
    let times = cx.session.update(FAILURES_DOCUMENT, |failed: &mut Vec<FailureCount>| {
        let known = failed.iter().position(|f| f.task == *cx.task_id && f.path == path);
        let mut entry = match known {
            Some(at) => failed.remove(at),
            None => FailureCount { task: cx.task_id.to_string(), path, times: 0 },
        };
        entry.times += 1;
        let times = entry.times;
        failed.push(entry);
        if failed.len() > MAX_FILES {
            failed.remove(0);
        }
        times
    });
    match times {
        Ok(times) if times >= ADVICE_THRESHOLD => {
            let hint = format!(
                "This is failure {times} in a row on this file. Read it again and copy a \
                 longer piece of it as old text, or rewrite the file with write_file. {}",
                error.hint()
            );
            error.with_hint(hint).with("failures_in_a_row", times)
        }
        _ => error,
    }
}

/// Resets the counts of patched files.
pub(super) fn forget(cx: &ToolContext, paths: &[PathBuf]) {
    let failed: Vec<FailureCount> = cx.session.read(FAILURES_DOCUMENT).unwrap_or_default();
    let is_done =
        |f: &FailureCount| f.task == *cx.task_id && paths.iter().any(|p| display_path(p) == f.path);
    if failed.iter().any(is_done) {
        let _ = cx.session.update(FAILURES_DOCUMENT, |failed: &mut Vec<FailureCount>| {
            failed.retain(|f| !is_done(f))
        });
    }
}
