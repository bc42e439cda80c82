//! Code run in bash interpreters that changes the meaning of later words:
//! functions and aliases. The policy reads it to judge a call by what it does.

use std::collections::BTreeMap;

use hermes_core::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// The session document, by the resource name of the interpreter.
const SHELLS_DOCUMENT: &str = "repl";
/// Bytes of code remembered per interpreter. Above them the oldest code that
/// defines nothing is dropped first.
const MAX_REMEMBERED_BYTES: usize = 32 * 1024;
/// Bytes above which nothing more is remembered. The policy does not analyze as
/// much, so it asks about every call then.
const MAX_HISTORY_BYTES: usize = 256 * 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
struct ShellHistory {
    /// The process that owns the interpreter.
    process: u32,
    /// The code it has run, in order.
    told: Vec<String>,
}

impl ShellHistory {
    fn push(&mut self, code: &str) {
        if self.len_bytes() <= MAX_HISTORY_BYTES {
            self.told.push(code.to_owned());
        }
        while self.len_bytes() > MAX_REMEMBERED_BYTES
            && let Some(at) = self.told.iter().position(|code| !may_define(code))
        {
            self.told.remove(at);
        }
    }

    fn len_bytes(&self) -> usize {
        self.told.iter().map(String::len).sum()
    }
}

/// Whether code may change what later words mean: it defines functions or
/// aliases, or sets what the policy assumes about a fresh shell (its options,
/// arguments and predefined variables). Blanks, quotes and line continuations
/// may be inside any of them (`ls ( ) { …; }`).
fn may_define(code: &str) -> bool {
    const DEFINITION_SIGNS: &[&str] =
        &["()", "ALIASES", "HOME", "IFS", "TMPDIR", "alias", "eval", "function", "set", "shopt"];
    let is_skipped = |c: &char| c.is_whitespace() || matches!(c, '\\' | '\'' | '"');
    let bare: String = code.chars().filter(|c| !is_skipped(c)).collect();
    DEFINITION_SIGNS.iter().any(|sign| bare.contains(sign))
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
    if !may_define(code) && !has_history(cx, resource)? {
        return Ok(());
    }
    let process = std::process::id();
    cx.session.update(SHELLS_DOCUMENT, |shells: &mut ShellHistories| {
        // Interpreters of other processes have ended.
        shells.retain(|_, shell| shell.process == process);
        let shell = shells.entry(resource.to_owned()).or_default();
        shell.process = process;
        shell.push(code);
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

#[cfg(test)]
#[path = "shell_history_tests.rs"]
mod tests;
