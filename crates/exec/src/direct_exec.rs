//! Commands that need no shell. Much of what an agent runs is one program and
//! a few plain words: bash would read them, find the program and become it. It
//! takes longer to start than many a program takes to run, so the program is
//! started at once, and bash only where that fails: it knows best how to tell
//! what is wrong.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::state::is_builtin;

/// The program and its arguments that a shell with these arguments would
/// become; none if there is more for it to do.
pub(crate) fn direct_command(
    shell: &OsStr,
    arguments: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
) -> Option<Vec<OsString>> {
    let [option, script] = arguments else { return None };
    if Path::new(shell).file_name() != Some(OsStr::new("bash")) || option != "-c" {
        return None;
    }
    // What bash reads in its environment: functions, options, a file to begin
    // with. And without a path it looks in places of its own, while what lies here
    // is called by another name where a path is empty in parts.
    let is_told = |name: &&OsString| {
        name.as_bytes().starts_with(b"BASH") || name.as_os_str() == OsStr::new("SHELLOPTS")
    };
    let has_path = environment.get(OsStr::new("PATH")).is_some_and(|path| {
        path.as_bytes().split(|letter| *letter == b':').all(|folder| !folder.is_empty())
    });
    if !has_path || environment.keys().any(|name| is_told(&name)) {
        return None;
    }
    let script = script.to_str().filter(|script| script.chars().all(is_plain_char))?;
    let words: Vec<&str> = script.split(' ').filter(|word| !word.is_empty()).collect();
    let (program, others) = words.split_first()?;
    let is_named = !program.contains('=') && !program.starts_with(['-', '+', ':']);
    // These two do nothing but end, as a program or as a part of the shell.
    let is_bare = others.is_empty() && matches!(*program, "true" | "false");
    let is_meant = is_named && (is_bare || !is_builtin(program));
    is_meant.then(|| words.iter().map(OsString::from).collect())
}

/// What bash sees to in the environment: that `PWD` is a name of the folder, and
/// that the shells are counted.
pub(crate) fn adjust_environment(environment: &mut BTreeMap<OsString, OsString>, folder: &Path) {
    environment.entry("SHLVL".into()).or_insert_with(|| "0".into());
    let place = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let named = environment.get(OsStr::new("PWD")).map(Path::new);
    let is_so = named.is_some_and(|named| {
        let is_same = named.as_os_str() == folder.as_os_str();
        is_same || named.is_absolute() && place(named) == place(folder)
    });
    if !is_so {
        environment.insert("PWD".into(), folder.into());
    }
}

/// Letters that mean nothing to a shell, wherever they stand behind a program.
fn is_plain_char(letter: char) -> bool {
    letter.is_alphanumeric() || " _./-:,+=@%".contains(letter)
}

#[cfg(test)]
#[path = "direct_exec_tests.rs"]
mod tests;
