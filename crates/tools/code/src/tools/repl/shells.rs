//! What interpreters of bash were told that changes what later words mean:
//! functions and aliases. The policy reads it, so that a call of one is judged
//! by what it does.

use std::collections::BTreeMap;

use hermes_core::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// The session's document, by the resource that stands for the interpreter.
const DOCUMENT: &str = "repl";
/// Bytes of code that are remembered of one; the oldest goes first.
const MOST: usize = 32 * 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Shell {
    /// The program whose interpreter it is.
    process: u32,
    /// What it was told, in this order.
    told: Vec<String>,
}

type Shells = BTreeMap<String, Shell>;

/// Whether an interpreter of this program is known to have been told something.
pub(super) fn is_known(cx: &ToolContext, resource: &str) -> Result<bool, ToolError> {
    let shells: Shells = cx.session.read(DOCUMENT)?;
    Ok(shells.get(resource).is_some_and(|shell| shell.process == std::process::id()))
}

/// An interpreter was given this.
pub(super) fn remember(cx: &ToolContext, resource: &str, code: &str) -> Result<(), ToolError> {
    // From the first of them on, all counts: it may be taken back as well.
    let defines = ["()", "function", "alias"].iter().any(|sign| code.contains(sign));
    if !defines && !is_known(cx, resource)? {
        return Ok(());
    }
    let process = std::process::id();
    cx.session.update(DOCUMENT, |shells: &mut Shells| {
        // Those of programs that have ended are gone.
        shells.retain(|_, shell| shell.process == process);
        let shell = shells.entry(resource.to_owned()).or_default();
        shell.process = process;
        shell.told.push(code.to_owned());
        while shell.told.iter().map(String::len).sum::<usize>() > MOST {
            shell.told.remove(0);
        }
    })?;
    Ok(())
}

/// An interpreter has ended.
pub(super) fn forget(cx: &ToolContext, resource: &str) -> Result<(), ToolError> {
    let shells: Shells = cx.session.read(DOCUMENT)?;
    if shells.contains_key(resource) {
        cx.session.update(DOCUMENT, |shells: &mut Shells| shells.remove(resource))?;
    }
    Ok(())
}
