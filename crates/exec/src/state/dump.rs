//! Parses the state that a shell dumps on exit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use super::bytes::ShellBytes;
use super::quote::unquote;
use super::variable::{ShellVariable, VariableValue, is_variable_name};
use super::{ShellFunction, ShellState};

/// Mark of global variables in a dump from within a function.
const GLOBAL_MARK: char = 't';

/// Maximum bytes of kept names, values and function texts.
const MAX_STATE_BYTES: usize = 1 << 20;

/// Variables that every shell sets on its own.
const SHELL_OWN_VARIABLES: &str = "\
    BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND \
    BASH_EXECUTION_STRING BASH_LINENO BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE \
    BASH_SUBSHELL BASH_TRAPSIG BASH_VERSINFO BASH_VERSION BASH_XTRACEFD COMP_WORDBREAKS \
    COPROC COPROC_PID \
    DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HERMES_JOB HISTCMD LINENO PIPESTATUS PPID \
    PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID _";

/// Variables that a shell sets only if the environment lacks them.
const OWN_UNLESS_EXPORTED: &str = "\
    BASH_LOADABLES_PATH COLUMNS HOSTNAME HOSTTYPE LINES MACHTYPE OSTYPE SHELL";

/// Values in a new shell.
const DEFAULT_VALUES: &[(&str, &[u8])] =
    &[("IFS", b" \t\n"), ("OPTERR", b"1"), ("OPTIND", b"1"), ("PS4", b"+ "), ("TERM", b"dumb")];

/// `set -o` options that may be on when a shell starts.
const SET_OPTIONS: &str = "\
    allexport braceexpand emacs errexit errtrace functrace hashall histexpand history \
    ignoreeof interactive-comments keyword monitor noclobber noglob nolog notify nounset \
    physical pipefail posix verbose vi xtrace";

/// Options that would prevent the next command from running, or cannot be set.
const UNKEPT_OPTIONS: &str = "\
    login_shell noexec onecmd privileged restricted restricted_shell";

/// Parses a dump. `base` is the environment before the session's exports. None
/// if the dump is incomplete, as from a killed shell.
pub fn parse_dump(dump: &[u8], base: &BTreeMap<OsString, OsString>) -> Option<ShellState> {
    let text = dump.strip_suffix(b"__hermes_end\n")?;
    let mut reader = DumpReader {
        own_variables: BTreeMap::new(),
        state: ShellState::default(),
        remaining_bytes: MAX_STATE_BYTES,
    };
    let (text, variables) = reader.read_declarations(text);
    let functions = reader.read_aliases(text)?;
    reader.read_functions(functions);
    reader.read_context();
    reader.read_variables(variables, base);
    Some(reader.state)
}

struct DumpReader {
    /// Internal variables, by name without prefix.
    own_variables: BTreeMap<String, VariableValue>,
    state: ShellState,
    remaining_bytes: usize,
}

impl DumpReader {
    /// Reads the umask and the variables. Other lines are output of a user's
    /// trap.
    fn read_declarations<'a>(
        &mut self,
        text: &'a [u8],
    ) -> (&'a [u8], BTreeMap<String, ShellVariable>) {
        let mut variables = BTreeMap::new();
        let mut rest = text;
        while !rest.is_empty()
            && !rest.starts_with(b"alias ")
            && !rest.starts_with(b"__hermes_functions\n")
        {
            let (line, after) = split_line(rest);
            if let Some((name, variable, after)) = ShellVariable::parse(rest) {
                match name.strip_prefix("__hermes_") {
                    Some(own) => drop(self.own_variables.insert(own.to_owned(), variable.value)),
                    None => drop(variables.insert(name, variable)),
                }
                rest = after;
                continue;
            }
            if line.len() == 4 && line.iter().all(|digit| matches!(digit, b'0'..=b'7')) {
                self.state.umask = String::from_utf8(line.to_vec()).ok();
            }
            rest = after;
        }
        (rest, variables)
    }

    /// Reads the aliases, and returns the function section.
    fn read_aliases<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = text;
        loop {
            if let Some(rest) = rest.strip_prefix(b"__hermes_functions\n") {
                return Some(rest);
            }
            let Some(definition) = rest.strip_prefix(b"alias ") else {
                rest = split_line(rest).1;
                if rest.is_empty() {
                    return None;
                }
                continue;
            };
            let definition = definition.strip_prefix(b"-- ").unwrap_or(definition);
            let equals = memchr::memchr(b'=', definition)?;
            let (name, value) = definition.split_at(equals);
            let (value, after) = unquote(value.get(1..)?, b"\n")?;
            rest = after.strip_prefix(b"\n")?;
            let name = String::from_utf8_lossy(name).into_owned();
            if self.take_room("alias", &name, value.len()) {
                self.state.aliases.insert(name, ShellBytes(value));
            }
        }
    }

    /// Reads the list of functions, and then their texts in the same order: a
    /// text ends where the head of the next one follows.
    fn read_functions(&mut self, text: &[u8]) {
        let mut listed = Vec::new();
        let mut rest = text;
        while let Some(entry) = rest.strip_prefix(b"declare -f") {
            let (line, after) = split_line(entry);
            rest = after;
            let line = String::from_utf8_lossy(line);
            let Some((marks, name)) = line.split_once(' ') else { continue };
            listed.push((marks.to_owned(), name.to_owned()));
        }
        for (place, (marks, name)) in listed.iter().enumerate() {
            let length = match listed.get(place + 1) {
                Some((_, next)) => {
                    find_function_head(rest, &function_declaration(marks, name), next)
                }
                None => Some(rest.len()),
            };
            let Some(length) = length else {
                self.state.dropped.push(format!("function {name}"));
                continue;
            };
            let (body, after) = rest.split_at(length);
            rest = after;
            let Ok(body) = std::str::from_utf8(body) else {
                self.state.dropped.push(format!("function {name}"));
                continue;
            };
            if name.starts_with("__hermes_") || body.contains("__hermes_") && name == "trap" {
                continue;
            }
            if self.take_room("function", name, body.len()) {
                let text = body.trim_end();
                // Its marks are repeated after it, and are stored separately.
                let text = text
                    .strip_suffix(&function_declaration(marks, name))
                    .unwrap_or(text)
                    .trim_end();
                let function = ShellFunction { marks: marks.clone(), text: text.to_owned() };
                self.state.functions.insert(name.clone(), function);
            }
        }
    }

    /// Reads the internal variables of the script.
    fn read_context(&mut self) {
        let at_end = self.own_word("c");
        let cwd = if at_end == self.own_word("p") { self.own_word("w") } else { at_end };
        self.state.is_adrift = self.own_variables.contains_key("g");
        self.state.cwd = Some(cwd).filter(|cwd| cwd.0.starts_with(b"/"));
        self.state.last = match self.own_variables.get("u") {
            Some(VariableValue::One(last)) => Some(last.clone()),
            _ => None,
        };
        self.state.inside = !matches!(self.own_word("n").0.as_slice(), b"" | b"1");
        if !self.state.inside
            && let Some(VariableValue::Many(parameters)) = self.own_variables.get("a")
        {
            let parameters: Vec<_> = parameters.iter().map(|(_, value)| value.clone()).collect();
            let size = parameters.iter().map(|word| word.0.len() + 8).sum();
            if self.take_room("the positional", "parameters", size) {
                self.state.parameters = parameters;
            }
        }
        if !self.own_word("v").0.contains(&b'u') && self.state.umask.as_deref() == Some("0022") {
            self.state.umask = None;
        }
    }

    /// Removes variables that a function's locals hide, or that are unknown.
    fn drop_hidden(&mut self, variables: &mut BTreeMap<String, ShellVariable>) {
        if !self.state.inside {
            return;
        }
        if !self.own_variables.contains_key("y") {
            let hidden = self.local_names();
            self.state.is_partial = true;
            variables.retain(|name, variable| variable.is_exported() && !hidden.contains(name));
            return;
        }
        variables.retain(|name, variable| {
            if !variable.marks.contains(GLOBAL_MARK) {
                self.state.unsure.insert(name.clone());
                return false;
            }
            variable.marks.retain(|mark| mark != GLOBAL_MARK);
            // Drops variables that have only the mark.
            !variable.marks.is_empty() || variable.value != VariableValue::Unset
        });
    }

    fn read_variables(
        &mut self,
        mut variables: BTreeMap<String, ShellVariable>,
        base: &BTreeMap<OsString, OsString>,
    ) {
        self.read_options(&variables);
        self.drop_hidden(&mut variables);
        for name in base.keys().filter_map(|name| name.to_str()) {
            let is_known = !self.state.is_partial && !self.state.unsure.contains(name);
            if is_variable_name(name)
                && !is_shell_own(name)
                && !variables.contains_key(name)
                && is_known
            {
                self.state.variables.insert(name.to_owned(), None);
            }
        }
        for (name, variable) in variables {
            let inherited = base.get(std::ffi::OsStr::new(&name));
            let same = match (&variable.value, inherited) {
                (VariableValue::One(value), Some(inherited)) => {
                    variable.marks == "x" && value.0 == inherited.as_bytes()
                }
                (VariableValue::One(value), None) => {
                    !variable.is_exported() && is_default(&name, &value.0)
                }
                (VariableValue::Unset, _) => variable.marks == "x" && name == "OLDPWD",
                _ => false,
            };
            let made = match &variable.value {
                _ if inherited.is_none() => {
                    !variable.is_exported() && contains_word(OWN_UNLESS_EXPORTED, &name)
                }
                // The shell does not import these from its environment.
                VariableValue::One(value) => {
                    contains_word("IFS PS4", &name) && is_default(&name, &value.0)
                }
                _ => false,
            };
            if same || made || is_shell_own(&name) {
                continue;
            }
            if self.take_room("variable", &name, variable.byte_size()) {
                self.state.variables.insert(name, Some(variable));
            }
        }
    }

    /// Records the options that differ from their initial values.
    fn read_options(&mut self, variables: &BTreeMap<String, ShellVariable>) {
        let found = self.own_word("o").0;
        let found: BTreeSet<&str> = split_options(&found);
        let now = |name: &str| match variables.get(name).map(|variable| &variable.value) {
            Some(VariableValue::One(list)) => split_options(&list.0),
            _ => BTreeSet::new(),
        };
        let (options, switches) = (now("SHELLOPTS"), now("BASHOPTS"));
        let known = self.own_word("v").0;
        let kept = |name: &&&str| !contains_word(UNKEPT_OPTIONS, name);
        for name in options.difference(&found).filter(kept) {
            self.state.options.insert((*name).to_owned(), true);
        }
        for name in switches.difference(&found).filter(kept) {
            self.state.switches.insert((*name).to_owned(), true);
        }
        let both = &options | &switches;
        for name in found.difference(&both).filter(kept) {
            let (map, name) = if contains_word(SET_OPTIONS, name) {
                (&mut self.state.options, name)
            } else {
                (&mut self.state.switches, name)
            };
            map.insert((*name).to_owned(), false);
        }
        // Defined aliases imply it, so only its absence is recorded.
        if !self.state.aliases.is_empty() {
            self.state.switches.remove("expand_aliases");
        }
        if known.contains(&b'a') && !switches.contains("expand_aliases") {
            self.state.switches.insert("expand_aliases".to_owned(), false);
        }
    }

    /// Returns the local variables of the function in which the shell exited.
    fn local_names(&self) -> BTreeSet<String> {
        let listed = self.own_word("l").0;
        String::from_utf8_lossy(&listed)
            .lines()
            .filter_map(|line| {
                let line = line
                    .strip_prefix("declare -")
                    .map_or(line, |rest| rest.split_once(' ').map_or(rest, |(_, rest)| rest));
                let name = line.split('=').next()?;
                is_variable_name(name).then(|| name.to_owned())
            })
            .collect()
    }

    fn own_word(&self, name: &str) -> ShellBytes {
        match self.own_variables.get(name) {
            Some(VariableValue::One(word)) => word.clone(),
            _ => ShellBytes::default(),
        }
    }

    fn take_room(&mut self, kind: &str, name: &str, size: usize) -> bool {
        let size = size + name.len();
        if size > self.remaining_bytes {
            self.state.dropped.push(format!("{kind} {name}"));
            return false;
        }
        self.remaining_bytes -= size;
        true
    }
}

fn is_shell_own(name: &str) -> bool {
    contains_word(SHELL_OWN_VARIABLES, name) || name.starts_with("__hermes_")
}

fn is_default(name: &str, value: &[u8]) -> bool {
    DEFAULT_VALUES.contains(&(name, value))
}

fn contains_word(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

fn split_options(list: &[u8]) -> BTreeSet<&str> {
    let list = std::str::from_utf8(list).unwrap_or_default();
    list.split(':')
        .filter(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-'))
        })
        .collect()
}

/// Returns the declaration line of a function with marks, such as an exported
/// one, which bash prints in the list and after the text; empty without marks.
fn function_declaration(marks: &str, name: &str) -> String {
    if marks.is_empty() { String::new() } else { format!("\ndeclare -f{marks} {name}") }
}

/// Returns where the function of this name begins, after the end of another
/// one. That end is a brace, optional redirections, and an optional line with
/// marks.
fn find_function_head(text: &[u8], marks: &str, name: &str) -> Option<usize> {
    [format!("\n{name} () \n{{ \n"), format!("\nfunction {name} () \n{{ \n")]
        .iter()
        .filter_map(|head| {
            memchr::memmem::find_iter(text, head.as_bytes()).find(|at| {
                let before = text.get(..*at).unwrap_or_default();
                let before = before.strip_suffix(marks.as_bytes()).unwrap_or(before);
                let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
                before.get(line) == Some(&b'}')
            })
        })
        .min()
        .map(|at| at + 1)
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[]),
    }
}

#[cfg(test)]
#[path = "dump_tests.rs"]
mod tests;
