//! Code that stands in a call and is run by an interpreter: what in it destroys
//! on a large scale. All else that code can do is for the sandbox. A command
//! that it runs is looked at like any other.

use hermes_core::{Proposal, Script, Workplace};
use hermes_shell::Finding;

/// How many texts in a piece of code are looked at, and how long they may be.
const MOST_TEXTS: usize = 64;
const LONGEST: usize = 2000;

/// What tells that code runs commands.
const RUNNERS: &[&str] = &[
    "system",
    "popen",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "execv",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "spawnv",
    "spawnvp",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "sh",
];

/// What deletes whole trees, by its name alone.
const DESTROYERS: &[&str] =
    &["rmtree", "removedirs", "rimraf", "rimrafSync", "removeSync", "emptyDirSync"];

/// The same, if it is told to go all the way down.
const DEEP: &[&str] = &["rm", "rmSync", "rmdir", "rmdirSync"];

/// What is said of a text because it cannot be told, not because it is bad: a
/// text in a program need not be a command.
const UNCERTAIN: &[&str] = &[
    "interpreter-code",
    "dynamic-code",
    "dynamic-program",
    "dynamic-host",
    "unknown-program",
    "unknown-subcommand",
    "unparsable",
    "too-complex",
    "too-long",
    "obfuscation",
    "secret-path",
    "program-option",
    "shadowing",
    "tree-read",
    "outside-write",
];

/// The code of a call and its language, if it has some.
pub(crate) fn of<'a>(proposal: &Proposal<'a>) -> Option<(&'a str, &'a str)> {
    let text = |name: &str| proposal.arguments.get(name).and_then(|value| value.as_str());
    Some((text("language").unwrap_or("python"), text("code")?))
}

/// What is dangerous in it.
pub(crate) fn dangers(language: &str, code: &str, at: &Workplace) -> Vec<Finding> {
    match language {
        "python" => in_program(code, Comments::Hash, at),
        "javascript" | "typescript" => in_program(code, Comments::Slashes, at),
        "sql" => in_sql(code, at),
        // A shell has an effect of its own.
        _ => Vec::new(),
    }
}

fn in_sql(code: &str, at: &Workplace) -> Vec<Finding> {
    let script = Script {
        text: "sqlite3 database".to_owned(),
        input: Some(code.to_owned()),
        ..Script::default()
    };
    let analysis = hermes_shell::analyze_script("", &script, at);
    let found = analysis.leaves.into_iter().flat_map(|leaf| leaf.findings);
    found.filter(|found| found.category == "sql-loss").collect()
}

fn in_program(code: &str, comments: Comments, at: &Workplace) -> Vec<Finding> {
    let (bare, texts) = split(code, comments);
    let words: Vec<&str> = words(&bare).collect();
    let says = |list: &[&str]| words.iter().find(|word| list.contains(word)).copied();
    let mut found = Vec::new();
    let deep = says(DEEP).filter(|_| words.contains(&"recursive"));
    if let Some(name) = says(DESTROYERS).or(deep) {
        let reason = format!("Deletes a whole tree from inside a program ({name})");
        found.push(Finding::ask("recursive-delete", reason));
    }
    if says(RUNNERS).is_none() {
        return found;
    }
    for text in texts.iter().filter(|text| text.len() <= LONGEST).take(MOST_TEXTS) {
        let analysis = hermes_shell::analyze(text, at);
        let leaves = analysis.leaves.into_iter().flat_map(|leaf| leaf.findings);
        for danger in leaves.chain(analysis.findings) {
            let is_known = found.iter().any(|known| known.category == danger.category);
            if !is_known && !UNCERTAIN.contains(&danger.category) {
                found.push(danger);
            }
        }
    }
    found
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// How comments begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comments {
    Hash,
    Slashes,
}

/// The code without its texts and comments, and the texts: each for itself, and
/// those that stand in a list as one, as the words of a command do.
fn split(code: &str, comments: Comments) -> (String, Vec<String>) {
    let mut bare = String::with_capacity(code.len());
    let (mut texts, mut list) = (Vec::new(), Vec::new());
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let begins = match comments {
            Comments::Hash => c == '#',
            Comments::Slashes => rest.starts_with("//"),
        };
        if begins {
            rest = rest.split_once('\n').map_or("", |(_, next)| next);
            bare.push('\n');
        } else if comments == Comments::Slashes && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, next)| next);
        } else if matches!(c, '"' | '\'') || (c == '`' && comments == Comments::Slashes) {
            let (text, next) = text(rest, c);
            texts.push(text.clone());
            list.push(text);
            bare.push(' ');
            rest = next;
        } else {
            // Words of a command stand beside one another.
            if !(c.is_whitespace() || matches!(c, ',' | '[')) {
                join(&mut texts, &mut list);
            }
            bare.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    join(&mut texts, &mut list);
    (bare, texts)
}

fn join(texts: &mut Vec<String>, list: &mut Vec<String>) {
    if list.len() > 1 {
        texts.push(list.join(" "));
    }
    list.clear();
}

/// The text that begins here with a quotation mark, and what comes after it.
fn text(code: &str, mark: char) -> (String, &str) {
    let triple = String::from_iter([mark; 3]);
    let end = if code.starts_with(&triple) { triple } else { mark.to_string() };
    let mut rest = code.get(end.len()..).unwrap_or_default();
    let mut text = String::new();
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(end.as_str()) {
            return (text, after);
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match (c, rest.chars().next()) {
            ('\\', Some(next)) => {
                text.push(if next == 'n' { '\n' } else { next });
                rest = rest.get(next.len_utf8()..).unwrap_or_default();
            }
            _ => text.push(c),
        }
    }
    (text, "")
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
