//! Suggests rules from recorded calls: for requests that were asked about, or
//! denied for lack of a rule, often enough to be worth one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hermes_core::{Resource, Scope, WorkingDir};
use hermes_shell::LeafCommand;

use crate::pattern::escape_glob;

/// A recorded call that was asked about or refused, or would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedCall {
    /// Its effects: scope and resource.
    pub effects: Vec<(String, String)>,
    /// How it was judged: `allow`, `ask` or `deny`.
    pub answer: String,
    /// The rule that decided.
    pub rule: String,
    /// Whether the user then approved it.
    pub approved: bool,
}

/// Minimum number of calls for a suggestion.
const MIN_CALLS: usize = 2;

/// Substrings of rules that no other rule can override.
const UNLIFTABLE_RULES: &[&str] =
    &["protected", "unresolvable", "hard block", "sandbox", ": deny "];

/// Substring of rules that deny for lack of an allow rule.
const NOT_ALLOWED_TEXT: &str = "is not in allow";

/// Number of files in one directory from which the whole directory is
/// suggested.
const DIRECTORY_THRESHOLD: usize = 5;

/// Maximum number of files listed per directory.
const MAX_FILES: usize = 20;

/// Key for a directory whose files are meant, individually or as a whole.
const FILES_KEY: &str = "files of";

/// How often a rule was needed, how often the user approved, and which files
/// were involved.
#[derive(Default)]
struct SuggestionTally {
    count: usize,
    approved: usize,
    files: BTreeSet<String>,
}

/// A scope and its selectors, as kind and pattern; no selectors for the whole
/// scope.
type SuggestedRule = (String, Vec<(&'static str, String)>);

/// Returns a profile, as YAML, that extends `profile` and would allow the
/// observed calls. A comment on each line says how often it occurred. Explicit
/// denials stay.
pub fn suggest_profile(observed: &[ObservedCall], profile: &str, name: &str) -> Option<String> {
    let mut groups: BTreeMap<SuggestedRule, SuggestionTally> = BTreeMap::new();
    for call in observed.iter().filter(|call| call.answer != "allow") {
        if UNLIFTABLE_RULES.iter().any(|end| call.rule.contains(end)) {
            continue;
        }
        // A missing rule can be added; an explicit denial is intended.
        if call.answer == "deny" && !call.rule.contains(NOT_ALLOWED_TEXT) {
            continue;
        }
        let runs = |(scope, _): &(String, String)| scope == Scope::TERMINAL_EXECUTE.as_str();
        let is_command = call.effects.iter().any(runs);
        // Effects of a command on anything but files are covered by the
        // command.
        let is_reported = |effect: &&(String, String)| {
            !is_command || runs(effect) || effect.0.starts_with("file:")
        };
        let shown = call.effects.iter().filter(is_reported);
        let mut wanted_here: BTreeMap<SuggestedRule, BTreeSet<String>> = BTreeMap::new();
        for (scope, resource) in shown.filter(|(scope, _)| is_about(&call.rule, scope)) {
            for one in suggested_rules(&call.rule, scope, resource) {
                wanted_here.entry(one).or_default().insert(resource.clone());
            }
        }
        for (one, files) in wanted_here {
            let entry = groups.entry(one).or_default();
            entry.count += 1;
            entry.approved += usize::from(call.approved);
            entry.files.extend(files);
        }
    }
    groups.retain(|_, seen| seen.count >= MIN_CALLS);
    if groups.is_empty() {
        return None;
    }
    let (profile, name) = (yaml_quoted(profile), yaml_quoted(name));
    let mut yaml = format!("profiles:\n  {name}:\n    extends: {profile}\n    approved:\n");
    for ((scope, meant), seen) in groups {
        let of = |(key, pattern): &(&str, String)| match *key {
            FILES_KEY => format!(", paths: [{}]", path_patterns(pattern, &seen.files)),
            _ => format!(", {key}: [{}]", yaml_quoted(pattern)),
        };
        let rule = match meant.as_slice() {
            [] => yaml_quoted(&scope),
            meant => {
                let meant: String = meant.iter().map(of).collect();
                format!("{{scope: {}{meant}}}", yaml_quoted(&scope))
            }
        };
        yaml.push_str(&format!("      - {rule}  # {}\n", describe_tally(&seen)));
    }
    Some(yaml)
}

fn describe_tally(SuggestionTally { count, approved, .. }: &SuggestionTally) -> String {
    match approved {
        0 => format!("{count} times"),
        approved => format!("{count} times, approved {approved}"),
    }
}

/// Returns patterns for the files, or one for their whole directory if there
/// are many and it is not too broad.
fn path_patterns(dir: &str, files: &BTreeSet<String>) -> String {
    if files.len() >= DIRECTORY_THRESHOLD && !is_broad_directory(Path::new(dir)) {
        return yaml_quoted(&format!("{}/**", escape_glob(dir)));
    }
    let files = files.iter().take(MAX_FILES).map(|file| yaml_quoted(&escape_glob(file)));
    files.collect::<Vec<_>>().join(", ")
}

/// Whether a directory is the root, a home directory, a directory for temporary
/// files, or contains one of these or the current directory.
fn is_broad_directory(dir: &Path) -> bool {
    let here = std::env::current_dir().ok();
    let own = [std::env::home_dir(), Some(std::env::temp_dir()), here];
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    dir.components().count() <= 3
        || own.iter().flatten().any(|place| place.starts_with(dir))
        || shared.iter().any(|place| place.starts_with(dir))
}

/// Whether a rule is about this scope. The rules of a command are about its
/// parts.
fn is_about(rule: &str, scope: &str) -> bool {
    let speaks = Scope::ALL.iter().any(|known| rule.contains(known.as_str()));
    scope == Scope::TERMINAL_EXECUTE.as_str() || !speaks || rule.contains(scope)
}

/// Returns the rules that would allow this: a directory, the parts of a command
/// that the rule is about, a host, or a name.
fn suggested_rules(rule: &str, scope: &str, resource: &str) -> Vec<SuggestedRule> {
    let one = |key, pattern: String| vec![(scope.to_owned(), vec![(key, pattern)])];
    match (scope.split(':').next().unwrap_or_default(), resource) {
        // An unknown resource cannot be turned into a rule.
        ("file" | "git" | "terminal", "*") => Vec::new(),
        (_, "*") => vec![(scope.to_owned(), Vec::new())],
        ("terminal", command) => command_rules(rule, command),
        ("file" | "git", path) => match path.rsplit_once('/') {
            Some((dir, _)) => one(FILES_KEY, dir.to_owned()),
            None => one("paths", escape_glob(path)),
        },
        ("network" | "browser", host) => one("hosts", escape_glob(host)),
        (_, name) => one("names", escape_glob(name)),
    }
}

/// Returns rules for the parts of a command that the rule stopped.
fn command_rules(rule: &str, command: &str) -> Vec<SuggestedRule> {
    let analysis = hermes_shell::analyze(command, &WorkingDir::new("/", None));
    let named = analysis.leaves.iter().filter(|leaf| !leaf.program.is_empty());
    named.flat_map(|leaf| leaf_rules(rule, leaf, command)).collect()
}

fn leaf_rules(rule: &str, leaf: &LeafCommand, command: &str) -> Vec<SuggestedRule> {
    let is_known = leaf.words.iter().all(|word| word.known && !word.glob);
    let is_dangerous = leaf
        .findings
        .iter()
        .any(|found| rule.contains(&format!("dangerous command: {}", found.category)));
    // A dangerous program can do anything, so only this exact command is
    // suggested, provided that it was recorded in full.
    let is_whole = !command.ends_with('…');
    let rule_for =
        |scope: &Scope, pattern: String| (scope.to_string(), vec![("commands", pattern)]);
    let mut wanted: Vec<SuggestedRule> = Vec::new();
    if is_dangerous && is_known && is_whole {
        wanted.push(rule_for(&Scope::TERMINAL_EXECUTE, format!("= {}", command.trim())));
    }
    for effect in &leaf.effects {
        if !rule.contains(effect.scope.as_str()) {
            continue;
        }
        let mut of_program = rule_for(&effect.scope, leaf.prefix().join(" "));
        match (&effect.resource, effect.scope.family()) {
            // Approval of one host must not extend to all; an unknown host
            // cannot be turned into a rule.
            (Resource::Host(host), _) => of_program.1.push(("hosts", escape_glob(host))),
            (Resource::Any, "network" | "browser") if leaf.prefix().len() < 2 => continue,
            (Resource::Path(_), _) => continue,
            _ => {}
        }
        wanted.push(of_program);
    }
    wanted
}

/// Quotes a text for YAML.
fn yaml_quoted(text: &str) -> String {
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

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
