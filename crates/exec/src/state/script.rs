//! What bash is given to run, so that a command starts from a state and its
//! own state is known afterwards.
//!
//! Only builtins, no process: it is there around every command. All of it is
//! on one line, so that the lines of the command keep their numbers, and is
//! read before an alias of the user could change its words.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::no_state_change::{last_word, leaves_state_unchanged};
use super::quote::{quote, quote_lines};
use super::{ShellState, is_trace_option};

/// The kernel takes no longer argument than 128 KiB.
const MAX_ARGUMENT_BYTES: usize = 120_000;

/// Where the state is written when the command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportTarget<'a> {
    /// Into this file, which is empty or not there. An own one for each
    /// command; in memory if possible, as on `/dev/shm`.
    File(&'a Path),
    /// To the end of the output, between marks with this word of letters and
    /// digits, which the output cannot know. A
    /// [`ReportExtractor`](super::Frame) takes it off.
    Framed(&'a str),
}

/// Takes away a function that stands in for the word that we call all others by. In
/// this mode some words are those of the shell, whatever functions there are.
const UNSHADOW_BUILTIN: &str = r"if [[ -o posix ]]; then \unset -f builtin; else POSIXLY_CORRECT=1; \unset -f builtin; \unset POSIXLY_CORRECT; fi; ";

/// The exit trap, once `$?` is kept for a trap that the user has set.
const EXIT_TRAP_BODY: &str = r#"[[ ${__hermes_d-} ]] || { [[ ! ${FUNCNAME-} ]] || __hermes_l=$(builtin local) || builtin :; __hermes_dump "$@"; }; } 2>/dev/null"#;

/// Reports from within a function, whose variables hide others: all that is seen is
/// marked where it is global, and what bears no mark then is taken away, from the
/// inside out. It is a copy of the shell that does so. A variable that cannot be
/// taken away, and one that only names another, stays without a mark; where nothing
/// can be marked, all stays as it is.
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

/// The exit trap where the user may set one as well: theirs comes second, and
/// finds the `$?` it expects also under `set -e`.
const USER_TRAP_CALL: &str = r#"; [[ ! ${__hermes_t-} ]] || if __hermes_status; then builtin eval "$__hermes_t"; else builtin eval "$__hermes_t"; fi"#;

/// Stands in for `trap` and keeps an exit trap of the user beside ours. In a
/// subshell, and for every other signal, it is the builtin.
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

/// What `bash -c` gets to run the command from this state. Nothing is reported
/// by a command of which it is clear beforehand that it changes nothing; see
/// [`foregone`](super::foregone).
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
        // Bash takes what begins with a sign for one of its own options.
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

/// What is said after a command that changes nothing in its shell: only that its
/// folder is gone, and which one above it is left. Here everybody sees that.
fn cwd_check_script(nonce: &str) -> String {
    let (begin, end) = report_markers(nonce);
    format!(
        "; {{ __hermes_s=$?; [[ -d $PWD ]] || {{ __hermes_c=$PWD; {NEAREST_DIR_LOOP}\
         builtin printf '\\036%s\\n%s\\n\\n%s\\n' {begin} \"{GONE_PREFIX}$__hermes_c\" {end}; }}; }} \
         2>/dev/null; builtin exit $__hermes_s"
    )
}

/// The arguments of a shell for such a script. A long one is handed over in
/// pieces, because there is a limit to each argument.
pub fn arguments(script: &str) -> Vec<String> {
    if script.len() <= MAX_ARGUMENT_BYTES {
        return vec!["-c".to_owned(), script.to_owned()];
    }
    let joined = r#"__hermes_x=; for __hermes_i; do __hermes_x=$__hermes_x$__hermes_i; done; set --; eval "$__hermes_x""#;
    let mut arguments = vec!["-c".to_owned(), joined.to_owned(), "bash".to_owned()];
    arguments.extend(split_argument(script).into_iter().map(str::to_owned));
    arguments
}

/// The arguments of a shell for a script that not everybody may read, and the
/// variables that hold it: what a program was started with is shown to every
/// user of the machine, its environment only to its own. The programs that the
/// script starts do not get them.
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

/// Takes down how the shell was found, and sees to it that its end is written.
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

/// The line of ours that bash shows when such a command exits, if it may have
/// been told to show what it reads; see [`ReportExtractor::without`](super::Frame::without).
pub fn shown_at_exit(state: &ShellState, command: &str) -> Option<String> {
    let is_on = state.options.get("verbose") == Some(&true);
    let may_be_set = command.contains("set") && command.contains('v');
    (is_on || may_be_set).then(|| format!("{}\n", exit_trap(state, command)))
}

/// Goes up from `__hermes_c` to a folder that is there.
const NEAREST_DIR_LOOP: &str = "while [[ $__hermes_c == /?* && ! -d $__hermes_c ]]; do __hermes_g=1; \
                       __hermes_c=${__hermes_c%/*}; __hermes_c=${__hermes_c:-/}; done; ";

/// Stands before the folder that is left above one that is gone.
pub(super) const GONE_PREFIX: &str = "__hermes_gone ";

/// What is known only here and matters when the report is read.
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
        // Output that the command has sent into a file is not for us.
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

/// The lines around a framed report. In front of the first one stands a byte
/// that no text has in it, so that a line end never has to be held back for
/// what may come after it.
pub(super) fn report_markers(nonce: &str) -> (String, String) {
    (format!("__hermes_{nonce}_begin"), format!("__hermes_{nonce}_end"))
}

/// Whether the word may come up, here or in what is called from here.
fn may_set_trap(state: &ShellState, command: &str) -> bool {
    let calls = |text: &str| {
        text.split(|letter: char| letter.is_whitespace() || ";&|(){}'\"`\\".contains(letter))
            .any(|word| matches!(word, "trap" | "source" | "." | "eval"))
    };
    !state.functions.contains_key("trap")
        && (calls(command) || state.functions.values().any(|function| calls(&function.text)))
}

impl ShellState {
    /// What switches on the options that are set with the command.
    fn trace_options(&self) -> String {
        let on = self.options.iter().filter(|(name, on)| is_trace_option(name) && **on);
        on.map(|(name, _)| format!("set -o {name}; ")).collect()
    }
}
