//! Permission profiles: a level with tool rules and sandbox settings.

use std::fmt;
use std::sync::OnceLock;

use hermes_core::{CallProposal, ChildLimits, NetworkMode};
use serde_json::Value;

use crate::argument_spellings::ArgumentSpellings;
use crate::level::{PolicyAnswer, PolicyLevel, PolicyRule, RuleOrigin, ScopeRestriction};
use crate::pattern::NamePattern;
use crate::sandbox_overrides::SandboxOverrides;

/// A profile, or the rules for all profiles.
#[derive(Debug, Clone, Default)]
pub struct PermissionProfile {
    /// Name of the profile.
    pub name: String,
    /// Purpose of the profile.
    pub description: Option<String>,
    /// Rules for every tool.
    pub level: PolicyLevel,
    /// Additional rules for some tools.
    pub tools: Vec<ToolLevel>,
    /// Additional rules once the session has read untrusted text.
    pub after_untrusted: Option<AfterUntrustedRules>,
    /// Sensitive paths that the profile opens explicitly.
    pub sensitive_paths: Vec<crate::pattern::PathPattern>,
    /// Sockets outside the sandbox that child processes may use.
    pub sockets: Vec<crate::pattern::PathPattern>,
    /// Sandbox settings for child processes.
    pub sandbox: SandboxPolicy,
    /// Sandbox settings that the profile itself sets.
    pub(crate) overrides: SandboxOverrides,
}

impl PermissionProfile {
    /// Whether a rule depends on which command touches a file.
    pub(crate) fn judges_files_by_command(&self) -> bool {
        let after = self.after_untrusted.iter().map(|after| &after.level);
        let tools = self.tools.iter().map(|tool| &tool.level);
        let mut levels = std::iter::once(&self.level).chain(tools).chain(after);
        levels.any(PolicyLevel::judges_files_by_command)
    }
}

/// Rules for matching tools.
#[derive(Debug, Clone)]
pub struct ToolLevel {
    /// Names of the tools.
    pub tool: NamePattern,
    /// Rules for all their calls.
    pub level: PolicyLevel,
    /// Set if each call requires approval.
    pub ask: Option<std::sync::Arc<RuleOrigin>>,
    /// Rules for individual arguments.
    pub parameters: Vec<ParameterRule>,
}

/// Limits on one argument.
#[derive(Debug, Clone)]
pub struct ParameterRule {
    /// Name of the argument.
    pub name: String,
    /// If not empty, only these values are allowed.
    pub allowed: Vec<NamePattern>,
    /// Values that are never allowed.
    pub denied: Vec<NamePattern>,
    /// Values that require approval.
    pub asked: Vec<NamePattern>,
    /// Smallest allowed number.
    pub min: Option<f64>,
    /// Largest allowed number.
    pub max: Option<f64>,
    /// Where the rule is defined.
    pub origin: std::sync::Arc<RuleOrigin>,
}

impl ParameterRule {
    /// Judges the argument of this call.
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
            .map(|text| (PolicyAnswer::Ask, format!("{} '{text}' requires approval", self.name)))
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

/// Stricter rules once the session has read untrusted text.
#[derive(Debug, Clone)]
pub struct AfterUntrustedRules {
    /// Additional level.
    pub level: PolicyLevel,
    /// The answer for hosts that the session has not contacted before.
    pub new_hosts: Option<PolicyAnswer>,
    /// Where the rules are defined.
    pub origin: std::sync::Arc<RuleOrigin>,
}

/// Sandbox settings for child processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Whether child processes are confined.
    pub enabled: bool,
    /// Whether bubblewrap confines them.
    pub bubblewrap: bool,
    /// The answer for a call that cannot be confined as the profile requires.
    pub missing: PolicyAnswer,
    /// Whether such a call runs with the confinement that is available, and
    /// reports what is missing.
    pub is_reduced: bool,
    /// Resource limits.
    pub limits: ChildLimits,
    /// Network access.
    pub network: NetworkMode,
    /// Loopback ports of this machine that child processes may use.
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

/// Returns the default limits: more than normal programs need, but low enough
/// to keep a runaway one from taking the machine down.
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

/// Maximum size of a file written by a child process, unless a profile raises
/// it.
const MAX_FILE_BYTES: u64 = 64 << 30;

impl PermissionProfile {
    /// Merges another profile under this one; its lists come first.
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

/// Merges restrictions: lists of the same scope are joined, and an explicit
/// setting wins over the base.
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
