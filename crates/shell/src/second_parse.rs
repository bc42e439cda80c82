//! Second parse by an independent grammar. If it finds a command that our
//! parser missed, one of the two is wrong, and the call asks.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::leaf::{CommandAnalysis, CommandFinding};
use crate::text::program_name;

/// Longer source is parsed only once.
const MAX_SOURCE_BYTES: usize = 12 * 1024;
/// Number of progress reports after which the parse is aborted, on top of what
/// the length allows. A report is a hundred steps.
const MAX_PROGRESS_REPORTS: usize = 400;

thread_local! {
    static BASH_PARSER: RefCell<Option<Parser>> = RefCell::new(new_parser());
}

fn new_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// Returns a finding if the grammar sees a command that is no leaf of the
/// analysis. `others` are names that were run but are no leaves, such as
/// aliases.
pub(crate) fn find_disagreement(
    source: &str,
    analysis: &CommandAnalysis,
    others: &HashSet<String>,
) -> Option<CommandFinding> {
    let given_up = |finding: &CommandFinding| {
        matches!(finding.category, "unparsable" | "too-complex" | crate::SYNTAX_ERROR)
    };
    if source.len() > MAX_SOURCE_BYTES
        || !is_unusual(source)
        || analysis.findings.iter().any(given_up)
    {
        return None;
    }
    let tree = parse(source).filter(|tree| !tree.root_node().has_error())?;
    let mut seen: HashSet<&str> = others.iter().map(String::as_str).collect();
    for leaf in &analysis.leaves {
        seen.insert(&leaf.program);
        seen.extend(leaf.wrappers.iter().map(String::as_str));
    }
    let name =
        command_names(&tree, source).into_iter().find(|name| !seen.contains(name.as_str()))?;
    let reason = format!("Two parsers disagree on whether “{name}” runs");
    Some(CommandFinding::ask("unparsable", reason))
}

/// Whether a shell is certain to reject source in which our parser found a
/// syntax error: the grammar finds one too, and nothing in the source is
/// ambiguous. Lines before the error still run, and were analyzed like any
/// other command.
pub(crate) fn is_refused(source: &str) -> bool {
    source.len() <= MAX_SOURCE_BYTES
        && !is_ambiguous(source)
        && parse(source).is_some_and(|tree| tree.root_node().has_error())
}

/// Whether the source has a construct that parsers may read differently:
/// escapes, comments, heredocs, and brackets other than plain groups.
fn is_unusual(source: &str) -> bool {
    source.len() > 1 && source.contains(['\\', '#']) || is_ambiguous(source)
}

/// Like [`is_unusual`], except for escapes and comments.
fn is_ambiguous(source: &str) -> bool {
    let bytes = source.as_bytes();
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at));
    let is_mark = |(at, byte): (usize, &u8)| match byte {
        b'`' | b'\r' => bytes.len() > 1,
        b'(' => {
            let before = before(at);
            matches!(before, Some(b'(' | b'=' | b'@' | b'!' | b'?' | b'*' | b'+'))
        }
        b'$' => matches!(bytes.get(at + 1), Some(b'\'' | b'"' | b'{')),
        b'<' | b'[' => before(at) == Some(byte),
        _ => false,
    };
    bytes.iter().enumerate().any(is_mark)
        || source.contains("case ")
        || source.contains("function ")
}

/// Replaces every non-ASCII byte by a letter: to a shell it is part of a word,
/// and the grammar's scanner does not handle it reliably.
fn ascii_bytes(source: &str) -> Vec<u8> {
    source.bytes().map(|byte| if byte.is_ascii() { byte } else { b'x' }).collect()
}

fn parse(source: &str) -> Option<Tree> {
    BASH_PARSER.with(|parser| {
        let mut parser = parser.try_borrow_mut().ok()?;
        let parser = parser.as_mut()?;
        let mut left = MAX_PROGRESS_REPORTS + source.len() / 4;
        let mut count = |_: &tree_sitter::ParseState| {
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut count);
        let bytes = ascii_bytes(source);
        let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or(&[]);
        let tree = parser.parse_with_options(&mut chunk, None, Some(options));
        // The next parse must not resume an aborted one.
        parser.reset();
        tree
    })
}

/// Whether a substitution is entirely in double parentheses and cannot be two
/// adjacent commands in single ones.
fn is_arithmetic(text: &str) -> bool {
    let Some(inside) = text.strip_prefix("$((").and_then(|text| text.strip_suffix("))")) else {
        return false;
    };
    let mut depth = 0_i32;
    let balanced = inside.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth >= 0
    });
    balanced
        && depth == 0
        && !inside.contains("$(")
        && !inside.contains(['`', '\'', '"', '\\', '\n', '#'])
}

/// Returns the names of all commands in the tree that are plain words.
fn command_names(tree: &Tree, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        // In a heredoc the grammar parses `$((1 + 1))` as a command.
        let computed = node.kind() == "command_substitution"
            && source.get(node.byte_range()).is_some_and(is_arithmetic);
        if node.kind() == "command_name"
            && let Some(word) = node.child(0).filter(|child| child.kind() == "word")
            && node.child_count() == 1
            && let Some(text) = source.get(word.byte_range())
        {
            let text = text.replace("\\\n", "").replace('\\', "");
            // Patterns and keywords are not literal names.
            let plain = !text.contains(['*', '?', '[', '{', '~', '=', '$', '`', '"', '\'']);
            if plain && !matches!(text.as_str(), "time" | "coproc" | "!" | "" | "function") {
                found.push(program_name(&text).into_owned());
            }
        }
        if !computed && cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

#[cfg(test)]
#[path = "second_parse_tests.rs"]
mod tests;
