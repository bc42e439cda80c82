//! Rules proposed from what was recorded: what was asked about or would have
//! been, often enough to be worth a rule.

use std::collections::BTreeMap;

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

/// A part of a permission file that would let through what was observed, as
/// YAML with a comment on each line that says how often it occurred.
pub fn suggest(observed: &[Observed], profile: &str) -> Option<String> {
    let mut groups: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    for call in observed.iter().filter(|call| call.answer != "allow") {
        let entry = groups.entry((&call.scope, pattern(call))).or_default();
        entry.0 += 1;
        entry.1 += usize::from(call.approved);
    }
    groups.retain(|_, (count, _)| *count >= ENOUGH);
    if groups.is_empty() {
        return None;
    }
    let mut yaml = format!("profiles:\n  {profile}:\n    extends: {profile}\n    allow:\n");
    for ((scope, pattern), (count, approved)) in groups {
        let key = match scope.split(':').next().unwrap_or_default() {
            "file" | "git" => "paths",
            "terminal" => "commands",
            "network" | "browser" => "hosts",
            _ => "names",
        };
        let seen = match approved {
            0 => format!("{count} times"),
            approved => format!("{count} times, approved {approved}"),
        };
        let pattern = serde_json::Value::from(pattern);
        yaml.push_str(&format!("      - {{scope: {scope}, {key}: [{pattern}]}}  # {seen}\n"));
    }
    Some(yaml)
}

/// What the resource has in common with its like: a folder, a program with
/// its subcommand, a host.
fn pattern(call: &Observed) -> String {
    match call.scope.split(':').next().unwrap_or_default() {
        "file" | "git" => match call.resource.rsplit_once('/') {
            Some((folder, _)) if folder.matches('/').count() > 1 => format!("{folder}/**"),
            _ => call.resource.clone(),
        },
        "terminal" => {
            let at = hermes_core::Workplace::new("/", None);
            let analysis = hermes_shell::analyze(&call.resource, &at);
            let leaf = analysis.leaves.iter().find(|leaf| !leaf.program.is_empty());
            leaf.map_or_else(|| call.resource.clone(), |leaf| leaf.prefix().join(" "))
        }
        _ => call.resource.clone(),
    }
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
