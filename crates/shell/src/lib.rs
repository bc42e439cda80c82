//! What a shell command would do, read from its source: every simple command
//! that would run, what each one touches, and what somebody should be asked
//! about first. Nothing is run and nothing is looked up.

mod args;
mod arithmetic;
mod blocked_operations;
mod braces;
mod builtins;
mod command_pattern;
mod embedded;
mod eval_context;
mod expand;
mod git_history;
mod invoke;
mod leaf;
mod output_shape;
mod parse;
mod programs;
mod redirects;
mod second_parse;
mod secret_paths;
mod shell_scope;
mod shells;
mod side_effects;
mod static_names;
mod syntax;
mod text;
mod text_stream;
mod walk;
mod word_parser;
mod wrapper_table;
mod wrappers;
mod written_files;
mod xargs;

pub use command_pattern::CommandPattern;
pub use embedded::{CommentStyle, destructive_code};
pub use git_history::{damages_history, is_history_entry};
pub use leaf::{
    CommandAnalysis, CommandFinding, FindingLevel, LeafCommand, ShellWord, TargetMode, Transfer,
};
pub use programs::{changes_settings, push_remote};
pub use side_effects::{SideEffects, side_effects};

use hermes_core::{Effect, ShellScript, WorkingDir};
use text_stream::TextStream;

/// Longer commands are not read.
const MAX_SOURCE_BYTES: usize = 192 * 1024;

/// The category of a command that the shell refuses as a whole, from the line
/// on that has the mistake. Typed into a shell that lasts, it may be the
/// beginning of another.
pub const SYNTAX_ERROR: &str = "syntax-error";

/// The category of a program that is in no table.
pub const UNKNOWN_PROGRAM: &str = "unknown-program";

/// What `source` would do if a shell ran it at this workplace.
pub fn analyze(source: &str, at: &WorkingDir) -> CommandAnalysis {
    analyze_after("", source, at)
}

/// The same for a shell in which something has been run before: variables,
/// functions and aliases that `earlier` leaves behind count, and what it does
/// does not.
pub fn analyze_after(earlier: &str, source: &str, at: &WorkingDir) -> CommandAnalysis {
    analyze_with(earlier, source, &TextStream::unknown(), at)
}

/// The same for code that has its own folder, input or shell.
pub fn analyze_script(earlier: &str, script: &ShellScript, at: &WorkingDir) -> CommandAnalysis {
    let input = match &script.stdin {
        None => TextStream::unknown(),
        Some(text) if text.len() <= MAX_SOURCE_BYTES => TextStream::text(text.as_str()),
        Some(_) => TextStream { connected: true, ..TextStream::unknown() },
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
pub fn analyze_anywhere(earlier: &str, script: &ShellScript, at: &WorkingDir) -> CommandAnalysis {
    let mut walk = walk::ShellWalk::new(at);
    if !earlier.is_empty() {
        walk.walk_source(earlier);
        walk.discard_results();
    }
    walk.scope.cwd = None;
    walk.walk_source_with(&script.text, &TextStream::unknown());
    walk.finish(&script.text).0
}

fn analyze_with(
    earlier: &str,
    source: &str,
    input: &TextStream,
    at: &WorkingDir,
) -> CommandAnalysis {
    let len = earlier.len().max(source.len());
    if len > MAX_SOURCE_BYTES {
        let reason = format!("The command is too long to analyse ({len} bytes)");
        let findings = vec![CommandFinding::ask("too-long", reason)];
        return CommandAnalysis { findings, ..CommandAnalysis::default() };
    }
    let mut walk = walk::ShellWalk::new(at);
    if !earlier.is_empty() {
        walk.walk_source(earlier);
        walk.discard_results();
    }
    walk.findings.extend(text::hidden_characters(source));
    walk.walk_source_with(source, input);
    let (mut analysis, others) = walk.finish(source);
    analysis.findings.extend(second_parse::find_disagreement(source, &analysis, &others));
    analysis
}

/// What a text in a program would do if the program ran it as a command.
fn analyze_text_in_code(text: &str, at: &WorkingDir) -> CommandAnalysis {
    let mut walk = walk::ShellWalk::new(at);
    walk.in_code = true;
    walk.walk_source(text);
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
pub fn variable_effects(name: &str, value: &str) -> (Option<CommandFinding>, Option<Effect>) {
    let value = ShellWord::literal(value);
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
