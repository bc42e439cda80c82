//! The bash script that runs a command from a given state and reports the state
//! afterwards.
//!
//! It uses builtins only and starts no process, because it wraps every command.
//! It is a single line, so the command keeps its line numbers, and bash parses
//! it before any user alias could change its words.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::no_state_change::{last_word, leaves_state_unchanged};
use super::quote::{quote, quote_lines};
use super::{ShellState, is_trace_option};

/// The kernel limits one argument to 128 KiB.
const MAX_ARGUMENT_BYTES: usize = 120_000;

/// Where the state is written after the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportTarget<'a> {
    /// A file, empty or missing, used for one command only. Preferably in
    /// memory, for example on `/dev/shm`.
    File(&'a Path),
    /// The end of the output, between markers with this alphanumeric nonce,
    /// which the output cannot contain by chance. A
    /// [`ReportExtractor`](super::ReportExtractor) removes it.
    Framed(&'a str),
}

/// Removes a user function named `builtin`, the word that all other calls
/// depend on. In POSIX mode, special builtins such as `unset` take precedence
/// over functions.
const UNSHADOW_BUILTIN: &str = r"if [[ -o posix ]]; then \unset -f builtin; else POSIXLY_CORRECT=1; \unset -f builtin; \unset POSIXLY_CORRECT; fi; ";

/// The body of the exit trap, after `$?` is saved for a trap set by the user.
const EXIT_TRAP_BODY: &str = r#"[[ ${__hermes_d-} ]] || { [[ ! ${FUNCNAME-} ]] || __hermes_l=$(builtin local) || builtin :; __hermes_dump "$@"; }; } 2>/dev/null"#;

/// Reports from within a function, whose local variables hide globals. A
/// subshell first marks every visible variable at global scope, then unsets the
/// unmarked ones, from the innermost scope outwards. A variable that cannot be
/// unset, and a nameref, stays unmarked; if nothing can be marked, all
/// variables stay unchanged.
const GLOBALS_DUMP_FUNCTION: &str = concat!(
    r#"__hermes_bare() { builtin declare -p | ( __hermes_m=; "#,
    r#"while IFS= builtin read -r __hermes_i; do "#,
    r#"if [[ $__hermes_i != 'declare -'*' '* ]]; then builtin continue; fi; "#,
    r#"__hermes_i=${__hermes_i#'declare -'}; __hermes_i=${__hermes_i%%=*}; "#,
    r#"__hermes_k=${__hermes_i##* }; __hermes_i=${__hermes_i%% *}; "#,
    r#"if [[ $__hermes_i == *n* || ! $__hermes_k || $__hermes_k == __hermes_* || $__hermes_k == *[!a-zA-Z0-9_]* ]]; "#,
    r#"then builtin continue; fi; "#,
    r#"if [[ $1 == 0 ]]; then builtin declare -gt "$__hermes_k" && __hermes_m=1 __hermes_y=1; "#,
    r#"elif [[ $__hermes_i != *t* ]]; then builtin unset -v "$__hermes_k" && __hermes_m=1; fi; done; "#,
    r#"if [[ $__hermes_m && $1 != 20 ]]; then __hermes_bare $(($1+1)); else __hermes_all; fi ); }; "#,
);

/// Runs the user's exit trap after ours, with the `$?` it expects even under
/// `set -e`.
const USER_TRAP_CALL: &str = r#"; [[ ! ${__hermes_t-} ]] || if __hermes_status; then builtin eval "$__hermes_t"; else builtin eval "$__hermes_t"; fi"#;

/// Replaces `trap` and keeps the user's exit trap beside ours. In a subshell,
/// and for every other signal, it calls the builtin.
const TRAP_WRAPPER: &str = concat!(
    r#"__hermes_status() { builtin return "$__hermes_s"; }; "#,
    r#"if [[ ! -o posix ]]; then trap() { "#,
    r#"if [[ ${BASH_SUBSHELL-0} != 0 ]]; then builtin trap "$@"; builtin return; fi; "#,
    r#"if [[ ${1-} == -- ]]; then builtin shift; fi; "#,
    r#"if [[ $# == 0 || $1 == -[!-]* ]]; then "#,
    r#"if [[ ${__hermes_t-} ]]; then builtin trap -- "$__hermes_t" EXIT; else builtin trap - EXIT; fi; "#,
    r#"builtin trap "$@"; __hermes_q=$?; builtin trap -- "$__hermes_e" EXIT; builtin return $__hermes_q; fi; "#,
    r#"if [[ $# == 1 ]]; then builtin set -- - "$1"; fi; "#,
    r#"__hermes_k=$1 __hermes_q=0; builtin shift; "#,
    r#"for __hermes_i; do case $__hermes_i in "#,
    r#"0|[Ee][Xx][Ii][Tt]|[Ss][Ii][Gg][Ee][Xx][Ii][Tt]) "#,
    r#"case $__hermes_k in -|"$__hermes_e") __hermes_t=;; *) __hermes_t=$__hermes_k;; esac;; "#,
    r#"*) builtin trap -- "$__hermes_k" "$__hermes_i" || __hermes_q=$?;; "#,
    r#"esac; done; builtin return $__hermes_q; }; fi; "#,
);

/// Returns the `bash -c` script that runs the command from this state. A
/// command that is known in advance to change nothing is not followed by a
/// report; see [`unchanged_state`](super::unchanged_state).
pub fn script(state: &ShellState, command: &str, report: &ReportTarget<'_>) -> String {
    let prelude = state.prelude();
    let foregone = leaves_state_unchanged(state, command);
    let traced = state.trace_options();
    let framed = match report {
        ReportTarget::Framed(nonce) => Some(*nonce),
        ReportTarget::File(_) => None,
    };
    let is_plain = prelude.is_empty() && traced.is_empty() && !command.contains("$_");
    if foregone && framed.is_none() && is_plain {
        // Bash would parse a leading `-` or `+` as an option.
        let sign = if command.starts_with(['-', '+']) { " " } else { "" };
        return format!("{sign}{command}");
    }
    let mut script = String::with_capacity(command.len() + prelude.len() + 1500);
    if !foregone {
        script.push_str(&prologue(state, command, report));
    }
    if !prelude.is_empty() {
        script.push_str("builtin eval -- ");
        script.push_str(&quote(prelude.as_bytes()));
        script.push_str("; ");
    }
    match &state.last {
        Some(last) => script.push_str(&format!("builtin : {}; ", quote(&last.0))),
        None => script.push_str("builtin : \"$BASH\"; "),
    }
    script.push_str("builtin eval -- ");
    script.push_str(&quote_lines(&format!("{traced}{command}")));
    if !foregone {
        script.push_str("; { __hermes_s=$?; ");
        script.push_str(unshadow_builtin(command));
        script.push_str(
            "__hermes_dump \"$@\"; builtin set +vx; } 2>/dev/null; builtin exit $__hermes_s",
        );
    } else if let Some(nonce) = framed {
        script.push_str(&cwd_check_script(nonce));
    }
    script
}

/// Reports a deleted working directory and its nearest existing ancestor after
/// a command that does not change the shell state. Only a framed report needs
/// this: with a report file, the shell is local and the caller can check.
fn cwd_check_script(nonce: &str) -> String {
    let (begin, end) = report_markers(nonce);
    format!(
        "; {{ __hermes_s=$?; [[ -d $PWD ]] || {{ __hermes_c=$PWD; {NEAREST_DIR_LOOP}\
         builtin printf '\\036%s\\n%s\\n\\n%s\\n' {begin} \"{GONE_PREFIX}$__hermes_c\" {end}; }}; }} \
         2>/dev/null; builtin exit $__hermes_s"
    )
}

/// Returns the shell arguments for such a script. A long script is passed in
/// pieces because each argument has a size limit.
pub fn arguments(script: &str) -> Vec<String> {
    if script.len() <= MAX_ARGUMENT_BYTES {
        return vec!["-c".to_owned(), script.to_owned()];
    }
    let joined = r#"__hermes_x=; for __hermes_i; do __hermes_x=$__hermes_x$__hermes_i; done; set --; eval "$__hermes_x""#;
    let mut arguments = vec!["-c".to_owned(), joined.to_owned(), "bash".to_owned()];
    arguments.extend(split_argument(script).into_iter().map(str::to_owned));
    arguments
}

/// Returns the shell arguments for a secret script and the variables that hold
/// it. Every user of the machine can read a process's arguments, but only its
/// owner can read its environment. The processes that the script starts do not
/// inherit these variables.
pub fn hidden_arguments(script: &str) -> (Vec<String>, BTreeMap<OsString, OsString>) {
    let pieces = split_argument(script);
    let names: Vec<String> = (0..pieces.len()).map(|at| format!("__hermes_x{at}")).collect();
    let values = names.iter().map(|name| format!("${name}")).collect::<String>();
    let joined = format!("__hermes_i={values}; unset {}; eval \"$__hermes_i\"", names.join(" "));
    let pairs = names.into_iter().zip(pieces);
    let variables = pairs.map(|(name, piece)| (name.into(), piece.into())).collect();
    (vec!["-c".to_owned(), joined], variables)
}

fn split_argument(script: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = script;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_ARGUMENT_BYTES));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Records the initial shell settings and installs the exit trap that reports
/// the state.
fn prologue(state: &ShellState, command: &str, report: &ReportTarget<'_>) -> String {
    let cwd = state.cwd.as_ref().map_or(&b""[..], |cwd| &cwd.0);
    let mut opening = format!(
        "__hermes_o=$SHELLOPTS:$BASHOPTS __hermes_p=$PWD __hermes_w={} __hermes_v={}; ",
        quote(cwd),
        quote(context_assignments(state, command).as_bytes()),
    );
    if let Some(last) = last_word(command) {
        opening.push_str(&format!("__hermes_u={}; ", quote(last.as_bytes())));
    }
    opening.push_str("builtin unset BASH_EXECUTION_STRING __hermes_x __hermes_i; ");
    opening.push_str(&dump_function(report));
    if may_set_trap(state, command) {
        opening.push_str(TRAP_WRAPPER);
    }
    opening.push_str(&format!("__hermes_e={}; ", quote_lines(&exit_trap(state, command))));
    opening.push_str("builtin trap -- \"$__hermes_e\" EXIT; ");
    opening
}

fn exit_trap(state: &ShellState, command: &str) -> String {
    let then = if may_set_trap(state, command) { USER_TRAP_CALL } else { "" };
    format!("{{ __hermes_s=$?; {}{EXIT_TRAP_BODY}{then}", unshadow_builtin(command))
}

fn unshadow_builtin(command: &str) -> &'static str {
    if command.contains("builtin") { UNSHADOW_BUILTIN } else { "" }
}

/// Returns the internal line that bash echoes when such a command exits, if
/// `set -v` may be on; see
/// [`ReportExtractor::hiding_text`](super::ReportExtractor::hiding_text).
pub fn shown_at_exit(state: &ShellState, command: &str) -> Option<String> {
    let is_on = state.options.get("verbose") == Some(&true);
    let may_be_set = command.contains("set") && command.contains('v');
    (is_on || may_be_set).then(|| format!("{}\n", exit_trap(state, command)))
}

/// Walks up from `__hermes_c` to the nearest existing directory.
const NEAREST_DIR_LOOP: &str = "while [[ $__hermes_c == /?* && ! -d $__hermes_c ]]; do __hermes_g=1; \
                       __hermes_c=${__hermes_c%/*}; __hermes_c=${__hermes_c:-/}; done; ";

/// Precedes the nearest existing ancestor of a deleted working directory.
pub(super) const GONE_PREFIX: &str = "__hermes_gone ";

/// Returns flags known only here that the report parser needs.
fn context_assignments(state: &ShellState, command: &str) -> String {
    let mut known = String::new();
    if state.umask.is_some() || command.contains("umask") {
        known.push('u');
    }
    if !state.aliases.is_empty() || state.switches.get("expand_aliases") == Some(&false) {
        known.push('a');
    }
    known
}

fn dump_function(report: &ReportTarget<'_>) -> String {
    const ALL: &str = "__hermes_all() { builtin umask; builtin declare -p; builtin alias -p; \
                       builtin echo __hermes_functions; builtin declare -F; \
                       builtin declare -f; builtin echo __hermes_end; }; ";
    const HELD: &str = "__hermes_d=1 __hermes_n=${#FUNCNAME[@]} __hermes_a=(\"$@\") \
                        __hermes_c=${DIRSTACK-$PWD}; ";
    const UNSET: &str = "builtin unset -f __hermes_dump; ";
    const SAY: &str = "if [[ $__hermes_n == 1 ]]; then __hermes_all; else __hermes_bare 0; fi; ";
    match report {
        ReportTarget::File(path) => {
            let path = quote(path.as_os_str().as_bytes());
            let say = format!("{{ {SAY}}} >>{path} || builtin :; ");
            format!(
                "{ALL}{GLOBALS_DUMP_FUNCTION}__hermes_dump() {{ {HELD}{NEAREST_DIR_LOOP}{UNSET}{say}}}; "
            )
        }
        // Do not write the report into a file that the command redirected
        // stdout to.
        ReportTarget::Framed(nonce) => {
            let (begin, end) = report_markers(nonce);
            format!(
                "{ALL}{GLOBALS_DUMP_FUNCTION}[[ ! -f /dev/fd/1 ]] || __hermes_r=1; __hermes_dump() {{ {HELD}{NEAREST_DIR_LOOP}{UNSET}\
                 [[ -f /dev/fd/1 && ! ${{__hermes_r-}} ]] || {{ \
                 builtin printf '\\036%s\\n' {begin}; {SAY}builtin echo {end}; }} || builtin :; }}; "
            )
        }
    }
}

/// Returns the lines around a framed report. The first one is preceded by a
/// byte that does not occur in text, so the reader never has to hold back a
/// line end while it waits for what follows.
pub(super) fn report_markers(nonce: &str) -> (String, String) {
    (format!("__hermes_{nonce}_begin"), format!("__hermes_{nonce}_end"))
}

/// Whether `trap` may be called, by the command or by a function it calls.
fn may_set_trap(state: &ShellState, command: &str) -> bool {
    let calls = |text: &str| {
        text.split(|letter: char| letter.is_whitespace() || ";&|(){}'\"`\\".contains(letter))
            .any(|word| matches!(word, "trap" | "source" | "." | "eval"))
    };
    !state.functions.contains_key("trap")
        && (calls(command) || state.functions.values().any(|function| calls(&function.text)))
}

impl ShellState {
    /// Returns the commands that enable the trace options for the command.
    fn trace_options(&self) -> String {
        let on = self.options.iter().filter(|(name, on)| is_trace_option(name) && **on);
        on.map(|(name, _)| format!("set -o {name}; ")).collect()
    }
}
