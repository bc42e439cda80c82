//! Rules proposed from what was recorded: what was asked about, or kept back
//! for want of a rule, often enough to be worth one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hermes_core::{Resource, Scope, WorkingDir};
use hermes_shell::LeafCommand;

use crate::pattern::escape_glob;

/// One recorded call that was asked about or refused, or would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedCall {
    /// Its effects: scope and resource.
    pub effects: Vec<(String, String)>,
    /// How it was judged: `allow`, `ask` or `deny`.
    pub answer: String,
    /// By which rule.
    pub rule: String,
    /// Whether somebody then approved it.
    pub approved: bool,
}

/// How many calls make a suggestion.
const MIN_CALLS: usize = 2;

/// Rules that no other rule can lift, by how they begin or what is in them.
const UNLIFTABLE_RULES: &[&str] =
    &["protected", "unresolvable", "hard block", "sandbox", ": deny "];

/// How a rule reads that denies for want of another.
const NOT_ALLOWED_TEXT: &str = "is not in allow";

/// How many files of one folder make the folder.
const DIRECTORY_THRESHOLD: usize = 5;

/// More files of one folder are not named.
const MAX_FILES: usize = 20;

/// Stands in front of a folder whose files are meant, each or all of them.
const FILES_KEY: &str = "files of";

/// How often something was seen, how often somebody then approved it, and
/// which files it was about.
#[derive(Default)]
struct SuggestionTally {
    count: usize,
    approved: usize,
    files: BTreeSet<String>,
}

/// A scope, and what is meant of it by kind and pattern; nothing for all of it.
type SuggestedRule = (String, Vec<(&'static str, String)>);

/// A profile that extends `profile` and would let through what was observed,
/// as YAML with a comment on each line that says how often it occurred. What
/// is denied stays so.
pub fn suggest_profile(observed: &[ObservedCall], profile: &str, name: &str) -> Option<String> {
    let mut groups: BTreeMap<SuggestedRule, SuggestionTally> = BTreeMap::new();
    for call in observed.iter().filter(|call| call.answer != "allow") {
        if UNLIFTABLE_RULES.iter().any(|end| call.rule.contains(end)) {
            continue;
        }
        // What is only missing can be added; what is denied is meant so.
        if call.answer == "deny" && !call.rule.contains(NOT_ALLOWED_TEXT) {
            continue;
        }
        let runs = |(scope, _): &(String, String)| scope == Scope::TERMINAL_EXECUTE.as_str();
        let is_command = call.effects.iter().any(runs);
        // What a command does to anything but files is told by the command.
        let is_told = |effect: &&(String, String)| {
            !is_command || runs(effect) || effect.0.starts_with("file:")
        };
        let told = call.effects.iter().filter(is_told);
        let mut wanted_here: BTreeMap<SuggestedRule, BTreeSet<String>> = BTreeMap::new();
        for (scope, resource) in told.filter(|(scope, _)| is_about(&call.rule, scope)) {
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

/// The files, or their folder with all that is below it if they are many and
/// it is nobody's folder of everything.
fn path_patterns(folder: &str, files: &BTreeSet<String>) -> String {
    if files.len() >= DIRECTORY_THRESHOLD && !is_broad_directory(Path::new(folder)) {
        return yaml_quoted(&format!("{}/**", escape_glob(folder)));
    }
    let files = files.iter().take(MAX_FILES).map(|file| yaml_quoted(&escape_glob(file)));
    files.collect::<Vec<_>>().join(", ")
}

/// Whether a folder is the root, somebody's home, one for temporary files, or
/// has one of these or the folder that hermes was started in below it.
fn is_broad_directory(folder: &Path) -> bool {
    let here = std::env::current_dir().ok();
    let own = [std::env::home_dir(), Some(std::env::temp_dir()), here];
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    folder.components().count() <= 3
        || own.iter().flatten().any(|place| place.starts_with(folder))
        || shared.iter().any(|place| place.starts_with(folder))
}

/// Whether a rule speaks of this scope. A command's rules speak of its parts.
fn is_about(rule: &str, scope: &str) -> bool {
    let speaks = Scope::ALL.iter().any(|known| rule.contains(known.as_str()));
    scope == Scope::TERMINAL_EXECUTE.as_str() || !speaks || rule.contains(scope)
}

/// What must be approved for this to go through: a folder, the parts of a
/// command that the rule is about, a host, a name.
fn suggested_rules(rule: &str, scope: &str, resource: &str) -> Vec<SuggestedRule> {
    let one = |key, pattern: String| vec![(scope.to_owned(), vec![(key, pattern)])];
    match (scope.split(':').next().unwrap_or_default(), resource) {
        // What was not known then is not known now.
        ("file" | "git" | "terminal", "*") => Vec::new(),
        (_, "*") => vec![(scope.to_owned(), Vec::new())],
        ("terminal", command) => command_rules(rule, command),
        ("file" | "git", path) => match path.rsplit_once('/') {
            Some((folder, _)) => one(FILES_KEY, folder.to_owned()),
            None => one("paths", escape_glob(path)),
        },
        ("network" | "browser", host) => one("hosts", escape_glob(host)),
        (_, name) => one("names", escape_glob(name)),
    }
}

/// The parts of a command that the rule stopped.
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
    // The same program can do anything, so only the same command is proposed,
    // if all of it was recorded.
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
            // What was sent to one host is not for all of them; and what was not
            // known then is not known now.
            (Resource::Host(host), _) => of_program.1.push(("hosts", escape_glob(host))),
            (Resource::Any, "network" | "browser") if leaf.prefix().len() < 2 => continue,
            (Resource::Path(_), _) => continue,
            _ => {}
        }
        wanted.push(of_program);
    }
    wanted
}

/// A text as YAML reads it, whatever is in it.
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
