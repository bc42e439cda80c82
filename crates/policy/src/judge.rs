//! The ruling on one call: every effect is heard at every level, a command
//! is taken apart first, and the strictest answer counts.

mod commands;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{
    CallProposal, Effect, Grant, NetworkMode, Resource, Scope, Taint, UNRESOLVABLE_PATH_RULE,
};
use hermes_net::{AddressReach, host_reach};
use hermes_shell::{CommandAnalysis, LeafCommand, SYNTAX_ERROR, UNKNOWN_PROGRAM};

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

/// The category of commands that wait for connections. In a network of their
/// own, nobody but the session reaches them.
const LISTEN_CATEGORY: &str = "network-listen";

/// One thing that was judged, and what came of it.
#[derive(Debug, Clone)]
pub struct PolicyFinding {
    /// The effect that was judged.
    pub effect: Effect,
    /// For a path: where it really is.
    pub real: Option<PathBuf>,
    /// The simple command that has it, as it was written.
    pub leaf: Option<Arc<str>>,
    /// The answer.
    pub answer: PolicyAnswer,
    /// Why.
    pub reason: String,
    /// By which rule; nothing for what is simply allowed.
    pub origin: Option<Arc<RuleOrigin>>,
    /// Whether nothing may override it.
    pub hard: bool,
    /// Whether it holds in every profile, also while rules are only watched.
    pub floor: bool,
    /// What an approval would be about.
    pub unit: Option<ApprovalUnit>,
    /// Of a protected place: its kind.
    pub protected: Option<ProtectedKind>,
}

/// A simple command, and the whole one that it is part of.
#[derive(Clone, Copy)]
struct CommandPart<'a> {
    leaf: &'a LeafCommand,
    text: &'a Arc<str>,
    command: &'a str,
    /// What sets the whole one apart from others.
    identity: &'a str,
    /// Whether it is not known what it would be about another time.
    depends_on_cwd: bool,
}

/// Everything that was found out about a call.
#[derive(Debug, Clone, Default)]
pub struct CallExamination {
    /// One entry for each effect and each dangerous command.
    pub findings: Vec<PolicyFinding>,
    /// What the call may touch if it goes on.
    pub grants: Vec<Grant>,
    /// Effects of the commands in it.
    pub command_effects: Vec<Effect>,
    /// Which services they are clients of.
    pub clients: ServiceClients,
    /// Whether it starts child processes.
    pub spawns: bool,
    /// Whether commands are typed into them later.
    pub accepts_typed_commands: bool,
    /// What its commands put somewhere.
    pub transfers: Vec<hermes_shell::Transfer>,
}

impl CallExamination {
    /// The finding that decides: the strictest, the first of equals.
    pub fn decisive_finding(&self) -> Option<&PolicyFinding> {
        let strictest = self.findings.iter().map(|finding| finding.answer).max()?;
        self.findings.iter().find(|finding| finding.answer == strictest)
    }

    /// What its commands do, at the real places, first what changes something.
    pub fn implied_effects(&self) -> Vec<Effect> {
        const MAX_IMPLIED_EFFECTS: usize = 20;
        let of_commands = self.findings.iter().filter(|finding| finding.leaf.is_some());
        let told = of_commands.filter(|f| f.effect.scope != Scope::TERMINAL_EXECUTE);
        let mut implied: Vec<Effect> = Vec::new();
        for finding in told {
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

    /// The protected places that the call names and may touch once somebody has
    /// agreed: as they are written, and where they really are.
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

    /// The strictest answer.
    pub fn answer(&self) -> PolicyAnswer {
        self.decisive_finding().map_or(PolicyAnswer::Allow, |finding| finding.answer)
    }
}

impl PermissionPolicy {
    /// Finds out everything about a call.
    pub fn examine(&self, proposal: &CallProposal<'_>) -> CallExamination {
        let count = proposal.effects.len();
        // A command makes room for what is in it itself.
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
            // A command is judged by its parts, each for itself.
            let in_parts = match (&effect.resource, effect.scope == Scope::TERMINAL_EXECUTE) {
                (command @ (Resource::Command(_) | Resource::Script(_)), true) => {
                    self.examine_command(proposal, command, taint.as_ref(), &mut exam)
                }
                (_, true) => {
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

    /// Everybody who has a say in the calls of a tool.
    pub(crate) fn levels(&self, tool: &str, tainted: bool) -> impl Iterator<Item = &PolicyLevel> {
        self.rules().levels(tool, tainted)
    }

    /// What the session has read, if some profile cares and it was untrusted.
    pub(crate) fn taint(&self, proposal: &CallProposal<'_>) -> Option<Taint> {
        if !self.layers().any(|profile| profile.after_untrusted.is_some()) {
            return None;
        }
        // A session that cannot be read may have seen anything.
        let unknown = || Taint { sources: vec!["unknown".to_owned()], ..Taint::default() };
        let taint = Taint::read(proposal.session).unwrap_or_else(|_| unknown());
        taint.is_tainted().then_some(taint)
    }

    /// What becomes of dangerous commands here. Only the profile itself can
    /// let them through; all others can at most be stricter.
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
        // Most paths are what they say.
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
        // An agreement to a folder is none to the protected places in it.
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

    /// Whether child processes have a network of their own.
    fn has_own_network(&self) -> bool {
        let sandbox = self.sandbox();
        sandbox.enabled && sandbox.network != NetworkMode::Host
    }

    /// Whether a host of this machine is, for child processes, one of their own
    /// network.
    fn has_own_loopback(&self, effect: &Effect) -> bool {
        let Resource::Host(host) = &effect.resource else { return false };
        host_reach(host) == AddressReach::Loopback && self.has_own_network()
    }

    /// What holds whatever the profile says, and of a protected place its kind.
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
            // Of a repository, only what is done to its files counts; of a file
            // of variables, that it is read.
            Resource::Path(path) if !matches!(effect.scope.family(), "git" | "env") => {
                if let Some(trouble) = trouble {
                    let reason = format!("{} cannot be looked up: {trouble}", path.display());
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
                         without a question"
                    ));
                }
                Some((refuse(kind.answer(), reason, kind.rule()), Some(kind)))
            }
            _ => None,
        }
    }

    /// Why a place is protected, if it is and no profile lays it open.
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
        // A file with several names may be one of the secrets under another.
        let shared = || found.hardlink_id.and_then(|file| rules.file_protection(file));
        let named = PlaceProtection::strictest(named, shared);
        let named = PlaceProtection::strictest(named, || rules.alias_protection(scope, real));
        PlaceProtection::strictest(named, || {
            let removes = *scope == Scope::FILE_DELETE;
            removes.then(|| self.sensitive().removal_protection(real)).flatten()
        })
    }

    /// What is said of the tool and its arguments, beside their effects.
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
                    let reason = format!("Every call of {} needs an approval", proposal.tool);
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

/// What a dangerous command comes to. A hard block stays one.
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

/// Whether an effect on a host that is not known yet is for those who see the
/// connection. That something is published or sent, they do not always see.
fn is_left_to_proxy(effect: &Effect, leaf: &LeafCommand) -> bool {
    let listens = || leaf.findings.iter().any(|found| found.category == LISTEN_CATEGORY);
    effect.resource == Resource::Any
        && (effect.scope == Scope::NETWORK_FETCH
            || effect.scope == Scope::NETWORK_SEND && listens())
}

/// Whether a file is read for the names of its variables alone: the tool says
/// so by a second effect on the same path.
fn reads_names_only(proposal: &CallProposal<'_>, effect: &Effect) -> bool {
    let is_twin = |other: &Effect| {
        other.scope == Scope::ENV_READ
            && other.resource.as_path().is_some()
            && other.resource == effect.resource
    };
    effect.scope == Scope::FILE_READ && proposal.effects.iter().any(is_twin)
}

/// Whether the code that is run stands in the call, and not in a file.
fn is_inline_code(proposal: &CallProposal<'_>, effect: &Effect) -> bool {
    effect.scope == Scope::CODE_EXECUTE && proposal.arguments.get("code").is_some()
}

fn unknown_command_finding(effect: &Effect) -> PolicyFinding {
    let origin = RuleOrigin { rule: "dangerous command: unknown".to_owned(), place: None };
    PolicyFinding {
        effect: effect.clone(),
        real: None,
        leaf: None,
        answer: PolicyAnswer::Ask,
        reason: "The command is only known when it runs".to_owned(),
        origin: Some(Arc::new(origin)),
        hard: false,
        floor: false,
        unit: None,
        protected: None,
    }
}

/// What the shell that lasts, and is meant, was told before that it still knows;
/// none if it cannot be read. The tool that has it writes it down.
fn persistent_shell_history(proposal: &CallProposal<'_>) -> Option<String> {
    #[derive(Default, serde::Deserialize)]
    struct ReplShellRecord {
        process: u32,
        told: Vec<String>,
    }
    let mut known: BTreeMap<String, ReplShellRecord> = proposal.session.read("repl").ok()?;
    let found = proposal.effects.iter().find_map(|effect| match &effect.resource {
        Resource::Name(name) if effect.scope == Scope::PROCESS_MANAGE => known.remove(name),
        _ => None,
    });
    // A shell lives no longer than its program.
    let own = found.filter(|shell| shell.process == std::process::id());
    Some(own.map(|shell| shell.told.join("\n")).unwrap_or_default())
}

/// What the session's shell remembers of earlier commands, as text; none if it
/// cannot be read.
fn session_shell_history(proposal: &CallProposal<'_>) -> Option<String> {
    #[derive(Default, serde::Deserialize)]
    struct SessionShellRecord {
        #[serde(default)]
        text: String,
    }
    Some(proposal.session.read::<SessionShellRecord>("shell").ok()?.text)
}
