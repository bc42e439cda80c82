//! What a shell carries from one command to the next.
//!
//! Every command is a process of its own. At its end it writes down what its
//! shell holds ([`script`]); that is read ([`read`]), what it changed is merged
//! into the session's state, and the next command starts from there. So
//! nothing is lost with a shell that is killed, and commands that run at the
//! same time do not undo each other's changes.

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

/// A shell that has this one follows POSIX from then on, and takes no function
/// whose name has a hyphen in it. So it comes after them, also if it is exported.
const POSIX_MODE_VARIABLE: &str = "POSIXLY_CORRECT";

/// What differs from a shell that has just been started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellState {
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<ShellBytes>,
    /// None: it comes with the environment, and was unset.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, Option<ShellVariable>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    functions: BTreeMap<String, ShellFunction>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    aliases: BTreeMap<String, ShellBytes>,
    /// Those of `set -o`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, bool>,
    /// Those of `shopt`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    switches: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    umask: Option<String>,
    /// `$1`, `$2`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ShellBytes>,
    /// `$_`, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<ShellBytes>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<String>,
    /// Written from within a function, which has parameters of its own.
    #[serde(skip)]
    inside: bool,
    /// Variables that those of a function hide: nothing is known of them.
    #[serde(skip)]
    unsure: BTreeSet<String>,
    /// The same of all that are not said here.
    #[serde(skip)]
    is_partial: bool,
    /// The folder was taken away; `cwd` is the nearest one that is left.
    #[serde(skip)]
    is_adrift: bool,
}

/// A function: its text, and its marks as `declare -F` says them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ShellFunction {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    marks: String,
    text: String,
}

impl ShellState {
    /// The folder of the next command. None is the one the session began in.
    pub fn cwd(&self) -> Option<&Path> {
        self.cwd.as_ref().map(|cwd| Path::new(OsStr::from_bytes(&cwd.0)))
    }

    /// Moves the session, as where a command's folder was for that one only.
    pub fn set_cwd(&mut self, cwd: Option<PathBuf>) {
        self.cwd = cwd.map(|cwd| ShellBytes(cwd.into_os_string().into_vec()));
    }

    /// Whether the command ended in a folder that is no longer there, and
    /// [`cwd`](Self::cwd) is the nearest one above it.
    pub fn has_lost_cwd(&self) -> bool {
        self.is_adrift
    }

    /// Sets and exports a variable, as `export PROCESS_NAME=VALUE` does. False if that
    /// is no name for one, or the value has a zero in it.
    pub fn export(&mut self, name: &str, value: &OsStr) -> bool {
        if !variable::is_variable_name(name) || value.as_bytes().contains(&0) {
            return false;
        }
        let value = variable::VariableValue::One(value.as_bytes().into());
        self.variables
            .insert(name.to_owned(), Some(ShellVariable { marks: "x".to_owned(), value }));
        true
    }

    /// Knows nothing more of a variable: it is what it comes as.
    pub fn forget_variable(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// The variables that it knows of: set, changed, unset.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// What it knows of a variable, exported or not: that it was unset, or what
    /// it holds. None if it is what it comes as.
    pub fn variable_value(&self, name: &str) -> Option<Option<&[u8]>> {
        let known = self.variables.get(name)?;
        Some(known.as_ref().and_then(|variable| match &variable.value {
            variable::VariableValue::One(value) => Some(value.0.as_slice()),
            _ => None,
        }))
    }

    /// Unsets a variable, also one that comes with the environment.
    pub fn unset(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), None);
    }

    /// The environment of the next command: `base`, what was exported on top
    /// of it, what was unset taken away.
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
        // The shell believes it if it leads to the folder it was started in,
        // and so keeps the way that was taken there.
        if let Some(cwd) = self.cwd() {
            environment.insert("PWD".into(), cwd.into());
        }
        environment
    }

    /// Declarations that make the rest: variables, functions, options, the
    /// umask, aliases. Nothing in it is executed. Empty for a new session.
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
        // A function may have the name of a builtin, and an option may change
        // what other lines do: so these come late.
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
        // Such a pattern can be read only while the switch is on.
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

    /// Takes over what lies between `before` and `after`, and nothing else:
    /// another command may have changed the rest in the meantime.
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

    /// Whether the next command finds a shell as it is when it starts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The names of what the last command left and was too much to keep.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    fn defines_command(&self, name: &str) -> bool {
        self.functions.contains_key(name) || self.aliases.contains_key(name)
    }
}

/// Whether the option writes down what is read or executed. Such a one is set
/// with the command itself, or our own words would be written down as well.
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
