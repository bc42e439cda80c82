//! What interpreters of bash were told that changes what later words mean:
//! functions and aliases. The policy reads it, so that a call of one is judged
//! by what it does.

use std::collections::BTreeMap;

use hermes_core::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// The session's document, by the resource that stands for the interpreter.
const SHELLS_DOCUMENT: &str = "repl";
/// Bytes of code that are remembered of one; the oldest goes first.
const MAX_REMEMBERED_BYTES: usize = 32 * 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
struct ShellHistory {
    /// The program whose interpreter it is.
    process: u32,
    /// What it was told, in this order.
    told: Vec<String>,
}

type ShellHistories = BTreeMap<String, ShellHistory>;

/// Whether an interpreter of this program is known to have been told something.
pub(super) fn has_history(cx: &ToolContext, resource: &str) -> Result<bool, ToolError> {
    let shells: ShellHistories = cx.session.read(SHELLS_DOCUMENT)?;
    Ok(shells.get(resource).is_some_and(|shell| shell.process == std::process::id()))
}

/// An interpreter was given this.
pub(super) fn remember(cx: &ToolContext, resource: &str, code: &str) -> Result<(), ToolError> {
    // From the first of them on, all counts: it may be taken back as well.
    let defines = ["()", "function", "alias"].iter().any(|sign| code.contains(sign));
    if !defines && !has_history(cx, resource)? {
        return Ok(());
    }
    let process = std::process::id();
    cx.session.update(SHELLS_DOCUMENT, |shells: &mut ShellHistories| {
        // Those of programs that have ended are gone.
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

/// An interpreter has ended.
pub(super) fn forget(cx: &ToolContext, resource: &str) -> Result<(), ToolError> {
    let shells: ShellHistories = cx.session.read(SHELLS_DOCUMENT)?;
    if shells.contains_key(resource) {
        cx.session
            .update(SHELLS_DOCUMENT, |shells: &mut ShellHistories| shells.remove(resource))?;
    }
    Ok(())
}
