//! Commands that certainly change nothing: no file, no shell state, nor
//! anything else that a later command could observe.

use std::sync::Arc;

use hermes_core::{Scope, SideEffects};

use crate::leaf::{CommandAnalysis, LeafCommand};
use crate::parse::parse;
use crate::syntax::{
    ParameterOperator, RawWord, ShellCommand, ShellRedirect, SimpleCommand, WordPart,
};

/// Programs that touch nothing.
const NO_EFFECT_PROGRAMS: &str = "echo false sleep true";

/// Programs that only read, unless an option known to the analysis says
/// otherwise. Any other program may do anything.
const READ_ONLY_PROGRAMS: &str = "\
    arch basename cat cksum cmp column comm cut date df diff dirname du egrep expand factor \
    fgrep find fold free git grep head hexdump hostname id jq join ls lsblk lscpu md5sum nl \
    nproc od paste pgrep printenv ps pstree pwd readlink realpath rev rg sed seq sha1sum \
    sha256sum sha512sum sort stat strings tac tail tr uname uniq uptime wc whereis which \
    who whoami xxd";

/// Returns the side effects of a command, which is analyzed only if its source
/// may be read-only. In doubt, they are unknown.
pub fn side_effects(source: &str, analyze: impl FnOnce() -> Arc<CommandAnalysis>) -> SideEffects {
    // Far longer than any read-only command; skipping it is cheaper than
    // parsing.
    if source.len() > 4096 {
        return SideEffects::Unknown;
    }
    let script = parse(source, 0);
    let simple = match (script.problem, plain_commands(&script.body)) {
        (None, Some(simple)) if !simple.is_empty() => simple,
        _ => return SideEffects::Unknown,
    };
    let analysis = analyze();
    if !is_read_only_as_written(&analysis, &simple) {
        return SideEffects::Unknown;
    }
    let waits = |leaf: &LeafCommand| {
        is_in(NO_EFFECT_PROGRAMS, &leaf.program)
            && leaf.effects.iter().all(|effect| effect.scope == Scope::TERMINAL_EXECUTE)
    };
    let leaves = &analysis.leaves;
    if leaves.iter().all(waits) && leaves.iter().any(|leaf| leaf.program == "sleep") {
        SideEffects::None
    } else {
        SideEffects::ReadOnly
    }
}

/// Whether the commands are exactly those in the source, with no function or
/// alias behind them, and all harmless.
fn is_read_only_as_written(analysis: &CommandAnalysis, simple: &[&SimpleCommand]) -> bool {
    let harmless = |(leaf, simple): (&LeafCommand, &&SimpleCommand)| {
        leaf.text == simple.text
            && simple.words.first().and_then(RawWord::unquoted_text) == Some(leaf.program.as_str())
            && leaf.wrappers.is_empty()
            && leaf.is_read_only()
            && leaf.run_files.is_empty()
    };
    analysis.findings.is_empty()
        && analysis.leaves.len() == simple.len()
        && analysis.leaves.iter().zip(simple).all(harmless)
}

/// Returns the simple commands of a list of pipelines in which the shell only
/// starts programs; None if it does more.
fn plain_commands(body: &ShellCommand) -> Option<Vec<&SimpleCommand>> {
    let mut found = Vec::new();
    let mut rest = vec![body];
    while let Some(command) = rest.pop() {
        match command {
            ShellCommand::Simple(simple) if is_plain(simple) => found.push(simple),
            ShellCommand::Pipeline(inner) | ShellCommand::Sequence(inner) => {
                rest.extend(inner.iter().rev())
            }
            ShellCommand::Conditional(inner) | ShellCommand::AndThen(inner) => rest.push(inner),
            _ => return None,
        }
    }
    Some(found)
}

fn is_plain(simple: &SimpleCommand) -> bool {
    let known = |name: &str| is_in(NO_EFFECT_PROGRAMS, name) || is_in(READ_ONLY_PROGRAMS, name);
    let target = |redirect: &ShellRedirect| redirect.target.get().is_some_and(is_text);
    simple.assignments.is_empty()
        && simple.words.first().and_then(RawWord::unquoted_text).is_some_and(known)
        && simple.words.iter().all(is_text)
        // `{name}>file` sets a variable.
        && !["}>", "}<"].iter().any(|mark| simple.text.contains(mark))
        && simple.redirects.iter().all(target)
}

/// Whether a word is only text and plain variables: other expansions can
/// assign, or run commands.
fn is_text(word: &RawWord) -> bool {
    word.parts.iter().all(|part| match part {
        WordPart::Text { .. } => true,
        WordPart::Parameter(parameter) => {
            parameter.operator == ParameterOperator::Plain && parameter.argument.parts.is_empty()
        }
        _ => false,
    })
}

fn is_in(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

#[cfg(test)]
#[path = "side_effects_tests.rs"]
mod tests;
