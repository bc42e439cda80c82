//! What a shell elsewhere is told, in words that every POSIX `sh` knows.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::Duration;

use crate::backend::{Place, Shell};
use crate::order::{Input, Order, Output};
use crate::tree::{MARK, Signal};

/// Says what is found there: system, folder, shell, environment.
pub(super) const LOOK: &str = "echo hermes-look; uname -sm; pwd; command -v bash || echo -; \
                               echo hermes-environment; cat /proc/self/environ 2>/dev/null || env";

/// Variables that belong to one process, not to the place.
const PASSING: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];

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

/// What a shell there does to become the program that was ordered.
pub(super) fn of(
    order: &Order,
    found: &BTreeMap<OsString, OsString>,
    mark: &str,
) -> Vec<u8> {
    let mut text = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        parts.iter().for_each(|part| text.extend_from_slice(part));
        text.push(b'\n');
    };
    line(&[b"cd ", &quote(order.directory.as_os_str().as_bytes()), b" || exit 126"]);
    for name in found.keys().filter(|name| !order.environment.contains_key(*name)) {
        if is_name(name) {
            line(&[b"unset ", name.as_bytes()]);
        }
    }
    for (name, value) in &order.environment {
        let passing = PASSING.iter().any(|passing| *name == *passing);
        if is_name(name) && !passing && found.get(name) != Some(value) {
            line(&[b"export ", name.as_bytes(), b"=", &quote(value.as_bytes())]);
        }
    }
    line(&[b"export ", MARK.as_bytes(), b"=", &quote(mark.as_bytes())]);
    if order.output == Output::Together {
        line(&[b"exec 2>&1"]);
    }
    if order.input == Input::Nothing && !matches!(order.output, Output::Terminal(_)) {
        line(&[b"exec </dev/null"]);
    }
    let words = std::iter::once(&order.program).chain(&order.arguments);
    let words: Vec<Vec<u8>> = words.map(|word| quote(word.as_bytes())).collect();
    line(&[b"exec ", &words.join(&b' ')]);
    text
}

fn is_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|first| !first.is_ascii_digit())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Reads lines up to `end` and runs them. What comes after is left for them.
pub(super) fn loader(end: &str) -> String {
    format!("{}eval \"$s\"", lines(end))
}

/// Reads lines up to `end` and keeps them in a file, whose name it says.
pub(super) fn keeper(word: &str, end: &str) -> String {
    format!(
        "{}umask 077; f=${{TMPDIR:-/tmp}}/hermes-{word}; \
         printf '%s' \"$s\" >\"$f\" && printf '%s\\n' \"$f\"",
        lines(end)
    )
}

/// Runs what was kept in a file, which is gone then.
pub(super) fn taker(file: &str) -> String {
    let file = String::from_utf8_lossy(&quote(file.as_bytes())).into_owned();
    format!("s=$(cat {file}); rm -f {file}; eval \"$s\"")
}

/// The text, and the line that says that this was all.
pub(super) fn ended(mut text: Vec<u8>, end: &str) -> Vec<u8> {
    text.extend_from_slice(format!("\n{end}\n").as_bytes());
    text
}

fn lines(end: &str) -> String {
    // `read` takes no byte more than the line from what it shares.
    format!(
        "n=$(printf '\\nx'); n=${{n%x}}; s=; while IFS= read -r l; do \
         [ \"$l\" = {end} ] && break; s=$s$l$n; done; "
    )
}

/// Ends everything with this mark: asked first, forced after `grace`.
pub(super) fn ending(mark: &str, grace: Duration) -> String {
    let rounds = grace.as_millis().div_ceil(100);
    format!(
        "{} p=$(m); [ -n \"$p\" ] || exit 0; kill -TERM $p 2>/dev/null; i=0; \
         while [ $i -lt {rounds} ]; do p=$(m); [ -n \"$p\" ] || exit 0; \
         sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done; \
         i=0; while p=$(m); [ -n \"$p\" ] && [ $i -lt 50 ]; do \
         kill -KILL $p 2>/dev/null; sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done",
        marked(mark)
    )
}

/// Sends a signal to everything with this mark, and says to how many.
pub(super) fn signal(mark: &str, signal: Signal) -> String {
    format!(
        "{} c=0; for p in $(m); do kill -{} $p 2>/dev/null && c=$((c+1)); done; echo $c",
        marked(mark),
        signal.as_raw()
    )
}

/// Says `waits` if something with this mark reads from its standard input.
pub(super) fn waiting(mark: &str) -> String {
    format!(
        "{} case $(uname -m) in x86_64) r=0;; *) r=63;; esac; for p in $(m); do \
         read -r c a b 2>/dev/null </proc/$p/syscall && [ \"$c $a\" = \"$r 0x0\" ] && \
         {{ echo waits; exit; }}; done",
        marked(mark)
    )
}

/// Defines `m`, which says the ids of all processes with this mark.
fn marked(mark: &str) -> String {
    format!(
        "m() {{ grep -ls {MARK}={mark} /proc/[0-9]*/environ 2>/dev/null | \
         sed 's,[^0-9],,g' | grep -vx $$; }};"
    )
}

/// A word that nothing else has in it.
pub(super) fn fresh_word() -> String {
    format!("h{:016x}", RandomState::new().build_hasher().finish())
}

/// Reads what [`LOOK`] says.
pub(super) fn read_look(said: &[u8], directory: Option<OsString>) -> Option<Place> {
    let said = after(said, b"hermes-look\n")?;
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
        let passing = PASSING.iter().any(|passing| name == *passing);
        (is_name(&name) && !passing).then(|| (name, OsString::from_vec(value[1..].to_vec())))
    });
    Some(Place {
        directory: directory.unwrap_or_else(|| folder.into()).into(),
        environment: pairs.collect(),
        shell: if bash == "-" { Shell::Posix } else { Shell::Bash },
        system: system.to_owned(),
    })
}

/// What comes after a line; a host may greet first.
fn after<'a>(text: &'a [u8], line: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(line.len()).position(|piece| piece == line)?;
    text.get(at + line.len()..)
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
