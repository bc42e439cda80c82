//! What a shell elsewhere is told, in words that every POSIX `sh` knows.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::Duration;

use crate::backend::{HostFacts, ShellKind};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::ssh::marked_processes;
use crate::tree::{self, JOB_VARIABLE, Signal};

mod members;

/// Says what is found there: system, folder, shell, environment.
pub(super) const PROBE_SCRIPT: &str = "echo hermes-look; uname -sm; pwd; command -v bash || echo -; \
                               echo hermes-environment; cat /proc/self/environ 2>/dev/null || env";

/// Variables that belong to one process, not to the place,
/// or that no shell lets anybody set.
const PROCESS_VARIABLES: [&str; 9] =
    ["_", "SHLVL", "PWD", "OLDPWD", "PPID", "UID", "EUID", "SHELLOPTS", "BASHOPTS"];

/// The word that a shell reads as these bytes.
pub fn quote(bytes: &[u8]) -> Vec<u8> {
    let mut word = Vec::with_capacity(bytes.len() + 2);
    word.push(b'\'');
    for byte in bytes {
        match byte {
            b'\'' => word.extend_from_slice(br"'\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}

/// What a shell there does to become the program that was ordered. It bears the
/// mark of its job, and behind that the sign of whoever has started it.
pub(super) fn launch_script(
    order: &CommandSpec,
    found: &BTreeMap<OsString, OsString>,
    mark: &str,
    sign: &str,
) -> Vec<u8> {
    let mut text = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        parts.iter().for_each(|part| text.extend_from_slice(part));
        text.push(b'\n');
    };
    line(&[b"cd ", &quote(order.directory.as_os_str().as_bytes()), b" || exit 126"]);
    for name in found.keys().filter(|name| !order.environment.contains_key(*name)) {
        if is_variable_name(name) && !is_process_variable(name) {
            line(&[b"unset ", name.as_bytes()]);
        }
    }
    for (name, value) in &order.environment {
        if is_variable_name(name) && !is_process_variable(name) && found.get(name) != Some(value) {
            line(&[b"export ", name.as_bytes(), b"=", &quote(value.as_bytes())]);
        }
    }
    let borne = tree::nested_mark(Some(mark), sign);
    line(&[b"export ", JOB_VARIABLE.as_bytes(), b"=", &quote(borne.as_bytes())]);
    line(&[members::record_job(mark).as_bytes()]);
    if order.output == StdioMode::Merged {
        line(&[b"exec 2>&1"]);
    }
    if let StdioMode::Terminal(size) = order.output {
        // Not every carrier knows it before the program runs.
        let size = format!("stty rows {} cols {} 2>/dev/null", size.rows, size.columns);
        line(&[size.as_bytes()]);
    }
    if order.input == StdinSource::Empty && !matches!(order.output, StdioMode::Terminal(_)) {
        line(&[b"exec </dev/null"]);
    }
    let words = std::iter::once(&order.program).chain(&order.arguments);
    let words: Vec<Vec<u8>> = words.map(|word| quote(word.as_bytes())).collect();
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

/// Reads a text of so many bytes, up to `end`, and runs it. What comes after
/// is left for it.
pub(super) fn load_script(length: usize, end: &str) -> String {
    format!("{}eval \"$s\"", read_script(length, end))
}

/// Reads a text of so many bytes, up to `end`, and keeps it in a file, whose
/// name it says.
pub(super) fn save_script(word: &str, length: usize, end: &str) -> String {
    format!(
        "{}umask 077; set -C; f=${{TMPDIR:-/tmp}}/hermes-{word}; \
         printf '%s' \"$s\" >\"$f\" && printf '%s\\n' \"$f\"",
        read_script(length, end)
    )
}

/// Runs what was kept in a file, which is gone then.
pub(super) fn run_saved_script(file: &str) -> String {
    let file = String::from_utf8_lossy(&quote(file.as_bytes())).into_owned();
    format!("s=$(cat {file}); rm -f {file}; eval \"$s\"")
}

/// The text, and the line that says that this was all; a comment to a shell.
pub(super) fn with_end_marker(mut text: Vec<u8>, end: &str) -> Vec<u8> {
    text.extend_from_slice(format!("\n#{end}\n").as_bytes());
    text
}

/// Reads a text into `s`; half a text is not run.
fn read_script(length: usize, end: &str) -> String {
    // `read` takes no byte more than the line from what it shares, one by one;
    // `dd` is quick, but not every one can fill a block from a pipe.
    format!(
        "s=$(dd bs={length} count=1 iflag=fullblock 2>/dev/null) || {{ \
         n=$(printf '\\nx'); n=${{n%x}}; s=; while IFS= read -r l; do s=$s$l$n; \
         [ \"$l\" = '#{end}' ] && break; done; s=${{s%\"$n\"}}; }}; \
         case $s in *'#{end}') ;; *) echo 'hermes: what was to run did not arrive whole' >&2; \
         exit 125;; esac; "
    )
}

/// What [`ending`] says if there was nothing to end.
pub(super) const NONE_RUNNING: &[u8] = b"nobody";

/// Ends everything with this mark: asked first, forced after `grace`. It ends
/// well if nothing is left; where nothing more can be started it cannot tell.
pub(super) fn terminate_script(mark: &str, grace: Duration) -> String {
    let rounds = grace.as_millis().div_ceil(100);
    // What lost its parent is not found again, so it is kept in mind. What is
    // stopped starts no more before it is killed.
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

/// What [`presence`] says if something is there.
pub(super) const SOME_RUNNING: &[u8] = b"somebody";

/// Says whether something with this mark runs.
pub(super) fn presence_script(mark: &str) -> String {
    format!(
        "{} q=$(m) || exit 75; for p in $q; do case $(z $p) in Z*|'') ;; \
         *) echo somebody; exit 0;; esac; done; echo nobody",
        members_script(mark)
    )
}

/// Ends everything that bears the sign of a program of ours, whichever job it is
/// of. Where there is no `/proc`, that is only found by what `ps` shows.
pub(super) fn terminate_all_script(sign: &str, grace: Duration) -> String {
    format!(
        "if [ -r /proc/self/stat ]; then {}; else {}; fi",
        terminate_script(&any_job_pattern(sign), grace),
        marked_processes::terminate_all_script(sign, grace)
    )
}

/// The pattern of marks with this sign behind the job.
fn any_job_pattern(sign: &str) -> String {
    format!("[^/]*[/]{sign}")
}

/// Kills everything with this mark, and starts nothing for it: for a place
/// that has no room for one process more. It ends well if nothing is left.
pub(super) fn kill_script(mark: &str) -> String {
    // What is stopped starts no more, so that a round finds them all.
    format!(
        "i=0; while [ $i -lt 50 ]; do f=; for d in /proc/[0-9]*; do p=${{d#/proc/}}; \
         [ $p = $$ ] && continue; g=; while IFS= read -r e || [ -n \"$e\" ]; do \
         case $e in *{JOB_VARIABLE}={mark}*) g=1; break;; esac; done 2>/dev/null <$d/environ; \
         [ -n \"$g\" ] && kill -STOP $p 2>/dev/null && f=\"$f $p\"; done; \
         [ -n \"$f\" ] || exit 0; kill -KILL $f 2>/dev/null; i=$((i+1)); done; exit 1"
    )
}

/// Sends a signal to everything with this mark, and says to how many.
pub(super) fn signal_script(mark: &str, signal: Signal) -> String {
    format!(
        "{} c=0; for p in $(m); do kill -{} $p 2>/dev/null && c=$((c+1)); done; echo $c",
        members_script(mark),
        signal.as_raw()
    )
}

/// Says `waits` if something with this mark waits for somebody to type: it
/// reads a terminal, or what the job was started with, or waits for keys of a
/// terminal that hands over every key at once; `looks` if it waits for keys
/// only for a while. The shell of busybox waits with `poll` for one descriptor,
/// without end, before it reads.
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

/// Defines what finds the processes of a job.
fn members_script(mark: &str) -> String {
    members::define_members(mark, "/proc")
}

/// A word that nothing else has in it.
pub(crate) fn fresh_marker() -> String {
    format!("h{:016x}", RandomState::new().build_hasher().finish())
}

/// Reads what [`PROBE_SCRIPT`] says.
pub(super) fn parse_probe(said: &[u8], directory: Option<OsString>) -> Option<HostFacts> {
    let said = after_line(said, b"hermes-look\n")?;
    let end = said.windows(19).position(|piece| piece == b"hermes-environment\n")?;
    let (head, environment) = said.split_at(end);
    let environment = environment.get(19..)?;
    let head = String::from_utf8_lossy(head);
    let mut head = head.lines();
    let (system, folder, bash) = (head.next()?, head.next()?, head.next()?);
    let separator = if environment.contains(&0) { 0 } else { b'\n' };
    let pairs = environment.split(|byte| *byte == separator).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = pair.split_at(at);
        let name = OsString::from_vec(name.to_vec());
        (is_variable_name(&name) && !is_process_variable(&name))
            .then(|| (name, OsString::from_vec(value[1..].to_vec())))
    });
    Some(HostFacts {
        directory: directory.unwrap_or_else(|| folder.into()).into(),
        environment: pairs.collect(),
        shell: if bash == "-" { ShellKind::Posix } else { ShellKind::Bash },
        system: system.to_owned(),
    })
}

/// What comes after a line; a host may greet first.
fn after_line<'a>(text: &'a [u8], line: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(line.len()).position(|piece| piece == line)?;
    text.get(at + line.len()..)
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
