//! Code run in bash interpreters that changes the meaning of later words:
//! functions and aliases. The policy reads it to judge a call by what it does.

use std::collections::BTreeMap;

use hermes_core::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// The session document, by the resource name of the interpreter.
const SHELLS_DOCUMENT: &str = "repl";
/// Bytes of code remembered per interpreter; the oldest is dropped first.
const MAX_REMEMBERED_BYTES: usize = 32 * 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
struct ShellHistory {
    /// The process that owns the interpreter.
    process: u32,
    /// The code it has run, in order.
    told: Vec<String>,
}

type ShellHistories = BTreeMap<String, ShellHistory>;

/// Whether this process has recorded code for an interpreter.
pub(super) fn has_history(cx: &ToolContext, resource: &str) -> Result<bool, ToolError> {
    let shells: ShellHistories = cx.session.read(SHELLS_DOCUMENT)?;
    Ok(shells.get(resource).is_some_and(|shell| shell.process == std::process::id()))
}

/// Records code that an interpreter ran.
pub(super) fn remember(cx: &ToolContext, resource: &str, code: &str) -> Result<(), ToolError> {
    // After the first definition all code counts: it may undo definitions too.
    let defines = ["()", "function", "alias"].iter().any(|sign| code.contains(sign));
    if !defines && !has_history(cx, resource)? {
        return Ok(());
    }
    let process = std::process::id();
    cx.session.update(SHELLS_DOCUMENT, |shells: &mut ShellHistories| {
        // Interpreters of other processes have ended.
        shells.retain(|_, shell| shell.process == process);
        let shell = shells.entry(resource.to_owned()).or_default();
        shell.process = process;
        shell.told.push(code.to_owned());
        while shell.told.iter().map(String::len).sum::<usize>() > MAX_REMEMBERED_BYTES {
            shell.told.remove(0);
        }
    })?;
    Ok(())
}

/// Drops the history of an interpreter that has ended.
pub(super) fn forget(cx: &ToolContext, resource: &str) -> Result<(), ToolError> {
    let shells: ShellHistories = cx.session.read(SHELLS_DOCUMENT)?;
    if shells.contains_key(resource) {
        cx.session
            .update(SHELLS_DOCUMENT, |shells: &mut ShellHistories| shells.remove(resource))?;
    }
    Ok(())
}
