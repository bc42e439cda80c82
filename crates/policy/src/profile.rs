//! A profile: a level with what belongs to it.

use std::fmt;
use std::sync::OnceLock;

use hermes_core::{CallProposal, ChildLimits, NetworkMode};
use serde_json::Value;

use crate::argument_spellings::ArgumentSpellings;
use crate::level::{PolicyAnswer, PolicyLevel, PolicyRule, RuleOrigin, ScopeRestriction};
use crate::pattern::NamePattern;
use crate::sandbox_overrides::SandboxOverrides;

/// A profile, or the rules that hold for all of them.
#[derive(Debug, Clone, Default)]
pub struct PermissionProfile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What holds for every tool.
    pub level: PolicyLevel,
    /// What holds for some tools besides.
    pub tools: Vec<ToolLevel>,
    /// What holds besides, once text from strangers was read.
    pub after_untrusted: Option<AfterUntrustedRules>,
    /// Sensitive paths that it lays open on purpose.
    pub sensitive_paths: Vec<crate::pattern::PathPattern>,
    /// Sockets of programs outside that child processes may use.
    pub sockets: Vec<crate::pattern::PathPattern>,
    /// How child processes are held.
    pub sandbox: SandboxPolicy,
    /// What it says about that itself.
    pub(crate) overrides: SandboxOverrides,
}

impl PermissionProfile {
    /// Whether it matters to it which command touches a file.
    pub(crate) fn judges_files_by_command(&self) -> bool {
        let after = self.after_untrusted.iter().map(|after| &after.level);
        let tools = self.tools.iter().map(|tool| &tool.level);
        let mut levels = std::iter::once(&self.level).chain(tools).chain(after);
        levels.any(PolicyLevel::judges_files_by_command)
    }
}

/// What holds for one tool.
#[derive(Debug, Clone)]
pub struct ToolLevel {
    /// The tools.
    pub tool: NamePattern,
    /// What holds for all their calls.
    pub level: PolicyLevel,
    /// Whether each call needs an approval.
    pub ask: Option<std::sync::Arc<RuleOrigin>>,
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
    pub origin: std::sync::Arc<RuleOrigin>,
}

impl ParameterRule {
    /// What it says of the arguments of this call.
    pub fn judge(&self, proposal: &CallProposal<'_>) -> Option<(PolicyAnswer, String)> {
        let value = proposal.arguments.get(&self.name)?;
        let texts: Vec<ArgumentSpellings> = match value {
            Value::Array(items) => items
                .iter()
                .map(|item| ArgumentSpellings::for_argument(as_text(item), proposal))
                .collect(),
            other => vec![ArgumentSpellings::for_argument(as_text(other), proposal)],
        };
        let fits = |patterns: &[NamePattern], text: &str| patterns.iter().any(|p| p.matches(text));
        let any = |patterns: &[NamePattern]| {
            let found = texts.iter().find(|text| text.any_matches(|way| fits(patterns, way)));
            found.map(|found| &found.text)
        };
        if let Some(text) = any(&self.denied) {
            return Some((PolicyAnswer::Deny, format!("{} may not be '{text}'", self.name)));
        }
        let outside = texts.iter().find(|text| !text.all_match(|way| fits(&self.allowed, way)));
        let outside = outside.map(|found| &found.text);
        if let (false, Some(text)) = (self.allowed.is_empty(), outside) {
            let reason = format!("{} may only be {}", self.name, join_patterns(&self.allowed));
            return Some((PolicyAnswer::Deny, format!("{reason}, not '{text}'")));
        }
        if self.min.is_some() || self.max.is_some() {
            let fits = |text: &&String| {
                let number = text.trim().parse::<f64>().unwrap_or(f64::NAN);
                self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max)
            };
            let given = || texts.iter().map(|given| &given.text).filter(|_| !value.is_null());
            if let Some(text) = given().find(|text| !fits(text)) {
                return Some((PolicyAnswer::Deny, format!("{} may not be {text}", self.name)));
            }
        }
        any(&self.asked)
            .map(|text| (PolicyAnswer::Ask, format!("{} '{text}' needs an approval", self.name)))
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn join_patterns(patterns: &[NamePattern]) -> String {
    patterns.iter().map(|p| format!("'{p}'")).collect::<Vec<_>>().join(", ")
}

/// What is stricter once text from strangers was read.
#[derive(Debug, Clone)]
pub struct AfterUntrustedRules {
    /// The level that then counts, too.
    pub level: PolicyLevel,
    /// What becomes of hosts that the session has not spoken to so far.
    pub new_hosts: Option<PolicyAnswer>,
    /// Where that was written.
    pub origin: std::sync::Arc<RuleOrigin>,
}

/// How child processes are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Whether they are held at all.
    pub enabled: bool,
    /// Whether bubblewrap does it.
    pub bubblewrap: bool,
    /// What becomes of a call that cannot be held as the profile demands.
    pub missing: PolicyAnswer,
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

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            bubblewrap: false,
            missing: PolicyAnswer::Deny,
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
    static DEFAULT_LIMITS: OnceLock<ChildLimits> = OnceLock::new();
    *DEFAULT_LIMITS.get_or_init(|| {
        let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        });
        ChildLimits {
            private_memory: memory.map(|kilobytes| kilobytes * 1024 / 4 * 3),
            file_size: Some(MAX_FILE_BYTES),
            ..ChildLimits::default()
        }
    })
}

/// Bytes of the largest file that a child may write unless a profile says more.
const MAX_FILE_BYTES: u64 = 64 << 30;

impl PermissionProfile {
    /// Puts another profile under this one: its lists come first.
    pub(crate) fn extending(mut self, base: PermissionProfile) -> PermissionProfile {
        self.level.extend_base(base.level);
        self.tools = concat_lists(base.tools, self.tools);
        self.sensitive_paths = concat_lists(base.sensitive_paths, self.sensitive_paths);
        self.sockets = concat_lists(base.sockets, self.sockets);
        self.after_untrusted = match (base.after_untrusted, self.after_untrusted.take()) {
            (Some(base), Some(mut own)) => {
                own.level.extend_base(base.level);
                own.new_hosts = own.new_hosts.or(base.new_hosts);
                Some(own)
            }
            (base, own) => own.or(base),
        };
        self.overrides = self.overrides.or(base.overrides);
        self.sandbox = self.overrides.settings();
        self
    }
}

impl PolicyLevel {
    fn extend_base(&mut self, under: PolicyLevel) {
        self.allow = match (under.allow, self.allow.take()) {
            (Some(base), Some(own)) => Some(concat_lists(base, own)),
            (base, own) => own.or(base),
        };
        self.deny = concat_lists(under.deny, std::mem::take(&mut self.deny));
        self.ask = concat_lists(under.ask, std::mem::take(&mut self.ask));
        self.approved = concat_lists(under.approved, std::mem::take(&mut self.approved));
        let own = std::mem::take(&mut self.restrictions);
        self.restrictions = merge_restrictions(under.restrictions, own);
    }
}

fn concat_lists<T>(mut base: Vec<T>, own: Vec<T>) -> Vec<T> {
    base.extend(own);
    base
}

/// A scope that both restrict has both lists; what is said once counts as said.
fn merge_restrictions(
    base: Vec<ScopeRestriction>,
    own: Vec<ScopeRestriction>,
) -> Vec<ScopeRestriction> {
    let mut merged = base;
    for mut restriction in own {
        let same = merged.iter().position(|r| r.scope == restriction.scope);
        let Some(index) = same else {
            merged.push(restriction);
            continue;
        };
        let below = merged.remove(index);
        restriction.allowed = match (below.allowed, restriction.allowed.take()) {
            (Some(base), Some(own)) => Some(base.merged_with(own)),
            (base, own) => own.or(base),
        };
        restriction.denied = below.denied.merged_with(restriction.denied);
        restriction.asked = below.asked.merged_with(restriction.asked);
        if !restriction.has_default_answer {
            restriction.default_answer = below.default_answer;
            restriction.has_default_answer = below.has_default_answer;
        }
        restriction.private_hosts = restriction.private_hosts.or(below.private_hosts);
        restriction.dangerous = restriction.dangerous.or(below.dangerous);
        merged.insert(index, restriction);
    }
    merged
}

impl crate::level::ResourceSelectors {
    fn merged_with(mut self, other: Self) -> Self {
        self.paths.extend(other.paths);
        self.commands.extend(other.commands);
        self.hosts.extend(other.hosts);
        self.names.extend(other.names);
        self
    }
}

impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin.rule)
    }
}
