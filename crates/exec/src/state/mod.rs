//! Shell state that carries over from one command to the next.
//!
//! Every command runs in a new process. On exit its shell dumps its state
//! ([`script()`]); the dump is parsed ([`parse_dump`]), the changes are merged
//! into the session's state, and the next command starts from it. So a killed
//! shell loses no state, and concurrent commands do not undo each other's
//! changes.

mod bytes;
mod dump;
mod filter;
mod framing;
mod no_state_change;
mod posix;
mod quote;
mod script;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use bytes::ShellBytes;
pub use dump::parse_dump;
pub use framing::ReportExtractor;
pub(crate) use no_state_change::is_builtin;
pub use no_state_change::{state_after_cwd_loss, unchanged_state};
pub use posix::{parse_posix_report, posix_script};
use quote::quote;
pub use script::{ReportTarget, arguments, hidden_arguments, script, shown_at_exit};
use variable::ShellVariable;

/// Switches a shell to POSIX mode, which rejects function names with a hyphen.
/// So it is set after the functions, even if it is exported.
const POSIX_MODE_VARIABLE: &str = "POSIXLY_CORRECT";

/// Differences from a new shell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellState {
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<ShellBytes>,
    /// `None`: inherited from the environment, and unset.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, Option<ShellVariable>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    functions: BTreeMap<String, ShellFunction>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    aliases: BTreeMap<String, ShellBytes>,
    /// `set -o` options.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, bool>,
    /// `shopt` options.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    switches: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    umask: Option<String>,
    /// `$1`, `$2`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ShellBytes>,
    /// `$_`, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<ShellBytes>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<String>,
    /// Dumped from within a function, which has its own parameters.
    #[serde(skip)]
    inside: bool,
    /// Variables hidden by a function's locals: their values are unknown.
    #[serde(skip)]
    unsure: BTreeSet<String>,
    /// All variables not listed here are unknown too.
    #[serde(skip)]
    is_partial: bool,
    /// The directory was removed; `cwd` is the nearest existing one above it.
    #[serde(skip)]
    is_adrift: bool,
}

/// A function: its text, and its marks as printed by `declare -F`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ShellFunction {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    marks: String,
    text: String,
}

impl ShellState {
    /// Returns the directory of the next command; None for the start directory
    /// of the session.
    pub fn cwd(&self) -> Option<&Path> {
        self.cwd.as_ref().map(|cwd| Path::new(OsStr::from_bytes(&cwd.0)))
    }

    /// Sets the directory, as to restore it after a command with its own.
    pub fn set_cwd(&mut self, cwd: Option<PathBuf>) {
        self.cwd = cwd.map(|cwd| ShellBytes(cwd.into_os_string().into_vec()));
    }

    /// Whether the command ended in a directory that no longer exists, and
    /// [`cwd`](Self::cwd) is the nearest one above it.
    pub fn has_lost_cwd(&self) -> bool {
        self.is_adrift
    }

    /// Sets and exports a variable, as `export NAME=VALUE` does. Returns false
    /// if the name is invalid or the value contains a NUL byte.
    pub fn export(&mut self, name: &str, value: &OsStr) -> bool {
        if !variable::is_variable_name(name) || value.as_bytes().contains(&0) {
            return false;
        }
        let value = variable::VariableValue::One(value.as_bytes().into());
        self.variables
            .insert(name.to_owned(), Some(ShellVariable { marks: "x".to_owned(), value }));
        true
    }

    /// Removes the recorded state of a variable, so its inherited value
    /// applies.
    pub fn forget_variable(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// Returns the recorded variables: set, changed or unset.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Returns the recorded value of a variable, exported or not, or that it
    /// was unset. None if it is not recorded.
    pub fn variable_value(&self, name: &str) -> Option<Option<&[u8]>> {
        let known = self.variables.get(name)?;
        Some(known.as_ref().and_then(|variable| match &variable.value {
            variable::VariableValue::One(value) => Some(value.0.as_slice()),
            _ => None,
        }))
    }

    /// Unsets a variable, also an inherited one.
    pub fn unset(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), None);
    }

    /// Returns the environment of the next command: `base` with exported
    /// variables added and unset ones removed.
    pub fn environment(&self, base: BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
        let mut environment = base;
        for (name, variable) in &self.variables {
            let exported = variable.as_ref().filter(|_| name != POSIX_MODE_VARIABLE);
            match exported.and_then(ShellVariable::exported_value) {
                Some(value) => {
                    environment.insert(name.into(), OsStr::from_bytes(value).to_owned());
                }
                None => {
                    environment.remove(OsStr::new(name));
                }
            }
        }
        // The shell trusts `PWD` if it resolves to its directory, and so keeps
        // the symlinks in the path.
        if let Some(cwd) = self.cwd() {
            environment.insert("PWD".into(), cwd.into());
        }
        environment
    }

    /// Returns declarations that restore the rest: variables, functions,
    /// options, umask, aliases. It runs no commands. Empty for a new session.
    pub fn prelude(&self) -> String {
        let mut lines = Vec::new();
        for (name, variable) in &self.variables {
            if let Some(variable) = variable
                && !variable.is_plain_export()
                && name != POSIX_MODE_VARIABLE
            {
                lines.push(variable.declaration(name));
            }
        }
        if !self.parameters.is_empty() {
            let words: Vec<_> = self.parameters.iter().map(|word| quote(&word.0)).collect();
            lines.push(format!("set -- {}", words.join(" ")));
        }
        if let Some(umask) = &self.umask {
            lines.push(format!("umask {umask}"));
        }
        for (name, value) in &self.aliases {
            let word = [name.as_bytes(), b"=", &value.0].concat();
            lines.push(format!("alias -- {}", quote(&word)));
        }
        // A function may shadow a builtin, and an option may change what other
        // lines do, so these come late.
        for (name, on) in self.switches.iter().filter(|(name, _)| *name != "expand_aliases") {
            lines.push(format!("shopt -{} {name}", if *on { 's' } else { 'u' }));
        }
        self.declare_functions(&mut lines);
        for (name, on) in self.options.iter().filter(|(name, _)| !is_trace_option(name)) {
            lines.push(format!("set {}o {name}", if *on { '-' } else { '+' }));
        }
        if let Some(Some(strict)) = self.variables.get(POSIX_MODE_VARIABLE) {
            lines.push(strict.declaration(POSIX_MODE_VARIABLE));
        }
        if *self.switches.get("expand_aliases").unwrap_or(&!self.aliases.is_empty()) {
            lines.push("shopt -s expand_aliases".to_owned());
        }
        if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" }
    }

    fn declare_functions(&self, lines: &mut Vec<String>) {
        // Such patterns parse only while `extglob` is on.
        let patterned = ["@(", "?(", "*(", "+(", "!("]
            .iter()
            .any(|sign| self.functions.values().any(|function| function.text.contains(sign)));
        if patterned {
            lines.push("shopt -s extglob".to_owned());
        }
        for (name, function) in &self.functions {
            lines.push(function.text.clone());
            if !function.marks.is_empty() {
                lines.push(format!("declare -f{} {}", function.marks, quote(name.as_bytes())));
            }
        }
        if patterned && self.switches.get("extglob") != Some(&true) {
            lines.push("shopt -u extglob".to_owned());
        }
    }

    /// Applies only the changes between `before` and `after`: another command
    /// may have changed the rest in the meantime.
    pub fn merge(&mut self, before: &Self, after: &Self) {
        if after.inside {
            let mut variables = before.variables.clone();
            variables.retain(|name, _| after.is_partial || after.unsure.contains(name));
            variables.extend(after.variables.clone());
            merge_map(&mut self.variables, &before.variables, &variables);
        } else {
            merge_map(&mut self.variables, &before.variables, &after.variables);
            merge_one(&mut self.parameters, &before.parameters, &after.parameters);
        }
        merge_map(&mut self.functions, &before.functions, &after.functions);
        merge_map(&mut self.aliases, &before.aliases, &after.aliases);
        merge_map(&mut self.options, &before.options, &after.options);
        merge_map(&mut self.switches, &before.switches, &after.switches);
        merge_one(&mut self.cwd, &before.cwd, &after.cwd);
        merge_one(&mut self.umask, &before.umask, &after.umask);
        self.last.clone_from(&after.last);
        self.dropped.clone_from(&after.dropped);
    }

    /// Whether the state equals that of a new shell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the names of items that the last command left and that were too
    /// large to keep.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    fn defines_command(&self, name: &str) -> bool {
        self.functions.contains_key(name) || self.aliases.contains_key(name)
    }
}

/// Whether the option traces what is read or executed. It is set with the
/// command itself, or internal commands would be traced too.
fn is_trace_option(option: &str) -> bool {
    matches!(option, "xtrace" | "verbose")
}

fn merge_map<V: Clone + PartialEq>(
    now: &mut BTreeMap<String, V>,
    before: &BTreeMap<String, V>,
    after: &BTreeMap<String, V>,
) {
    for (name, value) in after {
        if before.get(name) != Some(value) {
            now.insert(name.clone(), value.clone());
        }
    }
    now.retain(|name, _| after.contains_key(name) || !before.contains_key(name));
}

fn merge_one<V: Clone + PartialEq>(now: &mut V, before: &V, after: &V) {
    if before != after {
        now.clone_from(after);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
