//! Static analysis of shell commands: which simple commands would run, what
//! each one touches, and what needs approval first. It runs nothing and does
//! not access the file system.

mod args;
mod arithmetic;
mod blocked_operations;
mod braces;
mod builtins;
mod command_pattern;
mod embedded;
mod env_split;
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
mod shared_analysis;
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
pub use shared_analysis::shared_analysis;
pub use side_effects::side_effects;

use hermes_core::{Effect, ShellScript, WorkingDir};
use text_stream::TextStream;

/// Maximum length of an analyzed command.
const MAX_SOURCE_BYTES: usize = 192 * 1024;

/// Category of a command that the shell rejects from the line with the syntax
/// error on. Typed into a persistent shell, it may be the start of a longer
/// command.
pub const SYNTAX_ERROR: &str = "syntax-error";

/// Category of a program that is in no table.
pub const UNKNOWN_PROGRAM: &str = "unknown-program";

/// Analyzes `source` as run by a shell in this working directory.
pub fn analyze(source: &str, at: &WorkingDir) -> CommandAnalysis {
    analyze_after("", source, at)
}

/// Like [`analyze`], for a shell that has run `earlier` before: the variables,
/// functions and aliases it leaves behind count, its effects do not.
pub fn analyze_after(earlier: &str, source: &str, at: &WorkingDir) -> CommandAnalysis {
    analyze_with(earlier, source, &TextStream::unknown(), at)
}

/// Like [`analyze_after`], for a script with its own directory or input.
pub fn analyze_script(earlier: &str, script: &ShellScript, at: &WorkingDir) -> CommandAnalysis {
    let input = match &script.stdin {
        None => TextStream::unknown(),
        Some(text) if text.len() <= MAX_SOURCE_BYTES => TextStream::text(text.as_str()),
        Some(_) => TextStream { connected: true, ..TextStream::unknown() },
    };
    match &script.cwd {
        None => analyze_with(earlier, &script.text, &input, at),
        Some(dir) => {
            let there = WorkingDir::new(dir, at.home().map(Into::into));
            analyze_with(earlier, &script.text, &input, &there)
        }
    }
}

/// Like [`analyze_script`], for a script that runs in an unknown directory.
pub fn analyze_anywhere(earlier: &str, script: &ShellScript, at: &WorkingDir) -> CommandAnalysis {
    analyze_walk(earlier, &script.text, &TextStream::unknown(), at, |walk| walk.scope.cwd = None)
}

fn analyze_with(
    earlier: &str,
    source: &str,
    input: &TextStream,
    at: &WorkingDir,
) -> CommandAnalysis {
    analyze_walk(earlier, source, input, at, |_| {})
}

/// Analyzes `source`. `prepare` changes the shell between `earlier` and it.
fn analyze_walk(
    earlier: &str,
    source: &str,
    input: &TextStream,
    at: &WorkingDir,
    prepare: impl FnOnce(&mut walk::ShellWalk<'_>),
) -> CommandAnalysis {
    let len = earlier.len().max(source.len());
    if len > MAX_SOURCE_BYTES {
        let reason = format!("The command is too long to analyze ({len} bytes)");
        let findings = vec![CommandFinding::ask("too-long", reason)];
        return CommandAnalysis { findings, ..CommandAnalysis::default() };
    }
    let mut walk = walk::ShellWalk::new(at);
    if !earlier.is_empty() {
        walk.walk_source(earlier);
        walk.discard_results();
    }
    prepare(&mut walk);
    walk.findings.extend(text::hidden_characters(source));
    walk.walk_source_with(source, input);
    let (mut analysis, others) = walk.finish(source);
    analysis.findings.extend(second_parse::find_disagreement(source, &analysis, &others));
    analysis
}

/// Analyzes a string in a program as if the program ran it as a command.
fn analyze_text_in_code(text: &str, at: &WorkingDir) -> CommandAnalysis {
    let mut walk = walk::ShellWalk::new(at);
    walk.in_code = true;
    walk.walk_source(text);
    walk.finish(text).0
}

/// Whether a path component is a pattern that the shell expands.
pub fn is_pattern(part: &str) -> bool {
    text::has_glob(part) || part.contains('(')
}

/// Whether a path component may match a name.
pub fn may_match(part: &str, name: &str) -> bool {
    // Extended globs are not parsed.
    part.contains('(') || text::glob_match(part, name)
}

/// The effects of a variable on the programs started with it: a finding to ask
/// about, and the proxy that they connect through.
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
