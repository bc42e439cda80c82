//! Scripts for the remote shell, restricted to POSIX `sh`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::Duration;

use crate::backend::{HostFacts, ShellKind};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::ssh::marked_processes;
use crate::tree::{self, JOB_VARIABLE, Signal};
use hermes_core::text::shell_quote_bytes;

mod members;

/// Prints the system, directory, shell and environment of the host.
pub(super) const PROBE_SCRIPT: &str = "echo hermes-look; uname -sm; pwd; command -v bash || echo -; \
                               echo hermes-environment; cat /proc/self/environ 2>/dev/null || env";

/// Variables that belong to one process rather than the host, or that shells do
/// not allow to be set.
const PROCESS_VARIABLES: [&str; 9] =
    ["_", "SHLVL", "PWD", "OLDPWD", "PPID", "UID", "EUID", "SHELLOPTS", "BASHOPTS"];

/// Returns the script that replaces the remote shell with the command. It
/// exports the mark of the job, followed by the sign of the starting process.
pub(super) fn launch_script(
    spec: &CommandSpec,
    found: &BTreeMap<OsString, OsString>,
    mark: &str,
    sign: &str,
) -> Vec<u8> {
    let mut text = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        parts.iter().for_each(|part| text.extend_from_slice(part));
        text.push(b'\n');
    };
    line(&[b"cd ", &shell_quote_bytes(spec.directory.as_os_str().as_bytes()), b" || exit 126"]);
    for name in found.keys().filter(|name| !spec.environment.contains_key(*name)) {
        if is_variable_name(name) && !is_process_variable(name) {
            line(&[b"unset ", name.as_bytes()]);
        }
    }
    for (name, value) in &spec.environment {
        if is_variable_name(name) && !is_process_variable(name) && found.get(name) != Some(value) {
            line(&[b"export ", name.as_bytes(), b"=", &shell_quote_bytes(value.as_bytes())]);
        }
    }
    let borne = tree::nested_mark(Some(mark), sign);
    line(&[b"export ", JOB_VARIABLE.as_bytes(), b"=", &shell_quote_bytes(borne.as_bytes())]);
    line(&[members::record_job(mark).as_bytes()]);
    if spec.output == StdioMode::Merged {
        line(&[b"exec 2>&1"]);
    }
    if let StdioMode::Terminal(size) = spec.output {
        // Not every transport sets the size before the program runs.
        let size = format!("stty rows {} cols {} 2>/dev/null", size.rows, size.columns);
        line(&[size.as_bytes()]);
    }
    if spec.input == StdinSource::Empty && !matches!(spec.output, StdioMode::Terminal(_)) {
        line(&[b"exec </dev/null"]);
    }
    let words = std::iter::once(&spec.program).chain(&spec.arguments);
    let words: Vec<Vec<u8>> = words.map(|word| shell_quote_bytes(word.as_bytes())).collect();
    line(&[b"exec ", &words.join(&b' ')]);
    text
}

fn is_variable_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|first| !first.is_ascii_digit())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn is_process_variable(name: &OsStr) -> bool {
    PROCESS_VARIABLES.iter().any(|passing| name == *passing)
}

/// Reads a script of `length` bytes, terminated by `end`, and runs it. The rest
/// of stdin is left to the script.
pub(super) fn load_script(length: usize, end: &str) -> String {
    format!("{}eval \"$s\"", read_script(length, end))
}

/// Reads a script of `length` bytes, terminated by `end`, saves it to a file
/// and prints the file name.
pub(super) fn save_script(word: &str, length: usize, end: &str) -> String {
    format!(
        "{}umask 077; set -C; f=${{TMPDIR:-/tmp}}/hermes-{word}; \
         printf '%s' \"$s\" >\"$f\" && printf '%s\\n' \"$f\"",
        read_script(length, end)
    )
}

/// Runs a saved script after deleting its file.
pub(super) fn run_saved_script(file: &str) -> String {
    let file = hermes_core::text::shell_quote(file);
    format!("s=$(cat {file}); rm -f {file}; eval \"$s\"")
}

/// Appends the end marker line, a comment to the shell.
pub(super) fn with_end_marker(mut text: Vec<u8>, end: &str) -> Vec<u8> {
    text.extend_from_slice(format!("\n#{end}\n").as_bytes());
    text
}

/// Reads a script into `s`; a truncated script is not run.
fn read_script(length: usize, end: &str) -> String {
    // `read` consumes no byte past the line of a shared stdin, but reads byte
    // by byte; `dd` is fast, but not every `dd` can fill a block from a pipe.
    format!(
        "s=$(dd bs={length} count=1 iflag=fullblock 2>/dev/null) || {{ \
         n=$(printf '\\nx'); n=${{n%x}}; s=; while IFS= read -r l; do s=$s$l$n; \
         [ \"$l\" = '#{end}' ] && break; done; s=${{s%\"$n\"}}; }}; \
         case $s in *'#{end}') ;; *) echo 'hermes: what was to run did not arrive whole' >&2; \
         exit 125;; esac; "
    )
}

/// Output of [`terminate_script`] if no process was running.
pub(super) const NONE_RUNNING: &[u8] = b"nobody";

/// Terminates all processes with this mark: SIGTERM first, SIGKILL after
/// `grace`. Exits with 0 if none is left, and with 75 if the host cannot fork.
pub(super) fn terminate_script(mark: &str, grace: Duration) -> String {
    let rounds = grace.as_millis().div_ceil(100);
    // Orphans are not found again, so earlier matches are kept. SIGSTOP first,
    // so none forks before it is killed.
    format!(
        "{} a=; w() {{ q=$(m) || exit 75; b=; for p in $a $q; do \
         case \" $b \" in *\" $p \"*) continue;; esac; \
         case $(z $p) in Z*|'') ;; *) b=\"$b $p\";; esac; done; a=$b; }}; \
         w; [ -n \"$a\" ] || {{ echo nobody; exit 0; }}; kill -TERM $a 2>/dev/null; i=0; \
         while [ $i -lt {rounds} ]; do w; [ -n \"$a\" ] || exit 0; \
         sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done; \
         i=0; while w; [ -n \"$a\" ] && [ $i -lt 50 ]; do \
         kill -STOP $a 2>/dev/null; w; [ -n \"$a\" ] && kill -KILL $a 2>/dev/null; \
         sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done; [ -z \"$a\" ]",
        members_script(mark)
    )
}

/// Output of [`presence_script`] if a process is running.
pub(super) const SOME_RUNNING: &[u8] = b"somebody";

/// Prints whether a process with this mark is running.
pub(super) fn presence_script(mark: &str) -> String {
    format!(
        "{} q=$(m) || exit 75; for p in $q; do case $(z $p) in Z*|'') ;; \
         *) echo somebody; exit 0;; esac; done; echo nobody",
        members_script(mark)
    )
}

/// Terminates all processes with the sign of this program, whatever their job.
/// Without `/proc`, only processes whose environment `ps` shows are found.
pub(super) fn terminate_all_script(sign: &str, grace: Duration) -> String {
    format!(
        "if [ -r /proc/self/stat ]; then {}; else {}; fi",
        terminate_script(&any_job_pattern(sign), grace),
        marked_processes::terminate_all_script(sign, grace)
    )
}

/// Returns the pattern of marks that carry this sign after the job.
fn any_job_pattern(sign: &str) -> String {
    format!("[^/]*[/]{sign}")
}

/// Kills all processes with this mark without forking, for a host at its
/// process limit. Exits with 0 if none is left.
pub(super) fn kill_script(mark: &str) -> String {
    // A stopped process cannot fork, so one round finds them all.
    format!(
        "i=0; while [ $i -lt 50 ]; do f=; for d in /proc/[0-9]*; do p=${{d#/proc/}}; \
         [ $p = $$ ] && continue; g=; while IFS= read -r e || [ -n \"$e\" ]; do \
         case $e in *{JOB_VARIABLE}={mark}*) g=1; break;; esac; done 2>/dev/null <$d/environ; \
         [ -n \"$g\" ] && kill -STOP $p 2>/dev/null && f=\"$f $p\"; done; \
         [ -n \"$f\" ] || exit 0; kill -KILL $f 2>/dev/null; i=$((i+1)); done; exit 1"
    )
}

/// Sends a signal to all processes with this mark and prints how many received
/// it.
pub(super) fn signal_script(mark: &str, signal: Signal) -> String {
    format!(
        "{} c=0; for p in $(m); do kill -{} $p 2>/dev/null && c=$((c+1)); done; echo $c",
        members_script(mark),
        signal.as_raw()
    )
}

/// Prints `waits` if a process with this mark waits for input: it reads a
/// terminal or the job's stdin, or polls a terminal in raw mode without a
/// timeout; prints `looks` if it polls with a timeout. The busybox shell polls
/// one descriptor without a timeout before it reads.
pub(super) fn input_wait_script(mark: &str) -> String {
    format!(
        "{} v=; case $(uname -m) in \
         x86_64) k() {{ case $1 in 0|19) echo r;; 7|23|232|270|271|281|441) echo p;; esac; }};; \
         *) k() {{ case $1 in 63|65) echo r;; 22|72|73|441) echo p;; esac; }};; esac; \
         n() {{ case $1 in 7|271|73) n=$3;; 23|270|72) n=$5;; *) n=$4;; esac; \
         case $n in 0x0|0xffffffff|0xffffffffffffffff) echo waits; exit;; *) v=1;; esac; }}; \
         for p in $(m); do y $p && {{ echo waits; exit; }}; \
         s=$(cat /proc/$p/stat 2>/dev/null) || continue; \
         set -- ${{s##*) }}; [ \"$1\" = S ] || continue; g=$3 e=$4 f=$6; \
         for t in /proc/$p/task/*; do read -r c a x 2>/dev/null <$t/syscall || continue; \
         case $(k \"$c\") in r) a=$((a)); d=$(readlink /proc/$p/fd/$a); \
         case $d in /dev/pts/*|/dev/tty*|/dev/console) echo waits; exit;; esac; \
         [ $a = 0 ] && [ -n \"$d\" ] && [ \"$d\" = \"$(readlink /proc/$e/fd/0)\" ] && \
         {{ echo waits; exit; }};; \
         p) case $(readlink /proc/$p/exe) in */busybox) a=0 d=$(readlink /proc/$p/fd/0); \
         if [ \"$x\" != \"${{x#0x1 0xffffffff}}\" ] && [ -n \"$d\" ]; then \
         case $d in /dev/pts/*|/dev/tty*|/dev/console|\"$(readlink /proc/$e/fd/0)\") \
         echo waits; exit;; esac; fi;; esac; \
         [ \"$g\" = \"$f\" ] && stty -a 2>/dev/null </proc/$p/fd/0 | grep -q -e -icanon && \
         n $c $x;; esac; done; done 2>/dev/null; [ -z \"$v\" ] || echo looks",
        members_script(mark)
    )
}

/// Defines the shell functions that find the processes of a job.
fn members_script(mark: &str) -> String {
    members::define_members(mark, "/proc")
}

/// Parses the output of [`PROBE_SCRIPT`].
pub(super) fn parse_probe(said: &[u8], directory: Option<OsString>) -> Option<HostFacts> {
    let said = after_line(said, b"hermes-look\n")?;
    let end = said.windows(19).position(|piece| piece == b"hermes-environment\n")?;
    let (head, environment) = said.split_at(end);
    let environment = environment.get(19..)?;
    let head = String::from_utf8_lossy(head);
    let mut head = head.lines();
    let (system, dir, bash) = (head.next()?, head.next()?, head.next()?);
    let separator = if environment.contains(&0) { 0 } else { b'\n' };
    let pairs = environment.split(|byte| *byte == separator).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = pair.split_at(at);
        let name = OsString::from_vec(name.to_vec());
        (is_variable_name(&name) && !is_process_variable(&name))
            .then(|| (name, OsString::from_vec(value[1..].to_vec())))
    });
    Some(HostFacts {
        directory: directory.unwrap_or_else(|| dir.into()).into(),
        environment: pairs.collect(),
        shell: if bash == "-" { ShellKind::Posix } else { ShellKind::Bash },
        system: system.to_owned(),
    })
}

/// Returns the text after a line; a host may print a banner first.
fn after_line<'a>(text: &'a [u8], line: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(line.len()).position(|piece| piece == line)?;
    text.get(at + line.len()..)
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
