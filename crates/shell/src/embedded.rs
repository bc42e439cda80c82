//! Detects large-scale destruction in code of other languages embedded in a
//! command or a call. The sandbox handles everything else. Commands that the
//! code runs are analyzed like any other.

use hermes_core::WorkingDir;

use crate::leaf::{CommandAnalysis, CommandFinding};

/// Limits on the strings of a program that are analyzed: count and length.
const MAX_TEXTS: usize = 64;
const MAX_TEXT_BYTES: usize = 2000;

/// Names that indicate that a program runs commands.
const COMMAND_RUNNERS: &[&str] = &[
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

/// Functions that always delete whole trees.
const TREE_DELETERS: &[&str] =
    &["rmtree", "removedirs", "rimraf", "rimrafSync", "removeSync", "emptyDirSync"];

/// Functions that delete whole trees when called with `recursive`.
const RECURSIVE_DELETERS: &[&str] = &["rm", "rmSync", "rmdir", "rmdirSync"];

/// Categories that express uncertainty, not danger. They are ignored here,
/// because a string in a program need not be a command.
const UNCERTAIN_CATEGORIES: &[&str] = &[
    "interpreter-code",
    "dynamic-code",
    "dynamic-program",
    "dynamic-host",
    "unknown-program",
    "unknown-subcommand",
    "unparsable",
    crate::SYNTAX_ERROR,
    "too-complex",
    "too-long",
    "obfuscation",
    "secret-path",
    "program-option",
    "shadowing",
    "tree-read",
    "outside-write",
];

/// Comment syntax of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentStyle {
    /// `# …`; backquotes do not delimit strings.
    Hash,
    /// `// …` and `/* … */`.
    Slashes,
    /// Unknown: nothing is treated as a comment.
    Unknown,
}

/// Finds what in a program destroys data on a large scale.
pub fn destructive_code(
    code: &str,
    comments: CommentStyle,
    at: &WorkingDir,
) -> Vec<CommandFinding> {
    let (bare, texts) = split_strings(code, comments);
    let words: Vec<&str> = identifiers(&bare).collect();
    let says = |list: &[&str]| words.iter().find(|word| list.contains(word)).copied();
    let mut found = Vec::new();
    let deep = says(RECURSIVE_DELETERS).filter(|_| words.contains(&"recursive"));
    if let Some(name) = says(TREE_DELETERS).or(deep) {
        found.push(tree_deletion_finding(name));
    }
    if says(COMMAND_RUNNERS).is_some() {
        find_dangerous_commands(&texts, at, &mut found, &mut |_| {});
    }
    found
}

pub(crate) fn tree_deletion_finding(name: &str) -> CommandFinding {
    let reason = format!("Deletes a whole directory tree from a program ({name})");
    CommandFinding::ask("recursive-delete", reason)
}

/// Adds the findings that these strings would have if run as commands, and
/// passes each analysis to `look`.
pub(crate) fn find_dangerous_commands(
    texts: &[String],
    at: &WorkingDir,
    found: &mut Vec<CommandFinding>,
    look: &mut dyn FnMut(&CommandAnalysis),
) {
    for text in texts.iter().filter(|text| text.len() <= MAX_TEXT_BYTES).take(MAX_TEXTS) {
        let analysis = crate::analyze_text_in_code(text, at);
        look(&analysis);
        let leaves = analysis.leaves.into_iter().flat_map(|leaf| leaf.findings);
        for danger in leaves.chain(analysis.findings) {
            let is_known = found.iter().any(|known| known.category == danger.category);
            if !is_known && !UNCERTAIN_CATEGORIES.contains(&danger.category) {
                found.push(danger);
            }
        }
    }
}

pub(crate) fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// Splits code into the code without strings and comments, and the strings.
/// Strings adjacent in a list are also joined into one, like the words of a
/// command.
pub(crate) fn split_strings(code: &str, comments: CommentStyle) -> (String, Vec<String>) {
    let mut bare = String::with_capacity(code.len());
    let (mut texts, mut list) = (Vec::new(), Vec::new());
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let begins = match comments {
            CommentStyle::Hash => c == '#',
            CommentStyle::Slashes => rest.starts_with("//"),
            CommentStyle::Unknown => false,
        };
        if begins {
            rest = rest.split_once('\n').map_or("", |(_, next)| next);
            bare.push('\n');
        } else if comments == CommentStyle::Slashes && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, next)| next);
        } else if matches!(c, '"' | '\'') || (c == '`' && comments != CommentStyle::Hash) {
            let (text, next) = quoted_text(rest, c);
            texts.push(text.clone());
            list.push(text);
            bare.push(' ');
            rest = next;
        } else {
            // Only adjacent strings form a command.
            if !(c.is_whitespace() || matches!(c, ',' | '[')) {
                join_list(&mut texts, &mut list);
            }
            bare.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    join_list(&mut texts, &mut list);
    (bare, texts)
}

fn join_list(texts: &mut Vec<String>, list: &mut Vec<String>) {
    if list.len() > 1 {
        texts.push(list.join(" "));
    }
    list.clear();
}

/// The string literal at the start of `code`, and the rest after it.
fn quoted_text(code: &str, mark: char) -> (String, &str) {
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
