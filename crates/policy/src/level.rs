//! One level of permission: what it allows, denies, asks about and restricts.
//! Levels are stacked, and each can only narrow the others.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hermes_config::FilePosition;
use hermes_core::{Effect, Resource, Scope};
use hermes_net::{AddressReach, canonical_host, host_reach};
use hermes_shell::{CommandPattern, LeafCommand};

use crate::pattern::{NamePattern, PathPattern, ScopePattern};

/// The three answers, from lenient to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyAnswer {
    /// Proceed.
    Allow,
    /// Requires approval.
    Ask,
    /// No.
    Deny,
}

impl PolicyAnswer {
    /// Returns the name of the answer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Where a rule is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOrigin {
    /// The rule in the form shown to users.
    pub rule: String,
    /// File and line; `None` for built-in rules.
    pub place: Option<FilePosition>,
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)
    }
}

/// A level's opinion on one effect.
#[derive(Debug, Clone)]
pub struct RuleOpinion {
    /// The answer.
    pub answer: PolicyAnswer,
    /// The reason, as a sentence.
    pub reason: String,
    /// The deciding rule.
    pub origin: Arc<RuleOrigin>,
}

/// An effect with everything that rules can match.
#[derive(Debug, Clone, Copy)]
pub struct RuleSubject<'a> {
    /// The effect.
    pub effect: &'a Effect,
    /// For a path: the resolved path.
    pub real: Option<&'a Path>,
    /// The resolved path and the path as written, both folded for loose
    /// comparison.
    pub folded: Option<(&'a Path, &'a Path)>,
    /// For an effect of a shell command: the simple command that has it.
    pub leaf: Option<&'a LeafCommand>,
    /// The whole command that the leaf is part of.
    pub command: Option<&'a str>,
    /// Whether the host is a loopback address inside the child processes' own
    /// network namespace.
    pub own_loopback: bool,
}

/// One entry of `allow`, `deny` or `approval_required`.
#[derive(Debug, Clone)]
pub struct PolicyRule {
    /// Scopes that the rule applies to.
    pub scope: ScopePattern,
    /// If set, only these resources, and only by these commands.
    pub selectors: Option<ResourceSelectors>,
    /// The reason given by the rule's author.
    pub reason: Option<String>,
    /// Where the rule is defined.
    pub origin: Arc<RuleOrigin>,
}

/// Patterns that select resources.
#[derive(Debug, Clone, Default)]
pub struct ResourceSelectors {
    /// Paths.
    pub paths: Vec<PathPattern>,
    /// Commands.
    pub commands: Vec<CommandPattern>,
    /// Hosts.
    pub hosts: Vec<NamePattern>,
    /// Names of any other resource.
    pub names: Vec<NamePattern>,
}

impl ResourceSelectors {
    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.commands.is_empty()
            && self.hosts.is_empty()
            && self.names.is_empty()
    }

    /// Whether any pattern matches the subject. `loose` compares paths in every
    /// spelling, and is for rules that deny.
    pub fn matches(&self, subject: &RuleSubject<'_>, loose: bool) -> bool {
        self.names_command(subject, loose) || self.names_resource(subject, loose)
    }

    /// Whether everything matches: the command, if commands are given, and the
    /// resource, if resources are given.
    fn matches_all(&self, subject: &RuleSubject<'_>, loose: bool) -> bool {
        !self.is_empty()
            && (self.commands.is_empty() || self.names_command(subject, loose))
            && (!self.has_resources() || self.names_resource(subject, loose))
    }

    fn has_resources(&self) -> bool {
        !(self.paths.is_empty() && self.hosts.is_empty() && self.names.is_empty())
    }

    /// Whether one of the commands causes the effect.
    fn names_command(&self, subject: &RuleSubject<'_>, loose: bool) -> bool {
        let of_leaf = |pattern: &CommandPattern, leaf: &LeafCommand| {
            let whole = subject.command.is_some_and(|text| matches_whole(pattern, text, loose));
            whole || if loose { pattern.matches(leaf) } else { pattern.permits(leaf) }
        };
        if let Some(leaf) = subject.leaf
            && self.commands.iter().any(|pattern| of_leaf(pattern, leaf))
        {
            return true;
        }
        match &subject.effect.resource {
            // A rule that allows must match the whole command, not a part.
            resource @ (Resource::Command(_) | Resource::Script(_))
                if loose || subject.leaf.is_none() =>
            {
                let text = &resource.as_text();
                self.commands.iter().any(|pattern| matches_whole(pattern, text, loose))
            }
            // An unknown target may belong to any of the commands.
            Resource::Any => loose && subject.leaf.is_none() && self.has_resources(),
            _ => false,
        }
    }

    /// Whether the effect is on one of the resources.
    fn names_resource(&self, subject: &RuleSubject<'_>, loose: bool) -> bool {
        match &subject.effect.resource {
            Resource::Path(written) => self.paths.iter().any(|pattern| {
                // Deleting a directory deletes everything in it.
                let removes = loose && subject.effect.scope == Scope::FILE_DELETE;
                if removes && subject.real.is_some_and(|real| pattern.has_path_below(real)) {
                    return true;
                }
                let exactly = subject.real.is_some_and(|real| pattern.matches(real));
                let folded = subject.folded.is_some_and(|(real, written)| {
                    pattern.matches(real) || pattern.matches(written)
                });
                exactly || (loose && (folded || pattern.matches(written)))
            }),
            Resource::Host(host) => {
                // An address can be written in many ways.
                let canonical = if loose { Some(canonical_host(host)) } else { None };
                self.hosts.iter().any(|pattern| {
                    pattern.matches(host)
                        || host.split_once(':').is_some_and(|(name, _)| pattern.matches(name))
                        || canonical.as_ref().is_some_and(|host| pattern.matches(host))
                })
            }
            resource @ (Resource::Name(_) | Resource::Variable(_)) => {
                let name = resource.as_text();
                self.names.iter().chain(&self.hosts).any(|pattern| pattern.matches(&name))
            }
            Resource::Command(_) | Resource::Script(_) => false,
            // An unknown target may be any of the resources.
            Resource::Any => loose && self.has_resources(),
        }
    }
}

/// Formats a path, with the resolved path if that differs.
pub(crate) fn with_real_path(path: &Path, real: Option<&Path>) -> String {
    match real.filter(|real| *real != path) {
        Some(real) => format!("{}, which is {},", path.display(), real.display()),
        None => path.display().to_string(),
    }
}

/// Whether a pattern with shell syntax matches the whole command. To deny, the
/// command only has to contain it; to allow, the two must be equal.
fn matches_whole(pattern: &CommandPattern, text: &str, loose: bool) -> bool {
    if loose { pattern.matches_text(text) } else { pattern.is_exact_command(text) }
}

impl PolicyRule {
    fn matches(&self, subject: &RuleSubject<'_>, loose: bool) -> bool {
        self.scope.matches(&subject.effect.scope)
            && self.selectors.as_ref().is_none_or(|s| s.matches_all(subject, loose))
    }
}

/// Restrictions within one scope.
#[derive(Debug, Clone)]
pub struct ScopeRestriction {
    /// Scopes that the restriction applies to.
    pub scope: ScopePattern,
    /// If set, only these are allowed.
    pub allowed: Option<ResourceSelectors>,
    /// Never allowed.
    pub denied: ResourceSelectors,
    /// Allowed only after approval.
    pub asked: ResourceSelectors,
    /// The answer for everything else if only some resources are allowed.
    pub default_answer: PolicyAnswer,
    /// Whether the file sets the default answer explicitly.
    pub(crate) has_default_answer: bool,
    /// The answer for loopback and private hosts; `None` for no opinion.
    pub private_hosts: Option<PolicyAnswer>,
    /// The answer for commands in the dangerous categories; `None` means ask.
    pub dangerous: Option<PolicyAnswer>,
    /// Where the restriction is defined.
    pub origin: Arc<RuleOrigin>,
}

impl ScopeRestriction {
    /// Returns the answer for a loopback or private host that is not allowed by
    /// name.
    fn private_host_answer(&self, subject: &RuleSubject<'_>) -> Option<PolicyAnswer> {
        let Resource::Host(host) = &subject.effect.resource else { return None };
        let answer = self.private_hosts.filter(|answer| *answer != PolicyAnswer::Allow)?;
        if subject.own_loopback {
            return None;
        }
        let is_private = matches!(host_reach(host), AddressReach::Loopback | AddressReach::Private);
        let is_named = || self.allowed.as_ref().is_some_and(|a| a.names_resource(subject, false));
        (is_private && !is_named()).then_some(answer)
    }
}

/// One level of rules.
#[derive(Debug, Clone, Default)]
pub struct PolicyLevel {
    /// Name for messages: `profile default`, `global rules`, …
    pub name: String,
    /// Where the level starts.
    pub place: Option<FilePosition>,
    /// What is allowed; `None` means no opinion.
    pub allow: Option<Vec<PolicyRule>>,
    /// What is denied.
    pub deny: Vec<PolicyRule>,
    /// What requires approval.
    pub ask: Vec<PolicyRule>,
    /// What is approved in advance: it is neither asked about nor missing from
    /// `allow`. A denial still applies.
    pub approved: Vec<PolicyRule>,
    /// Restrictions of individual scopes.
    pub restrictions: Vec<ScopeRestriction>,
}

impl PolicyLevel {
    /// Returns the level's opinion on an effect; `None` if it has none.
    pub fn judge(&self, subject: &RuleSubject<'_>) -> Option<RuleOpinion> {
        if let Some(rule) = self.deny.iter().find(|rule| rule.matches(subject, true)) {
            return Some(self.rule_opinion(PolicyAnswer::Deny, subject, rule));
        }
        if self.approves(subject) {
            return None;
        }
        let asked = self.ask.iter().find(|rule| rule.matches(subject, true));
        if asked.is_none()
            && let Some(allow) = &self.allow
            && !allow.iter().any(|rule| rule.matches(subject, false))
        {
            return Some(self.unlisted_opinion(subject));
        }
        // Connecting to a program of the same session needs no approval, unless
        // the rule names it.
        let asked = asked.filter(|rule| !subject.own_loopback || rule.selectors.is_some());
        let asked = asked.map(|rule| self.rule_opinion(PolicyAnswer::Ask, subject, rule));
        let restricted = self
            .restrictions
            .iter()
            .filter(|restriction| restriction.scope.matches(&subject.effect.scope))
            .filter_map(|restriction| self.restriction_opinion(restriction, subject))
            .max_by_key(|opinion| opinion.answer);
        strictest_opinion(asked, restricted)
    }

    /// Whether a rule for this scope names paths.
    pub(crate) fn judges_paths(&self, scope: &Scope) -> bool {
        let allow = self.allow.iter().flatten();
        let rules = allow.chain(&self.deny).chain(&self.ask);
        let mut rules = rules.filter(|rule| rule.scope.matches(scope));
        let mut restrictions = self.restrictions.iter().filter(|r| r.scope.matches(scope));
        rules.any(|rule| rule.selectors.as_ref().is_some_and(|s| !s.paths.is_empty()))
            || restrictions.any(|r| {
                let allowed = r.allowed.as_ref().is_some_and(|allowed| !allowed.paths.is_empty());
                allowed || !r.denied.paths.is_empty() || !r.asked.paths.is_empty()
            })
    }

    /// Whether a rule about files names commands.
    pub(crate) fn judges_files_by_command(&self) -> bool {
        let files = [Scope::FILE_READ, Scope::FILE_WRITE, Scope::FILE_DELETE];
        let about = |scope: &ScopePattern| files.iter().any(|file| scope.matches(file));
        let allow = self.allow.iter().flatten();
        let rules = allow.chain(&self.deny).chain(&self.ask).chain(&self.approved);
        let mut rules =
            rules.filter(|rule| about(&rule.scope)).filter_map(|r| r.selectors.as_ref());
        let restricted = self.restrictions.iter().filter(|r| about(&r.scope));
        let mut restricted = restricted.flat_map(|r| r.allowed.iter().chain([&r.denied, &r.asked]));
        rules.any(|s| !s.commands.is_empty()) || restricted.any(|s| !s.commands.is_empty())
    }

    /// Whether the effect is approved in advance and nothing denies it.
    fn approves(&self, subject: &RuleSubject<'_>) -> bool {
        let mut about = self.restrictions.iter().filter(|r| r.scope.matches(&subject.effect.scope));
        self.approved.iter().any(|rule| rule.matches(subject, false))
            && !about.any(|restriction| {
                restriction.denied.matches(subject, true)
                    || restriction.private_host_answer(subject) == Some(PolicyAnswer::Deny)
            })
    }

    /// Whether a dangerous command is approved in advance by name.
    pub(crate) fn approves_danger(&self, subject: &RuleSubject<'_>) -> bool {
        let named =
            |rule: &PolicyRule| rule.selectors.as_ref().is_some_and(|s| !s.commands.is_empty());
        let mut rules = self.approved.iter().filter(|rule| named(rule));
        rules.any(|rule| rule.matches(subject, false))
    }

    /// Whether an effect on a path is approved in advance by name.
    pub(crate) fn approves_place(&self, subject: &RuleSubject<'_>) -> bool {
        let named =
            |rule: &PolicyRule| rule.selectors.as_ref().is_some_and(|s| !s.paths.is_empty());
        let mut rules = self.approved.iter().filter(|rule| named(rule));
        rules.any(|rule| rule.matches(subject, false))
    }

    fn unlisted_opinion(&self, subject: &RuleSubject<'_>) -> RuleOpinion {
        let scope = &subject.effect.scope;
        RuleOpinion {
            answer: PolicyAnswer::Deny,
            reason: format!("{} does not allow {scope}", self.name),
            origin: Arc::new(RuleOrigin {
                rule: format!("{}: {scope} is not in allow", self.name),
                place: self.place.clone(),
            }),
        }
    }

    fn rule_opinion(
        &self,
        answer: PolicyAnswer,
        subject: &RuleSubject<'_>,
        rule: &PolicyRule,
    ) -> RuleOpinion {
        let scope = &subject.effect.scope;
        let reason = rule.reason.clone().unwrap_or_else(|| match answer {
            PolicyAnswer::Deny => format!("Permission {scope} is denied in {}", self.name),
            _ => format!("{scope} requires approval in {}", self.name),
        });
        RuleOpinion { answer, reason, origin: Arc::clone(&rule.origin) }
    }

    fn restriction_opinion(
        &self,
        restriction: &ScopeRestriction,
        subject: &RuleSubject<'_>,
    ) -> Option<RuleOpinion> {
        let effect = subject.effect;
        let opinion = |answer: PolicyAnswer, reason: String| {
            Some(RuleOpinion { answer, reason, origin: Arc::clone(&restriction.origin) })
        };
        if restriction.denied.matches(subject, true) {
            return opinion(
                PolicyAnswer::Deny,
                format!("{} is denied in {}", describe_effect(effect), self.name),
            );
        }
        if restriction.asked.matches(subject, true) {
            let reason = format!("{} requires approval in {}", describe_effect(effect), self.name);
            return opinion(PolicyAnswer::Ask, reason);
        }
        if let Some(answer) = restriction.private_host_answer(subject) {
            let host = &effect.resource;
            return opinion(answer, format!("{host} is a host of this machine or its network"));
        }
        let allowed = restriction.allowed.as_ref()?;
        if allowed.concerns(subject) && !allowed.matches(subject, false) {
            let what = match &effect.resource {
                Resource::Path(path) => format!("Path {}", with_real_path(path, subject.real)),
                Resource::Any => "A target that is only known when it runs".to_owned(),
                other => other.to_string(),
            };
            let verb = effect.scope.verb();
            return opinion(
                restriction.default_answer,
                format!("{what} is outside the allowed {verb} scope of {}", self.name),
            );
        }
        None
    }
}

impl ResourceSelectors {
    /// Whether these selectors apply to this kind of resource.
    fn concerns(&self, subject: &RuleSubject<'_>) -> bool {
        if !self.commands.is_empty() && subject.leaf.is_some() {
            return true;
        }
        match &subject.effect.resource {
            Resource::Path(_) => !self.paths.is_empty(),
            Resource::Host(_) => !self.hosts.is_empty(),
            Resource::Name(_) | Resource::Variable(_) => {
                !self.names.is_empty() || !self.hosts.is_empty()
            }
            Resource::Command(_) | Resource::Script(_) => !self.commands.is_empty(),
            Resource::Any => true,
        }
    }
}

/// Describes an effect in words.
fn describe_effect(effect: &Effect) -> String {
    match effect.resource {
        Resource::Any => format!("{} of a target that is only known when it runs", effect.scope),
        _ => effect.to_string(),
    }
}

/// Returns the stricter of two opinions; the first if they are equal.
pub(crate) fn strictest_opinion(
    a: Option<RuleOpinion>,
    b: Option<RuleOpinion>,
) -> Option<RuleOpinion> {
    match (a, b) {
        (Some(a), Some(b)) if b.answer > a.answer => Some(b),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}
