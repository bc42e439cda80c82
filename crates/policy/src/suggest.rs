//! Rules proposed from what was recorded: what was asked about or would have
//! been, often enough to be worth a rule.

use std::collections::{BTreeMap, BTreeSet};

use crate::pattern::escape;

/// One recorded call that was asked about or refused, or would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The scope of the effect.
    pub scope: String,
    /// Its resource.
    pub resource: String,
    /// How it ended: `allow`, `ask` or `deny`.
    pub answer: String,
    /// Whether somebody then approved it.
    pub approved: bool,
}

/// How many calls make a suggestion.
const ENOUGH: usize = 2;

/// How often something was seen, and how often somebody then approved it.
type Seen = (usize, usize);

/// A part of a permission file that would let through what was observed, as
/// YAML with a comment on each line that says how often it occurred. What is
/// denied, or needs an approval whatever it is about, stays so.
pub fn suggest(observed: &[Observed], profile: &str) -> Option<String> {
    let mut groups: BTreeMap<(&str, Option<String>), Seen> = BTreeMap::new();
    for call in observed.iter().filter(|call| call.answer != "allow") {
        for pattern in patterns(call) {
            let entry = groups.entry((&call.scope, pattern)).or_default();
            entry.0 += 1;
            entry.1 += usize::from(call.approved);
        }
    }
    groups.retain(|_, (count, _)| *count >= ENOUGH);
    if groups.is_empty() {
        return None;
    }
    let profile = quoted(profile);
    let mut yaml = format!("profiles:\n  {profile}:\n    extends: {profile}\n    allow:\n");
    for ((scope, pattern), seen) in &groups {
        let rule = match pattern {
            Some(pattern) => {
                format!("{{scope: {}, {}: [{}]}}", quoted(scope), selector(scope), quoted(pattern))
            }
            None => quoted(scope),
        };
        yaml.push_str(&format!("      - {rule}  # {}\n", told(*seen)));
    }
    // Where the profile names the folders, these must be among them.
    let mut heading = "    restrictions:\n";
    let mut last = None;
    for ((scope, pattern), seen) in groups.iter().filter(|((scope, _), _)| family(scope) == "file")
    {
        let Some(pattern) = pattern else { continue };
        yaml.push_str(std::mem::take(&mut heading));
        if last.replace(*scope) != Some(*scope) {
            yaml.push_str(&format!("      {}:\n        allowed_paths:\n", quoted(scope)));
        }
        yaml.push_str(&format!("          - {}  # {}\n", quoted(pattern), told(*seen)));
    }
    Some(yaml)
}

fn told((count, approved): Seen) -> String {
    match approved {
        0 => format!("{count} times"),
        approved => format!("{count} times, approved {approved}"),
    }
}

fn selector(scope: &str) -> &'static str {
    match family(scope) {
        "file" | "git" => "paths",
        "terminal" => "commands",
        "network" | "browser" => "hosts",
        _ => "names",
    }
}

fn family(scope: &str) -> &str {
    scope.split(':').next().unwrap_or_default()
}

/// A text as YAML reads it, whatever is in it.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c if c.is_alphanumeric() => out.push(c),
            c => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// What the resource has in common with its like: a folder, the programs with
/// their subcommands, a host. Nothing stands for the whole scope.
fn patterns(call: &Observed) -> Vec<Option<String>> {
    let exact = || vec![Some(escape(&call.resource))];
    match (family(&call.scope), call.resource.as_str()) {
        // What was not known then is not known now.
        ("file" | "git" | "terminal", "*") => Vec::new(),
        (_, "*") => vec![None],
        ("file", path) => match path.rsplit_once('/') {
            // Neither everything nor somebody's whole home.
            Some((folder, _)) if folder.matches('/').count() > 2 => {
                vec![Some(format!("{}/**", escape(folder)))]
            }
            _ => exact(),
        },
        ("terminal", command) => {
            let at = hermes_core::Workplace::new("/", None);
            let analysis = hermes_shell::analyze(command, &at);
            let named = analysis.leaves.iter().filter(|leaf| !leaf.program.is_empty());
            let prefixes: BTreeSet<String> = named.map(|leaf| leaf.prefix().join(" ")).collect();
            prefixes.into_iter().map(Some).collect()
        }
        _ => exact(),
    }
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
