//! A profile: a level with what belongs to it.

use std::fmt;
use std::sync::OnceLock;

use hermes_core::{ChildLimits, NetworkMode, CallProposal};
use serde_json::Value;

use crate::level::{Answer, Level, Origin, Restriction, Rule};
use crate::pattern::NamePattern;
use crate::readings::Reading;
use crate::wishes::SandboxWishes;

/// A profile, or the rules that hold for all of them.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What holds for every tool.
    pub level: Level,
    /// What holds for some tools besides.
    pub tools: Vec<ToolLevel>,
    /// What holds besides, once text from strangers was read.
    pub after_untrusted: Option<AfterUntrusted>,
    /// Sensitive paths that it lays open on purpose.
    pub sensitive_paths: Vec<crate::pattern::PathPattern>,
    /// Sockets of programs outside that child processes may use.
    pub sockets: Vec<crate::pattern::PathPattern>,
    /// How child processes are held.
    pub sandbox: SandboxSettings,
    /// What it says about that itself.
    pub(crate) wishes: SandboxWishes,
}

impl Profile {
    /// Whether it matters to it which command touches a file.
    pub(crate) fn judges_files_by_command(&self) -> bool {
        let after = self.after_untrusted.iter().map(|after| &after.level);
        let tools = self.tools.iter().map(|tool| &tool.level);
        let mut levels = std::iter::once(&self.level).chain(tools).chain(after);
        levels.any(Level::judges_files_by_command)
    }
}

/// What holds for one tool.
#[derive(Debug, Clone)]
pub struct ToolLevel {
    /// The tools.
    pub tool: NamePattern,
    /// What holds for all their calls.
    pub level: Level,
    /// Whether each call needs an approval.
    pub ask: Option<std::sync::Arc<Origin>>,
    /// What holds for single arguments.
    pub parameters: Vec<ParameterRule>,
}

/// What one argument may be.
#[derive(Debug, Clone)]
pub struct ParameterRule {
    /// The argument's name.
    pub name: String,
    /// If given, only these values.
    pub allowed: Vec<NamePattern>,
    /// Never these.
    pub denied: Vec<NamePattern>,
    /// These only if somebody agrees.
    pub asked: Vec<NamePattern>,
    /// The least number.
    pub min: Option<f64>,
    /// The greatest number.
    pub max: Option<f64>,
    /// Where it was written.
    pub origin: std::sync::Arc<Origin>,
}

impl ParameterRule {
    /// What it says of the arguments of this call.
    pub fn judge(&self, proposal: &CallProposal<'_>) -> Option<(Answer, String)> {
        let value = proposal.arguments.get(&self.name)?;
        let texts: Vec<Reading> = match value {
            Value::Array(items) => {
                items.iter().map(|item| Reading::of(as_text(item), proposal)).collect()
            }
            other => vec![Reading::of(as_text(other), proposal)],
        };
        let fits = |patterns: &[NamePattern], text: &str| patterns.iter().any(|p| p.matches(text));
        let any = |patterns: &[NamePattern]| {
            let found = texts.iter().find(|text| text.may_be(|way| fits(patterns, way)));
            found.map(|found| &found.text)
        };
        if let Some(text) = any(&self.denied) {
            return Some((Answer::Deny, format!("{} may not be '{text}'", self.name)));
        }
        let outside = texts.iter().find(|text| !text.is(|way| fits(&self.allowed, way)));
        let outside = outside.map(|found| &found.text);
        if let (false, Some(text)) = (self.allowed.is_empty(), outside) {
            let reason = format!("{} may only be {}", self.name, list(&self.allowed));
            return Some((Answer::Deny, format!("{reason}, not '{text}'")));
        }
        if self.min.is_some() || self.max.is_some() {
            let fits = |text: &&String| {
                let number = text.trim().parse::<f64>().unwrap_or(f64::NAN);
                self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max)
            };
            let given = || texts.iter().map(|given| &given.text).filter(|_| !value.is_null());
            if let Some(text) = given().find(|text| !fits(text)) {
                return Some((Answer::Deny, format!("{} may not be {text}", self.name)));
            }
        }
        any(&self.asked)
            .map(|text| (Answer::Ask, format!("{} '{text}' needs an approval", self.name)))
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list(patterns: &[NamePattern]) -> String {
    patterns.iter().map(|p| format!("'{p}'")).collect::<Vec<_>>().join(", ")
}

/// What is stricter once text from strangers was read.
#[derive(Debug, Clone)]
pub struct AfterUntrusted {
    /// The level that then counts, too.
    pub level: Level,
    /// What becomes of hosts that the session has not spoken to so far.
    pub new_hosts: Option<Answer>,
    /// Where that was written.
    pub origin: std::sync::Arc<Origin>,
}

/// How child processes are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether they are held at all.
    pub enabled: bool,
    /// Whether bubblewrap does it.
    pub bubblewrap: bool,
    /// What becomes of a call that cannot be held as the profile demands.
    pub missing: Answer,
    /// Whether such a call runs with what this system has, and says what is
    /// missing.
    pub is_reduced: bool,
    /// How much they may use.
    pub limits: ChildLimits,
    /// How they reach the network.
    pub network: NetworkMode,
    /// Loopback ports of this machine that they may use.
    pub host_ports: Vec<u16>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            bubblewrap: false,
            missing: Answer::Deny,
            is_reduced: false,
            limits: default_limits(),
            network: NetworkMode::Isolated,
            host_ports: Vec::new(),
        }
    }
}

/// The limits of somebody who has set none: what no honest program needs, and
/// what keeps one that runs wild from taking the machine with it.
fn default_limits() -> ChildLimits {
    static LIMITS: OnceLock<ChildLimits> = OnceLock::new();
    *LIMITS.get_or_init(|| {
        let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        });
        ChildLimits {
            private_memory: memory.map(|kilobytes| kilobytes * 1024 / 4 * 3),
            file_size: Some(LARGEST_FILE),
            ..ChildLimits::default()
        }
    })
}

/// Bytes of the largest file that a child may write unless a profile says more.
const LARGEST_FILE: u64 = 64 << 30;

impl Profile {
    /// Puts another profile under this one: its lists come first.
    pub(crate) fn on_top_of(mut self, base: Profile) -> Profile {
        self.level.put_on(base.level);
        self.tools = joined(base.tools, self.tools);
        self.sensitive_paths = joined(base.sensitive_paths, self.sensitive_paths);
        self.sockets = joined(base.sockets, self.sockets);
        self.after_untrusted = match (base.after_untrusted, self.after_untrusted.take()) {
            (Some(base), Some(mut own)) => {
                own.level.put_on(base.level);
                own.new_hosts = own.new_hosts.or(base.new_hosts);
                Some(own)
            }
            (base, own) => own.or(base),
        };
        self.wishes = self.wishes.or(base.wishes);
        self.sandbox = self.wishes.settings();
        self
    }
}

impl Level {
    fn put_on(&mut self, under: Level) {
        self.allow = match (under.allow, self.allow.take()) {
            (Some(base), Some(own)) => Some(joined(base, own)),
            (base, own) => own.or(base),
        };
        self.deny = joined(under.deny, std::mem::take(&mut self.deny));
        self.ask = joined(under.ask, std::mem::take(&mut self.ask));
        self.approved = joined(under.approved, std::mem::take(&mut self.approved));
        let own = std::mem::take(&mut self.restrictions);
        self.restrictions = merge_restrictions(under.restrictions, own);
    }
}

fn joined<T>(mut base: Vec<T>, own: Vec<T>) -> Vec<T> {
    base.extend(own);
    base
}

/// A scope that both restrict has both lists; what is said once counts as said.
fn merge_restrictions(base: Vec<Restriction>, own: Vec<Restriction>) -> Vec<Restriction> {
    let mut merged = base;
    for mut restriction in own {
        let same = merged.iter().position(|r| r.scope == restriction.scope);
        let Some(index) = same else {
            merged.push(restriction);
            continue;
        };
        let below = merged.remove(index);
        restriction.allowed = match (below.allowed, restriction.allowed.take()) {
            (Some(base), Some(own)) => Some(base.and(own)),
            (base, own) => own.or(base),
        };
        restriction.denied = below.denied.and(restriction.denied);
        restriction.asked = below.asked.and(restriction.asked);
        if !restriction.says_elsewhere {
            restriction.elsewhere = below.elsewhere;
            restriction.says_elsewhere = below.says_elsewhere;
        }
        restriction.private_hosts = restriction.private_hosts.or(below.private_hosts);
        restriction.dangerous = restriction.dangerous.or(below.dangerous);
        merged.insert(index, restriction);
    }
    merged
}

impl crate::level::Selectors {
    fn and(mut self, other: Self) -> Self {
        self.paths.extend(other.paths);
        self.commands.extend(other.commands);
        self.hosts.extend(other.hosts);
        self.names.extend(other.names);
        self
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin.rule)
    }
}
