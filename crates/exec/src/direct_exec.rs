//! Commands that need no shell. Many commands are one program with plain arguments:
//! bash would parse them, find the program and `exec` it. Starting bash takes longer
//! than many programs run, so the program is started directly. If that fails, bash runs
//! the command, because its error messages are the expected ones.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::state::is_builtin;

/// The program and arguments that a shell with these arguments would `exec`; `None` if
/// the shell has more to do.
pub(crate) fn direct_command(
    shell: &OsStr,
    arguments: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
) -> Option<Vec<OsString>> {
    let [option, script] = arguments else { return None };
    if Path::new(shell).file_name() != Some(OsStr::new("bash")) || option != "-c" {
        return None;
    }
    // Variables that change what bash does: functions, options, a start-up file.
    // Without a `PATH` bash searches default directories, and with an empty element it
    // runs programs of the current directory under another name.
    let affects_bash = |name: &&OsString| {
        name.as_bytes().starts_with(b"BASH") || name.as_os_str() == OsStr::new("SHELLOPTS")
    };
    let has_path = environment.get(OsStr::new("PATH")).is_some_and(|path| {
        path.as_bytes().split(|letter| *letter == b':').all(|dir| !dir.is_empty())
    });
    if !has_path || environment.keys().any(|name| affects_bash(&name)) {
        return None;
    }
    let script = script.to_str().filter(|script| script.chars().all(is_plain_char))?;
    let words: Vec<&str> = script.split(' ').filter(|word| !word.is_empty()).collect();
    let (program, others) = words.split_first()?;
    let is_named = !program.contains('=') && !program.starts_with(['-', '+', ':']);
    // These two only exit, as a program or as a builtin.
    let is_bare = others.is_empty() && matches!(*program, "true" | "false");
    let is_meant = is_named && (is_bare || !is_builtin(program));
    is_meant.then(|| words.iter().map(OsString::from).collect())
}

/// Updates the environment as bash would: `PWD` names the directory, and `SHLVL` is
/// counted.
pub(crate) fn adjust_environment(environment: &mut BTreeMap<OsString, OsString>, directory: &Path) {
    environment.entry("SHLVL".into()).or_insert_with(|| "0".into());
    let place = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let named = environment.get(OsStr::new("PWD")).map(Path::new);
    let is_so = named.is_some_and(|named| {
        let is_same = named.as_os_str() == directory.as_os_str();
        is_same || named.is_absolute() && place(named) == place(directory)
    });
    if !is_so {
        environment.insert("PWD".into(), directory.into());
    }
}

/// Characters without a special meaning in shell arguments.
fn is_plain_char(letter: char) -> bool {
    letter.is_alphanumeric() || " _./-:,+=@%".contains(letter)
}

#[cfg(test)]
#[path = "direct_exec_tests.rs"]
mod tests;
