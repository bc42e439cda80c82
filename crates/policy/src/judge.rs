//! The ruling on one call: a command is split into its parts, every effect is
//! judged at every level, and the strictest answer counts.

mod commands;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{
    CallProposal, Effect, EnvAssignment, Grant, InlineCode, NetworkMode, Resource, Scope,
    ShellScript, Taint, UNRESOLVABLE_PATH_RULE,
};
use hermes_net::{AddressReach, host_reach};
use hermes_shell::{LeafCommand, SYNTAX_ERROR, UNKNOWN_PROGRAM, shared_analysis};

use crate::analyzer::{earlier_source, effect_script};
use crate::approvals::{ApprovalUnit, command_identity};
use crate::cwd_independent::CwdIndependentAnalysis;
use crate::git_history;
use crate::git_push;
use crate::glob_targets::GlobTargets;
use crate::inline_code;
use crate::level::{
    PolicyAnswer, PolicyLevel, RuleOpinion, RuleOrigin, RuleSubject, strictest_opinion,
};
use crate::path_cache::{EffectTarget, PathCache, is_same_spelling};
use crate::pattern::fold_path;
use crate::permissions::PermissionPolicy;
use crate::profile::PermissionProfile;
use crate::sensitive_places::{PlaceProtection, ProtectedKind, SensitivePlaces};
use crate::service_clients::ServiceClients;

/// Category of commands that listen for connections. In their own network
/// namespace, only the session can reach them.
const LISTEN_CATEGORY: &str = "network-listen";

/// One judged effect with its answer.
#[derive(Debug, Clone)]
pub struct PolicyFinding {
    /// The effect that was judged.
    pub effect: Effect,
    /// For a path: the resolved path.
    pub real: Option<PathBuf>,
    /// The simple command that has the effect, as written.
    pub leaf: Option<Arc<str>>,
    /// The answer.
    pub answer: PolicyAnswer,
    /// Why.
    pub reason: String,
    /// The deciding rule; `None` if simply allowed.
    pub origin: Option<Arc<RuleOrigin>>,
    /// Whether nothing can override the answer.
    pub hard: bool,
    /// Whether the answer applies in every profile, even in audit mode.
    pub floor: bool,
    /// What an approval would cover.
    pub unit: Option<ApprovalUnit>,
    /// For a protected place: its kind.
    pub protected: Option<ProtectedKind>,
}

/// A simple command and the command line that it is part of.
#[derive(Clone, Copy)]
struct CommandPart<'a> {
    leaf: &'a LeafCommand,
    text: &'a Arc<str>,
    command: &'a str,
    /// What distinguishes the command line from others.
    identity: &'a str,
    /// Whether its meaning may differ the next time.
    depends_on_cwd: bool,
}

/// Result of examining a call.
#[derive(Debug, Clone, Default)]
pub struct CallExamination {
    /// One entry for each effect and each dangerous command.
    pub findings: Vec<PolicyFinding>,
    /// What the call may touch if it proceeds.
    pub grants: Vec<Grant>,
    /// Effects of the call's commands.
    pub command_effects: Vec<Effect>,
    /// The services that the commands are clients of.
    pub clients: ServiceClients,
    /// Whether the call starts child processes.
    pub spawns: bool,
    /// Whether commands are typed into the child processes later.
    pub accepts_typed_commands: bool,
    /// What the commands copy or move, and where to.
    pub transfers: Vec<hermes_shell::Transfer>,
}

impl CallExamination {
    /// Returns the deciding finding: the strictest, and the first among equals.
    pub fn decisive_finding(&self) -> Option<&PolicyFinding> {
        let strictest = self.findings.iter().map(|finding| finding.answer).max()?;
        self.findings.iter().find(|finding| finding.answer == strictest)
    }

    /// Returns the effects of the commands with resolved paths, changes first.
    pub fn implied_effects(&self) -> Vec<Effect> {
        const MAX_IMPLIED_EFFECTS: usize = 20;
        let of_commands = self.findings.iter().filter(|finding| finding.leaf.is_some());
        let shown = of_commands.filter(|f| f.effect.scope != Scope::TERMINAL_EXECUTE);
        let mut implied: Vec<Effect> = Vec::new();
        for finding in shown {
            let effect = match &finding.real {
                Some(real) => Effect::path(finding.effect.scope.clone(), real),
                None => finding.effect.clone(),
            };
            if !implied.contains(&effect) {
                implied.push(effect);
            }
        }
        implied.sort_by_key(|effect| effect.scope.verb() == "read");
        implied.truncate(MAX_IMPLIED_EFFECTS);
        implied
    }

    /// Returns the protected places that the call names and may touch after an
    /// approval, both as written and resolved.
    pub fn asked_places(&self) -> Vec<PathBuf> {
        let asked = |finding: &&PolicyFinding| {
            finding.answer != PolicyAnswer::Deny
                && finding.protected.is_some_and(|kind| kind.answer() == PolicyAnswer::Ask)
        };
        let findings = self.findings.iter().filter(asked);
        let places = findings.flat_map(|finding| {
            let written = finding.effect.resource.as_path().map(Path::to_path_buf);
            written.into_iter().chain(finding.real.clone())
        });
        let mut places: Vec<PathBuf> = places.collect();
        places.sort();
        places.dedup();
        places
    }

    /// Returns the strictest answer.
    pub fn answer(&self) -> PolicyAnswer {
        self.decisive_finding().map_or(PolicyAnswer::Allow, |finding| finding.answer)
    }
}

impl PermissionPolicy {
    /// Examines a call.
    pub fn examine(&self, proposal: &CallProposal<'_>) -> CallExamination {
        let count = proposal.effects.len();
        // A command reserves space for its own findings.
        let in_parts = |effect: &Effect| effect.scope == Scope::TERMINAL_EXECUTE;
        let plain = if proposal.effects.iter().any(in_parts) { 0 } else { count };
        let mut exam = CallExamination {
            findings: Vec::with_capacity(plain),
            grants: Vec::with_capacity(count),
            ..CallExamination::default()
        };
        let taint = self.taint(proposal);
        for effect in proposal.effects {
            let real = EffectTarget::for_effect(effect);
            // A command is judged by its parts.
            let in_parts = match (effect_script(effect), effect.scope == Scope::TERMINAL_EXECUTE) {
                (Some(script), true) => {
                    self.examine_command(proposal, &script, taint.as_ref(), &mut exam)
                }
                (None, true) => {
                    exam.findings.push(unknown_command_finding(effect));
                    false
                }
                _ => false,
            };
            if !in_parts {
                self.examine_effect(
                    proposal,
                    effect,
                    real.as_ref(),
                    None,
                    taint.as_ref(),
                    &mut exam,
                );
            }
            if effect.scope == Scope::ENV_WRITE {
                self.examine_variable(proposal, effect, taint.as_ref(), &mut exam);
            }
            if effect.scope == Scope::CODE_EXECUTE {
                self.examine_code(proposal, effect, taint.as_ref(), &mut exam);
            }
            let real = real.and_then(Result::ok).map(|place| place.path);
            exam.grants.push(Grant { effect: effect.clone(), real_path: real });
            let runs = [Scope::TERMINAL_EXECUTE, Scope::CODE_EXECUTE].contains(&effect.scope);
            exam.spawns |= runs;
        }
        self.examine_tool(proposal, &mut exam);
        exam
    }

    /// Returns all levels that apply to calls of a tool.
    pub(crate) fn levels(&self, tool: &str, tainted: bool) -> impl Iterator<Item = &PolicyLevel> {
        self.rules().levels(tool, tainted)
    }

    /// Returns the session's taint, if it has read untrusted text and a profile
    /// has rules for that.
    pub(crate) fn taint(&self, proposal: &CallProposal<'_>) -> Option<Taint> {
        if !self.layers().any(|profile| profile.after_untrusted.is_some()) {
            return None;
        }
        // An unreadable session may have read anything.
        let unknown = || Taint { sources: vec!["unknown".to_owned()], ..Taint::default() };
        let taint = Taint::read(proposal.session).unwrap_or_else(|_| unknown());
        taint.is_tainted().then_some(taint)
    }

    /// Returns the answer for dangerous commands. Only the profile itself can
    /// allow them; all other levels can only be stricter.
    fn dangerous_answer(&self, tool: &str, tainted: bool) -> PolicyAnswer {
        let said = |level: &PolicyLevel| {
            let about = level.restrictions.iter();
            let about = about.filter(|r| r.scope.matches(&Scope::TERMINAL_EXECUTE));
            about.filter_map(|r| r.dangerous).max()
        };
        let own = said(&self.profile().level).unwrap_or(PolicyAnswer::Ask);
        self.levels(tool, tainted).filter_map(said).fold(own, PolicyAnswer::max)
    }

    fn examine_effect(
        &self,
        proposal: &CallProposal<'_>,
        effect: &Effect,
        real: Option<&Result<EffectTarget, String>>,
        part: Option<CommandPart<'_>>,
        taint: Option<&Taint>,
        exam: &mut CallExamination,
    ) {
        let (found, trouble) = match real {
            Some(Ok(found)) => (Some(found), None),
            Some(Err(trouble)) => (None, Some(trouble)),
            None => (None, None),
        };
        let real = found.map(|found| found.path.as_path());
        let folded = real.map(fold_path);
        let written = effect.resource.as_path();
        // Most paths are written in resolved form.
        let other =
            written.filter(|written| real.is_none_or(|real| !is_same_spelling(real, written)));
        let other = other.map(fold_path);
        let subject = RuleSubject {
            effect,
            real,
            folded: folded.as_deref().map(|folded| (folded, other.as_deref().unwrap_or(folded))),
            leaf: part.map(|part| part.leaf),
            command: part.map(|part| part.command),
            own_loopback: part.is_some() && self.has_own_loopback(effect),
        };
        let names_only = reads_names_only(proposal, effect);
        let floor = self.floor_opinion(&subject, trouble, found, names_only);
        let is_floor = floor.is_some();
        let (mut opinion, kind) =
            floor.map_or((None, None), |(opinion, kind)| (Some(opinion), kind));
        let levels = !real.is_some_and(SensitivePlaces::is_harmless_device);
        for level in self.levels(proposal.tool, taint.is_some()).filter(|_| levels) {
            opinion = strictest_opinion(opinion, level.judge(&subject));
        }
        if real.is_some_and(|real| git_history::loses_git_history(&subject, real)) {
            let answer = self.dangerous_answer(proposal.tool, taint.is_some());
            opinion =
                strictest_opinion(opinion, git_history::history_loss_opinion(&subject, answer));
        }
        for after in self.layers().filter_map(|profile| profile.after_untrusted.as_ref()) {
            opinion = strictest_opinion(
                opinion,
                taint.and_then(|taint| new_host_opinion(after, effect, taint)),
            );
        }
        let (answer, reason, origin) = match opinion {
            Some(RuleOpinion { answer, reason, origin }) => (answer, reason, Some(origin)),
            None => (PolicyAnswer::Allow, String::new(), None),
        };
        let unit = || match part {
            Some(CommandPart { depends_on_cwd: true, .. }) => None,
            Some(CommandPart { leaf, .. }) if git_push::is_push(effect, leaf) => {
                git_push::push_unit(effect, leaf)
            }
            Some(CommandPart { leaf, identity, .. }) => {
                Some(ApprovalUnit::from_command_effect(effect, real, leaf, identity))
            }
            None if is_inline_code(proposal, effect) => {
                Some(ApprovalUnit::from_code(effect, real, proposal))
            }
            None => Some(ApprovalUnit::from_effect(effect, real)),
        };
        let unit = if answer == PolicyAnswer::Ask { unit() } else { None };
        // Approving a directory does not approve the protected places in it.
        let category = kind.map(|kind: ProtectedKind| kind.category().to_owned());
        let unit =
            unit.map(|unit| ApprovalUnit { category: category.or(unit.category.clone()), ..unit });
        exam.findings.push(PolicyFinding {
            effect: effect.clone(),
            real: real.map(Path::to_path_buf),
            leaf: part.map(|part| Arc::clone(part.text)),
            answer,
            reason,
            origin,
            hard: false,
            floor: is_floor,
            unit,
            protected: kind,
        });
    }

    /// Whether child processes have their own network namespace.
    fn has_own_network(&self) -> bool {
        let sandbox = self.sandbox();
        sandbox.enabled && sandbox.network != NetworkMode::Host
    }

    /// Whether a loopback host is inside the child processes' own network
    /// namespace.
    fn has_own_loopback(&self, effect: &Effect) -> bool {
        let Resource::Host(host) = &effect.resource else { return false };
        host_reach(host) == AddressReach::Loopback && self.has_own_network()
    }

    /// Returns the opinion of the floor, which applies in every profile, and
    /// the kind of a protected place.
    fn floor_opinion(
        &self,
        subject: &RuleSubject<'_>,
        trouble: Option<&String>,
        found: Option<&EffectTarget>,
        names_only: bool,
    ) -> Option<(RuleOpinion, Option<ProtectedKind>)> {
        let effect = subject.effect;
        let refuse = |answer, reason: String, rule: &str| {
            let origin = Arc::new(RuleOrigin { rule: rule.to_owned(), place: None });
            RuleOpinion { answer, reason, origin }
        };
        match &effect.resource {
            Resource::Host(host) if host_reach(host) == AddressReach::Metadata => {
                let reason = format!("{host} hands out the machine's own credentials");
                Some((refuse(PolicyAnswer::Deny, reason, "protected host"), None))
            }
            // For a repository, only changes to its files count; for a file of
            // environment variables, only reading it.
            Resource::Path(path) if !matches!(effect.scope.family(), "git" | "env") => {
                if let Some(trouble) = trouble {
                    let reason = format!("cannot resolve {}: {trouble}", path.display());
                    return Some((
                        refuse(PolicyAnswer::Deny, reason, UNRESOLVABLE_PATH_RULE),
                        None,
                    ));
                }
                let found = found?;
                let protection = self.protection(subject, found)?;
                let kind = protection.kind;
                if names_only && kind == ProtectedKind::Dotenv {
                    return None;
                }
                if kind == ProtectedKind::AutoRun && self.profile().level.approves_place(subject) {
                    return None;
                }
                let mut reason = format!("{} is {}", found.path.display(), protection.reason);
                if kind == ProtectedKind::Dotenv && effect.scope == Scope::FILE_READ {
                    let shown = path.display();
                    reason.push_str(&format!(
                        "; `read_file` with path={shown} and names_only=true shows their names \
                         without approval"
                    ));
                }
                Some((refuse(kind.answer(), reason, kind.rule()), Some(kind)))
            }
            _ => None,
        }
    }

    /// Returns why a place is protected; `None` if it is not, or the profile
    /// opens it.
    fn protection(
        &self,
        subject: &RuleSubject<'_>,
        found: &EffectTarget,
    ) -> Option<PlaceProtection> {
        let scope = &subject.effect.scope;
        let real = found.path.as_path();
        let (folded, written) = subject.folded?;
        if self.profile().sensitive_paths.iter().any(|pattern| pattern.matches(real)) {
            return None;
        }
        let rules = self.rules();
        let by_name = |path: &Path| rules.path_protection(scope, real, path);
        let named = by_name(folded);
        let named = PlaceProtection::strictest(named, || {
            if written == folded { None } else { by_name(written) }
        });
        // A file with several hard links may be a secret under another name.
        let shared = || found.hardlink_id.and_then(|file| rules.file_protection(file));
        let named = PlaceProtection::strictest(named, shared);
        let named = PlaceProtection::strictest(named, || rules.alias_protection(scope, real));
        PlaceProtection::strictest(named, || {
            let removes = *scope == Scope::FILE_DELETE;
            removes.then(|| self.sensitive().removal_protection(real)).flatten()
        })
    }

    /// Judges the tool and its arguments, apart from their effects.
    fn examine_tool(&self, proposal: &CallProposal<'_>, exam: &mut CallExamination) {
        for profile in self.layers() {
            for tool in profile.tools.iter().filter(|tool| tool.tool.matches(proposal.tool)) {
                let effect = Effect::name(Scope::named("tool:call"), proposal.tool);
                let mut add = |answer, reason: String, origin: &Arc<RuleOrigin>| {
                    exam.findings.push(PolicyFinding {
                        effect: effect.clone(),
                        real: None,
                        leaf: None,
                        answer,
                        reason,
                        origin: Some(Arc::clone(origin)),
                        hard: false,
                        floor: false,
                        unit: Some(ApprovalUnit::from_call(proposal)),
                        protected: None,
                    });
                };
                if let Some(origin) = &tool.ask {
                    let reason = format!("Every call of {} requires approval", proposal.tool);
                    add(PolicyAnswer::Ask, reason, origin);
                }
                for rule in &tool.parameters {
                    if let Some((answer, reason)) = rule.judge(proposal) {
                        add(answer, reason, &rule.origin);
                    }
                }
            }
        }
    }
}

fn execute_effect(command: &str) -> Effect {
    let resource = Resource::Command(command.to_owned());
    Effect { scope: Scope::TERMINAL_EXECUTE, resource }
}

/// Creates the finding for a dangerous command. A hard block stays denied.
fn danger_finding(
    found: &hermes_shell::CommandFinding,
    answer: PolicyAnswer,
    effect: &Effect,
    leaf: Option<&LeafCommand>,
    command: &str,
) -> PolicyFinding {
    let hard = found.level == hermes_shell::FindingLevel::Block;
    let answer = if hard { PolicyAnswer::Deny } else { answer };
    let kind = if hard { "hard block" } else { "dangerous command" };
    let origin = RuleOrigin { rule: format!("{kind}: {}", found.category), place: None };
    let unit =
        || ApprovalUnit::from_leaf(&Scope::TERMINAL_EXECUTE, Some(found.category), leaf, command);
    PolicyFinding {
        effect: effect.clone(),
        real: None,
        leaf: leaf.map(|leaf| leaf.text.as_str().into()),
        answer,
        reason: found.reason.clone(),
        origin: Some(Arc::new(origin)),
        hard,
        floor: hard,
        unit: (answer == PolicyAnswer::Ask).then(unit),
        protected: None,
    }
}

fn new_host_opinion(
    after: &crate::profile::AfterUntrustedRules,
    effect: &Effect,
    taint: &Taint,
) -> Option<RuleOpinion> {
    let answer = after.new_hosts?;
    let Resource::Host(host) = &effect.resource else { return None };
    let known = format!("{} {host}", effect.scope);
    if answer == PolicyAnswer::Allow || taint.hosts.contains(&known) {
        return None;
    }
    let source = taint.sources.first().map_or("a tool", String::as_str);
    Some(RuleOpinion {
        answer,
        reason: format!(
            "{host} is new to this session, which has read untrusted content from {source}"
        ),
        origin: Arc::clone(&after.origin),
    })
}

/// Whether an effect on an unknown host is left to the proxy, which judges the
/// connection. It cannot always see that something is published or sent.
fn is_left_to_proxy(effect: &Effect, leaf: &LeafCommand) -> bool {
    let listens = || leaf.findings.iter().any(|found| found.category == LISTEN_CATEGORY);
    effect.resource == Resource::Any
        && (effect.scope == Scope::NETWORK_FETCH
            || effect.scope == Scope::NETWORK_SEND && listens())
}

/// Whether a file is read only for the names of its variables: the tool
/// declares this with a second effect on the same path.
fn reads_names_only(proposal: &CallProposal<'_>, effect: &Effect) -> bool {
    let is_twin = |other: &Effect| {
        other.scope == Scope::ENV_READ
            && other.resource.as_path().is_some()
            && other.resource == effect.resource
    };
    effect.scope == Scope::FILE_READ && proposal.effects.iter().any(is_twin)
}

/// Whether the code is part of the call rather than in a file.
fn is_inline_code(proposal: &CallProposal<'_>, effect: &Effect) -> bool {
    effect.scope == Scope::CODE_EXECUTE && proposal.code.is_some()
}

fn unknown_command_finding(effect: &Effect) -> PolicyFinding {
    let origin = RuleOrigin { rule: "dangerous command: unknown".to_owned(), place: None };
    PolicyFinding {
        effect: effect.clone(),
        real: None,
        leaf: None,
        answer: PolicyAnswer::Ask,
        reason: "The command is only known at run time".to_owned(),
        origin: Some(Arc::new(origin)),
        hard: false,
        floor: false,
        unit: None,
        protected: None,
    }
}
