//! State of a shell other than bash: working directory, variables, aliases,
//! options and umask. Such a shell cannot list its functions.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::bytes::ShellBytes;
use super::script::report_markers;
use super::variable::{self, ShellVariable, VariableValue};
use super::{ShellState, is_trace_option};
use hermes_core::text::shell_quote;

/// Variables that the shell itself maintains.
const SHELL_OWN_VARIABLES: &str = "\
    _ SHLVL PWD OLDPWD PPID HERMES_JOB LINENO RANDOM FUNCNAME OPTIND OPTARG SECONDS EPOCHSECONDS \
    EPOCHREALTIME";

/// Maximum size of the kept state, names and values together.
const MAX_STATE_BYTES: usize = 1 << 20;

/// Prints the state at the end of a command. `command` is needed because a user
/// function may shadow a builtin, though not a special one. The working
/// directory may no longer exist.
const DUMP_SCRIPT: &str = "\
    __hermes_c=$PWD; while case $__hermes_c in /?*) ! command [ -d \"$__hermes_c\" ];; *) ! :;; esac; \
    do __hermes_c=${__hermes_c%/*}; __hermes_c=${__hermes_c:-/}; __hermes_g=1; done; \
    case ${__hermes_g-} in 1) command cd \"$__hermes_c\";; esac; \
    command pwd; command umask; \
    command echo __hermes_exports; export -p; \
    command echo __hermes_aliases; command alias; \
    command echo __hermes_options; set +o; \
    command echo __hermes_variables; set; ";

/// Returns the `sh -c` script that restores this state, runs the command and
/// prints a report at the end of the output, between markers with this nonce.
pub fn posix_script(state: &ShellState, command: &str, nonce: &str) -> String {
    let (begin, end) = report_markers(nonce);
    // `__hermes_dump || :` is a condition, so `set -e` does not abort the
    // report. Such a shell runs its EXIT trap on a signal only if the signal is
    // trapped.
    let mut script = format!(
        "__hermes_b=$(set); __hermes_dump() {{ trap - EXIT; unset -f command; \
         command printf '\\036%s\\n' {begin}; {DUMP_SCRIPT}\
         command printf '\\n%s\\n' {end}; set +vx; }}; \
         trap '{{ __hermes_s=$?; __hermes_dump || :; }} 2>/dev/null; exit $__hermes_s' EXIT; trap 'exit 143' TERM; "
    );
    if let Some(umask) = &state.umask {
        script.push_str(&format!("umask {umask}; "));
    }
    for (name, variable) in &state.variables {
        let Some(variable) = variable.as_ref().filter(|variable| !variable.is_plain_export())
        else {
            continue;
        };
        let VariableValue::One(ShellBytes(value)) = &variable.value else { continue };
        let Ok(value) = std::str::from_utf8(value) else { continue };
        let export = if variable.is_exported() { "export " } else { "" };
        script.push_str(&format!("{export}{name}={}; ", shell_quote(value)));
    }
    for (name, value) in &state.aliases {
        let word = format!("{name}={}", String::from_utf8_lossy(&value.0));
        script.push_str(&format!("alias {}; ", shell_quote(&word)));
    }
    let mut traced = String::new();
    for (name, on) in &state.options {
        let text = if is_trace_option(name) { &mut traced } else { &mut script };
        text.push_str(&format!("set {}o {name}; ", if *on { '-' } else { '+' }));
    }
    script.push_str("eval ");
    script.push_str(&shell_quote(&format!("{traced}{command}")));
    script
}

/// Parses such a report and returns the state after the command, or `None` if
/// the report is malformed.
pub fn parse_posix_report(
    report: &[u8],
    before: &ShellState,
    base: &BTreeMap<OsString, OsString>,
) -> Option<ShellState> {
    let (head, rest) = split_at_line(report, b"__hermes_exports\n")?;
    let (exports, rest) = split_at_line(rest, b"__hermes_aliases\n")?;
    let (aliases, rest) = split_at_line(rest, b"__hermes_options\n")?;
    let (options, variables) = split_at_line(rest, b"__hermes_variables\n")?;
    let head = head.strip_suffix(b"\n").unwrap_or(head);
    let at = head.iter().rposition(|byte| *byte == b'\n')?;
    let (cwd, umask) = (head.get(..at)?, head.get(at + 1..)?);
    let mut state = ShellState {
        cwd: Some(ShellBytes(cwd.to_vec())),
        functions: before.functions.clone(),
        umask: before.umask.clone(),
        ..ShellState::default()
    };
    let umask = String::from_utf8_lossy(umask).into_owned();
    if umask.trim_start_matches('0') != "22" || before.umask.is_some() {
        state.umask = Some(umask);
    }
    let variables = parse_assignments(variables);
    state.is_adrift = variables.contains_key("__hermes_g");
    read_variables(&mut state, &parse_assignments(exports), &variables, base);
    for (name, value) in parse_assignments(aliases) {
        state.aliases.insert(name, ShellBytes(value));
    }
    for line in String::from_utf8_lossy(options).lines() {
        let mut words = line.split_whitespace();
        if let (Some("set"), Some(sign), Some(name)) = (words.next(), words.next(), words.next())
            && sign == "-o"
        {
            state.options.insert(name.to_owned(), true);
        }
    }
    Some(state)
}

/// Keeps exported variables that differ from the base environment, and other
/// variables whose values differ from those of a fresh shell.
fn read_variables(
    state: &mut ShellState,
    exports: &BTreeMap<String, Vec<u8>>,
    variables: &BTreeMap<String, Vec<u8>>,
    base: &BTreeMap<OsString, OsString>,
) {
    for name in base.keys().filter_map(|name| name.to_str()) {
        if !exports.contains_key(name) && !is_shell_own(name) {
            state.variables.insert(name.to_owned(), None);
        }
    }
    let started =
        variables.get("__hermes_b").map(|text| parse_assignments(text)).unwrap_or_default();
    let exported = exports.iter().filter(|(name, value)| {
        base.get(OsStr::new(name)).map(|value| value.as_bytes()) != Some(value)
    });
    let plain = variables.iter().filter(|(name, value)| {
        !exports.contains_key(*name)
            && (started.get(*name) != Some(value) || base.contains_key(OsStr::new(name)))
    });
    let exported = exported.map(|found| ("x", found));
    let mut room = MAX_STATE_BYTES;
    for (marks, (name, value)) in exported.chain(plain.map(|found| ("", found))) {
        if is_shell_own(name) || !variable::is_variable_name(name) {
            continue;
        }
        let value = VariableValue::One(value.as_slice().into());
        let variable = ShellVariable { marks: marks.to_owned(), value };
        let size = name.len() + variable.byte_size();
        // A value that the environment cannot carry goes into the script as
        // text.
        let is_sayable = variable.is_plain_export()
            || matches!(&variable.value, VariableValue::One(value) if std::str::from_utf8(&value.0).is_ok());
        if size > room || !is_sayable {
            state.dropped.push(format!("variable {name}"));
            continue;
        }
        room -= size;
        state.variables.insert(name.clone(), Some(variable));
    }
}

fn is_shell_own(name: &str) -> bool {
    name.starts_with("__hermes_") || SHELL_OWN_VARIABLES.split(' ').any(|own| own == name)
}

fn split_at_line<'a>(text: &'a [u8], line: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(text, line)?;
    Some((text.get(..at)?, text.get(at + line.len()..)?))
}

/// Parses lines like `export NAME='value'`, `declare -x NAME="value"`, `alias
/// x='y'` or `x='y'`; a value may span several lines.
fn parse_assignments(text: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (words, after) = split_words(rest);
        rest = after;
        let Some(word) = words.into_iter().find(|word| word.contains(&b'=')) else { continue };
        let Some(at) = word.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = word.split_at(at);
        if let Ok(name) = OsString::from_vec(name.to_vec()).into_string() {
            found.insert(name, value.get(1..).unwrap_or_default().to_vec());
        }
    }
    found
}

/// Splits the first line into words by shell quoting rules, and returns them
/// with the rest.
fn split_words(text: &[u8]) -> (Vec<Vec<u8>>, &[u8]) {
    let mut words = vec![Vec::new()];
    let mut quoted = None;
    let mut bytes = text.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quoted, byte) {
            (None, b'\n') => return (words, text.get(at + 1..).unwrap_or_default()),
            (None, b' ') => words.push(Vec::new()),
            (None, b'\'' | b'"') => quoted = Some(*byte),
            (Some(open), byte) if open == *byte => quoted = None,
            (None | Some(b'"'), b'\\') => {
                if let (Some((_, next)), Some(word)) = (bytes.next(), words.last_mut()) {
                    let special = matches!(next, b'$' | b'`' | b'"' | b'\\' | b'\n');
                    if quoted.is_some() && !special {
                        word.push(b'\\');
                    }
                    word.push(*next);
                }
            }
            (_, byte) => words.last_mut().into_iter().for_each(|word| word.push(*byte)),
        }
    }
    (words, &[])
}

#[cfg(test)]
#[path = "posix_tests.rs"]
mod tests;
