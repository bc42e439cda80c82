//! What a shell command would do, read from its source: every simple command
//! that would run, what each one touches, and what somebody should be asked
//! about first. Nothing is run and nothing is looked up.

mod args;
mod arithmetic;
mod blocks;
mod braces;
mod builtins;
mod embedded;
mod expand;
mod extent;
mod flow;
mod history;
mod invoke;
mod leaf;
mod listing;
mod memory;
mod parse;
mod pattern;
mod programs;
mod redirects;
mod scope;
mod second;
mod sensitive;
mod shells;
mod site;
mod syntax;
mod table;
mod text;
mod walk;
mod words;
mod wrappers;
mod wrapping;
mod xargs;

pub use embedded::{CommentStyle, destructive_code};
pub use extent::{Extent, extent};
pub use history::{is_history, takes_history};
pub use leaf::{Analysis, Arrival, Finding, Landing, Leaf, Level, Word};
pub use pattern::CommandPattern;
pub use programs::{changes_settings, pushed_to};

use flow::Stream;
use hermes_core::{Effect, ShellScript, WorkingDir};

/// Longer commands are not read.
const MAX_SOURCE: usize = 192 * 1024;

/// The category of a command that the shell refuses as a whole, from the line
/// on that has the mistake. Typed into a shell that lasts, it may be the
/// beginning of another.
pub const SYNTAX_ERROR: &str = "syntax-error";

/// The category of a program that is in no table.
pub const UNKNOWN_PROGRAM: &str = "unknown-program";

/// What `source` would do if a shell ran it at this workplace.
pub fn analyze(source: &str, at: &WorkingDir) -> Analysis {
    analyze_after("", source, at)
}

/// The same for a shell in which something has been run before: variables,
/// functions and aliases that `earlier` leaves behind count, and what it does
/// does not.
pub fn analyze_after(earlier: &str, source: &str, at: &WorkingDir) -> Analysis {
    analyze_with(earlier, source, &Stream::unknown(), at)
}

/// The same for code that has its own folder, input or shell.
pub fn analyze_script(earlier: &str, script: &ShellScript, at: &WorkingDir) -> Analysis {
    let input = match &script.stdin {
        None => Stream::unknown(),
        Some(text) if text.len() <= MAX_SOURCE => Stream::text(text.as_str()),
        Some(_) => Stream { connected: true, ..Stream::unknown() },
    };
    match &script.cwd {
        None => analyze_with(earlier, &script.text, &input, at),
        Some(folder) => {
            let there = WorkingDir::new(folder, at.home().map(Into::into));
            analyze_with(earlier, &script.text, &input, &there)
        }
    }
}

/// The same for code that runs in a folder which nobody knows.
pub fn analyze_anywhere(earlier: &str, script: &ShellScript, at: &WorkingDir) -> Analysis {
    let mut walk = walk::Walk::new(at);
    if !earlier.is_empty() {
        walk.source(earlier);
        walk.settle();
    }
    walk.scope.cwd = None;
    walk.source_with(&script.text, &Stream::unknown());
    walk.finish(&script.text).0
}

fn analyze_with(earlier: &str, source: &str, input: &Stream, at: &WorkingDir) -> Analysis {
    let len = earlier.len().max(source.len());
    if len > MAX_SOURCE {
        let reason = format!("The command is too long to analyse ({len} bytes)");
        let findings = vec![Finding::ask("too-long", reason)];
        return Analysis { findings, ..Analysis::default() };
    }
    let mut walk = walk::Walk::new(at);
    if !earlier.is_empty() {
        walk.source(earlier);
        walk.settle();
    }
    walk.findings.extend(text::hidden_characters(source));
    walk.source_with(source, input);
    let (mut analysis, others) = walk.finish(source);
    analysis.findings.extend(second::disagrees(source, &analysis, &others));
    analysis
}

/// What a text in a program would do if the program ran it as a command.
fn analyze_text_in_code(text: &str, at: &WorkingDir) -> Analysis {
    let mut walk = walk::Walk::new(at);
    walk.in_code = true;
    walk.source(text);
    walk.finish(text).0
}

/// Whether a part of a path is a pattern that a shell fills in.
pub fn is_pattern(part: &str) -> bool {
    text::has_glob(part) || part.contains('(')
}

/// Whether a name may be among those that a part of a path stands for.
pub fn may_match(part: &str, name: &str) -> bool {
    // Extended patterns are not read.
    part.contains('(') || text::glob_match(part, name)
}

/// What a variable makes the programs do that are started with it: something
/// to ask about, and the machine that they talk through.
pub fn variable(name: &str, value: &str) -> (Option<Finding>, Option<Effect>) {
    let value = Word::literal(value);
    (programs::environment_override(name, &value), programs::proxy_effect(name, &value))
}

#[cfg(test)]
#[path = "after_tests.rs"]
mod after_tests;
#[cfg(test)]
#[path = "corpus_tests.rs"]
mod corpus_tests;
#[cfg(test)]
#[path = "everyday_tests.rs"]
mod everyday_tests;
#[cfg(test)]
#[path = "judged_tests.rs"]
mod judged_tests;
#[cfg(test)]
#[path = "limits_tests.rs"]
mod limits_tests;
#[cfg(test)]
#[path = "local_tests.rs"]
mod local_tests;
#[cfg(test)]
#[path = "openings_tests.rs"]
mod openings_tests;
