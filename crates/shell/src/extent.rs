//! Commands of which it is certain that they change nothing: neither a file,
//! nor the shell, nor anything else that a later command could meet.

use hermes_core::{Scope, WorkingDir};

use crate::leaf::{Analysis, Leaf};
use crate::parse::parse;
use crate::syntax::{Command, Operator, Part, Raw, Redirect, Simple};

/// How much of what a command could do it is known to do. Commands are put in
/// order by it; nothing is permitted by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extent {
    /// It may do anything.
    #[default]
    Open,
    /// It may look at anything, and leaves everything as it was.
    Looks,
    /// It touches nothing at all; time passes.
    Waits,
}

/// Programs that touch nothing.
const STILL: &str = "echo false sleep true";

/// Programs that only look, unless an option says otherwise, which the
/// analysis knows. A program that is not here may do anything.
const LOOKING: &str = "\
    arch basename cat cksum cmp column comm cut date df diff dirname du egrep expand factor \
    fgrep find fold free git grep head hexdump hostname id jq join ls lsblk lscpu md5sum nl \
    nproc od paste pgrep printenv ps pstree pwd readlink realpath rev rg sed seq sha1sum \
    sha256sum sha512sum sort stat strings tac tail tr uname uniq uptime wc whereis which \
    who whoami xxd";

/// What is certain of a command in a shell that remembers `earlier`. In doubt
/// it may do anything.
pub fn extent(earlier: &str, source: &str, at: &WorkingDir) -> Extent {
    // Far more than anybody looks with, and cheaper than reading it.
    if source.len() > 4096 {
        return Extent::Open;
    }
    let script = parse(source, 0);
    let simple = match (script.problem, plain_commands(&script.body)) {
        (None, Some(simple)) if !simple.is_empty() => simple,
        _ => return Extent::Open,
    };
    let analysis = crate::analyze_after(earlier, source, at);
    if !agrees(&analysis, &simple) {
        return Extent::Open;
    }
    let waits = |leaf: &Leaf| {
        is_in(STILL, &leaf.program)
            && leaf.effects.iter().all(|effect| effect.scope == Scope::TERMINAL_EXECUTE)
    };
    let leaves = &analysis.leaves;
    if leaves.iter().all(waits) && leaves.iter().any(|leaf| leaf.program == "sleep") {
        Extent::Waits
    } else {
        Extent::Looks
    }
}

/// Whether the commands are exactly those that are written there, no function
/// and no alias behind them, and all of them harmless.
fn agrees(analysis: &Analysis, simple: &[&Simple]) -> bool {
    let harmless = |(leaf, simple): (&Leaf, &&Simple)| {
        leaf.text == simple.text
            && simple.words.first().and_then(Raw::bare) == Some(leaf.program.as_str())
            && leaf.via.is_empty()
            && leaf.is_read_only()
            && leaf.runs.is_empty()
    };
    analysis.findings.is_empty()
        && analysis.leaves.len() == simple.len()
        && analysis.leaves.iter().zip(simple).all(harmless)
}

/// The simple commands of a list of pipelines in which the shell does nothing
/// but start programs; none if there is more to it.
fn plain_commands(body: &Command) -> Option<Vec<&Simple>> {
    let mut found = Vec::new();
    let mut rest = vec![body];
    while let Some(command) = rest.pop() {
        match command {
            Command::Simple(simple) if is_plain(simple) => found.push(simple),
            Command::Pipeline(inner) | Command::Sequence(inner) => rest.extend(inner.iter().rev()),
            Command::Maybe(inner) | Command::Then(inner) => rest.push(inner),
            _ => return None,
        }
    }
    Some(found)
}

fn is_plain(simple: &Simple) -> bool {
    let known = |name: &str| is_in(STILL, name) || is_in(LOOKING, name);
    let target = |redirect: &Redirect| redirect.target.get().is_some_and(is_text);
    simple.assignments.is_empty()
        && simple.words.first().and_then(Raw::bare).is_some_and(known)
        && simple.words.iter().all(is_text)
        // `{name}>file` sets a variable.
        && !["}>", "}<"].iter().any(|mark| simple.text.contains(mark))
        && simple.redirects.iter().all(target)
}

/// Whether a word is text and plain variables: other expansions can assign,
/// and run commands.
fn is_text(word: &Raw) -> bool {
    word.parts.iter().all(|part| match part {
        Part::Text { .. } => true,
        Part::Parameter(parameter) => {
            parameter.operator == Operator::Plain && parameter.argument.parts.is_empty()
        }
        _ => false,
    })
}

fn is_in(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

#[cfg(test)]
#[path = "extent_tests.rs"]
mod tests;
