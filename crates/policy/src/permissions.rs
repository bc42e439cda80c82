//! The policy of a running program: a profile, the rules that narrow it, and
//! the approvals that users gave.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{
    ApprovalScope, CallProposal, Confinement, ConnectionRequest, Effect, Grants, Policy, Resource,
    Ruling, Session, Verdict, approval_excerpt,
};
use parking_lot::Mutex;

use crate::approvals::{ApprovalTicket, ApprovalUnit, SavedRule, SavedRules, TicketStore};
use crate::approved_writes::wider_extent_reason;
use crate::judge::{CallExamination, PolicyFinding};
use crate::level::{PolicyAnswer, with_real_path};
use crate::missing_programs::ProgramLookup;
use crate::pattern::PathVariables;
use crate::profile::{PermissionProfile, SandboxPolicy};
use crate::rules::{RuleExceptions, RuleSet};
use crate::scan_cache::FsScanCache;
use crate::sensitive_places::SensitivePlaces;

/// Whether the rules are enforced or only audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EnforcementMode {
    /// The rules are enforced.
    #[default]
    Enforce,
    /// Only the floor is enforced; other violations are recorded.
    Audit,
}

/// How approval questions are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalMode {
    /// The user answers them.
    #[default]
    Manual,
    /// A model may approve them; the user answers the rest.
    Smart,
    /// They count as approved.
    Off,
}

/// Checks whether the system can enforce a confinement; the error says what is
/// missing.
pub type SandboxCheck = Arc<dyn Fn(&Confinement) -> Result<(), String> + Send + Sync>;

/// Returns the registries of a package manager by its name.
pub type RegistryLookup = Arc<dyn Fn(&str) -> BTreeSet<(String, u16)> + Send + Sync>;

/// Redacts secrets in a text before it is stored.
type RedactFn = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// How permissions are applied.
#[derive(Clone, Default)]
pub struct EnforcementSettings {
    /// Whether the rules are enforced or audited.
    pub mode: EnforcementMode,
    /// How approval questions are answered.
    pub approvals: ApprovalMode,
    /// Checks whether child processes can be confined.
    pub sandbox: Option<SandboxCheck>,
    /// Redacts secrets in stored texts.
    pub redact: Option<RedactFn>,
    /// Hosts and ports that the user's package managers fetch from.
    pub registries: Option<RegistryLookup>,
}

impl fmt::Debug for EnforcementSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnforcementSettings")
            .field("mode", &self.mode)
            .field("approvals", &self.approvals)
            .finish_non_exhaustive()
    }
}

/// Name of the session document with approvals.
const SESSION_DOCUMENT: &str = "approvals";

/// Maximum number of reasons listed in a question.
const MAX_REASONS: usize = 5;

/// The policy of a program.
pub struct PermissionPolicy {
    rules: Arc<RuleSet>,
    settings: EnforcementSettings,
    saved: SavedRules,
    tickets: TicketStore,
    session: Mutex<HashMap<String, Vec<SavedRule>>>,
    scan_cache: FsScanCache,
    programs: Option<ProgramLookup>,
}

impl PermissionPolicy {
    /// Creates a policy from a profile and the profiles that narrow it.
    pub fn new(
        profile: PermissionProfile,
        narrowing: Vec<PermissionProfile>,
        places: PathVariables,
        settings: EnforcementSettings,
        saved: SavedRules,
        tickets: TicketStore,
    ) -> Self {
        let sensitive = SensitivePlaces::new(&places);
        Self {
            rules: Arc::new(RuleSet::new(profile, narrowing, places, sensitive)),
            settings,
            saved,
            tickets,
            session: Mutex::default(),
            scan_cache: FsScanCache::default(),
            programs: None,
        }
    }

    /// Replaces the lookup of programs, for commands that run where this
    /// process cannot look.
    #[must_use]
    pub fn with_programs(self, lookup: ProgramLookup) -> Self {
        Self { programs: Some(lookup), ..self }
    }

    pub(crate) fn program_lookup(&self) -> Option<&ProgramLookup> {
        self.programs.as_ref()
    }

    /// Returns the profile.
    pub fn profile(&self) -> &PermissionProfile {
        &self.rules.profile
    }

    pub(crate) fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Returns the profile, then everything that narrows it.
    pub fn layers(&self) -> impl Iterator<Item = &PermissionProfile> {
        self.rules.layers()
    }

    /// Returns the values of the variables in path patterns.
    pub fn path_variables(&self) -> &PathVariables {
        &self.rules.places
    }

    /// Returns the places that are protected in every profile.
    pub fn sensitive(&self) -> &SensitivePlaces {
        &self.rules.sensitive
    }

    /// Returns the sandbox settings. Narrowing profiles can only tighten them.
    pub fn sandbox(&self) -> SandboxPolicy {
        let mut settings = self.rules.profile.sandbox.clone();
        for other in &self.rules.narrowing {
            other.overrides.tighten(&mut settings);
        }
        settings
    }

    /// Returns how permissions are applied.
    pub fn settings(&self) -> &EnforcementSettings {
        &self.settings
    }

    /// Returns the permanent approvals.
    pub fn saved(&self) -> &SavedRules {
        &self.saved
    }

    /// Returns the questions for which no approver was available.
    pub fn tickets(&self) -> &TicketStore {
        &self.tickets
    }

    pub(crate) fn scan_cache(&self) -> &FsScanCache {
        &self.scan_cache
    }

    /// Examines a call, taking all stored approvals into account.
    pub fn consider(&self, proposal: &CallProposal<'_>) -> (CallExamination, Option<Confinement>) {
        let mut exam = self.examine(proposal);
        let mut confinement = self.confine(proposal, &exam);
        if let (Some(confinement), Some(check)) = (&mut confinement, &self.settings.sandbox)
            && let Err(lacking) = check(confinement)
        {
            let answer = self.sandbox().missing;
            // Approving the call includes the reduced confinement of this
            // system.
            confinement.reduced |= answer == PolicyAnswer::Ask;
            exam.findings.push(unconfined_finding(&exam, &lacking, answer));
        }
        exam.findings
            .extend(confinement.as_ref().and_then(|it| detached_finding(proposal, &exam, it)));
        for finding in exam.findings.iter_mut().filter(|it| it.answer == PolicyAnswer::Ask) {
            if self.was_answered(finding, proposal.session) {
                finding.answer = PolicyAnswer::Allow;
            } else if let Some(more) =
                wider_extent_reason(finding, &exam.transfers, confinement.as_ref())
            {
                finding.reason.push_str(&more);
            }
        }
        (exam, confinement)
    }

    fn was_answered(&self, finding: &PolicyFinding, session: &Session) -> bool {
        let Some(unit) = &finding.unit else { return false };
        self.saved.covers(&self.rules.profile.name, unit)
            || self.with_session_rules(session, |kept| {
                kept.iter().any(|rule| self.rule_covers(rule, unit))
            })
    }

    /// Whether a rule of this profile covers the unit.
    fn rule_covers(&self, rule: &SavedRule, unit: &ApprovalUnit) -> bool {
        rule.profile == self.rules.profile.name && rule.unit.covers(unit)
    }

    fn with_session_rules<T>(
        &self,
        session: &Session,
        look: impl FnOnce(&mut Vec<SavedRule>) -> T,
    ) -> T {
        let mut sessions = self.session.lock();
        let kept = sessions.entry(session.id().to_owned()).or_insert_with(|| {
            // An unreadable document contains no approvals.
            session.read::<Vec<SavedRule>>(SESSION_DOCUMENT).unwrap_or_default()
        });
        look(kept)
    }

    /// Returns the verdict that results from the findings.
    pub fn verdict(&self, exam: &CallExamination) -> Verdict {
        findings_verdict(exam.findings.iter())
    }

    /// Returns the units that an "always" answer would save.
    fn approval_units(
        &self,
        proposal: &CallProposal<'_>,
        exam: &CallExamination,
    ) -> Vec<ApprovalUnit> {
        let asked = exam.findings.iter().filter(|finding| finding.answer == PolicyAnswer::Ask);
        let mut units: Vec<ApprovalUnit> = Vec::new();
        for unit in asked.filter_map(|finding| finding.unit.clone()) {
            let unit = unit.widened(&self.rules.places);
            let shown = unit.to_string();
            // A rule that contains a secret is never saved.
            if self.redacted(&shown) != shown {
                continue;
            }
            if !units.iter().any(|known| known.covers(&unit)) {
                let text = unit.exact.as_ref().and_then(|_| command_or_code(proposal));
                let text = text.map(|text| shorten_command(&self.redacted(&text)));
                units.push(ApprovalUnit { text, ..unit });
            }
        }
        units
    }

    /// Returns the fingerprint of a call, including the real paths that it
    /// touches: an approval must not be redirected elsewhere.
    fn fingerprint(&self, proposal: &CallProposal<'_>) -> String {
        let exam = self.examine(proposal);
        let granted = exam.grants.iter().filter_map(|grant| grant.real_path.clone());
        let touched = exam.command_effects.iter().filter_map(|effect| effect.resource.as_path());
        let touched =
            touched.map(|path| hermes_files::real_path(path).unwrap_or_else(|_| path.to_owned()));
        let places: Vec<_> = granted.chain(touched).collect();
        crate::approvals::call_fingerprint(&self.rules.profile.name, proposal, &places)
    }

    /// Returns the grants of a call. A directory grant excludes paths that the
    /// rules would not allow individually.
    fn bounded_grants(&self, proposal: &CallProposal<'_>, exam: CallExamination) -> Grants {
        // Approving a directory approves its contents.
        let agreed = exam.findings.iter().any(|finding| finding.unit.is_some());
        let tolerated = match (self.settings.mode, agreed) {
            (EnforcementMode::Audit, _) => PolicyAnswer::Deny,
            (EnforcementMode::Enforce, true) => PolicyAnswer::Ask,
            (EnforcementMode::Enforce, false) => PolicyAnswer::Allow,
        };
        let about_files = exam.grants.iter().any(|grant| grant.effect.scope.family() == "file");
        if !about_files {
            return Grants::new(exam.grants);
        }
        let tainted = self.taint(proposal).is_some();
        let judged = exam.grants.iter().filter_map(|grant| grant.real_path.clone()).collect();
        let closed =
            RuleExceptions::new(Arc::clone(&self.rules), proposal.tool, tainted, tolerated)
                .excluding(judged)
                .auto_approved(self.settings.approvals == ApprovalMode::Off);
        Grants::new(exam.grants).with_exceptions(Arc::new(closed))
    }

    fn redacted(&self, text: &str) -> String {
        self.settings.redact.as_ref().map_or_else(|| text.to_owned(), |redact| redact(text))
    }
}

impl Policy for PermissionPolicy {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let (exam, confinement) = self.consider(proposal);
        let whole = self.verdict(&exam);
        // Audit mode does not lift the floor.
        let floor = findings_verdict(exam.findings.iter().filter(|finding| finding.floor));
        let offers = self
            .approval_units(proposal, &exam)
            .iter()
            .map(|unit| self.redacted(&unit.to_string()))
            .collect();
        let enforced = match self.settings.mode {
            EnforcementMode::Enforce => whole.clone(),
            EnforcementMode::Audit => floor,
        };
        let enforced = match (self.settings.approvals, enforced) {
            (ApprovalMode::Off, Verdict::Ask { .. }) => Verdict::Allow,
            (_, enforced) => enforced,
        };
        let is_watched = enforced == Verdict::Allow && whole != Verdict::Allow;
        let (verdict, watched) = (enforced, is_watched.then_some(whole));
        Ruling {
            verdict,
            implied_effects: exam.implied_effects(),
            grants: self.bounded_grants(proposal, exam),
            confinement: confinement.map(Arc::new),
            offered_rules: offers,
            audit_verdict: watched,
            profile: Some(self.rules.profile.name.as_str().into()),
        }
    }

    fn connection_effect(&self, request: &ConnectionRequest) -> Effect {
        self.classify_connection(request)
    }

    fn permits_connection(&self, request: &ConnectionRequest, tool: &str) -> bool {
        self.is_settled_connection(request, tool)
    }

    fn redeem_ticket(&self, proposal: &CallProposal<'_>) -> bool {
        self.tickets.redeem(&self.fingerprint(proposal))
    }

    fn issue_ticket(&self, proposal: &CallProposal<'_>, reason: &str) -> Option<String> {
        let exam = self.examine(proposal);
        let implied = exam.implied_effects();
        let effects =
            exam.grants.iter().take(20).map(|grant| match grant.effect.resource.as_path() {
                Some(path) => {
                    let shown = with_real_path(path, grant.real_path.as_deref());
                    format!("{} {}", grant.effect.scope, shown.trim_end_matches(','))
                }
                None => grant.effect.to_string(),
            });
        let effects = effects.chain(implied.iter().map(ToString::to_string));
        // The effects mean little without the code that causes them.
        let code = proposal.code.map(|code| code.text);
        let effects = effects.chain(code.map(|code| format!("code {}", approval_excerpt(code))));
        let call = self.fingerprint(proposal);
        self.tickets.issue(ApprovalTicket {
            token: TicketStore::token(&call),
            call,
            tool: proposal.tool.to_owned(),
            effects: effects.map(|effect| self.redacted(&effect)).collect(),
            reason: self.redacted(reason),
            profile: self.rules.profile.name.clone(),
            folder: working_dir(proposal).display().to_string(),
            asked_ms: hermes_core::clock::unix_millis(),
            granted_ms: None,
        })
    }

    fn remember_approval(
        &self,
        proposal: &CallProposal<'_>,
        lasting: ApprovalScope,
    ) -> Result<(), String> {
        let (exam, _) = self.consider(proposal);
        let units = self.approval_units(proposal, &exam);
        match lasting {
            ApprovalScope::Once => Ok(()),
            ApprovalScope::Always => self.saved.add(&self.rules.profile.name, units),
            ApprovalScope::Session => {
                let profile = &self.rules.profile.name;
                let rule = |unit| SavedRule { profile: profile.clone(), unit };
                let new: Vec<SavedRule> = units.into_iter().map(rule).collect();
                self.with_session_rules(proposal.session, |kept| kept.extend(new.iter().cloned()));
                let add = |document: &mut Vec<SavedRule>| document.extend(new);
                proposal.session.update(SESSION_DOCUMENT, add).map_err(|error| error.to_string())
            }
        }
    }
}

impl fmt::Debug for PermissionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionPolicy")
            .field("profile", &self.rules.profile.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Returns the verdict of the strictest finding.
fn findings_verdict<'a>(findings: impl Iterator<Item = &'a PolicyFinding> + Clone) -> Verdict {
    let strictest = findings.clone().map(|finding| finding.answer).max();
    let mut decisive = findings.filter(|finding| Some(finding.answer) == strictest);
    match strictest {
        None | Some(PolicyAnswer::Allow) => Verdict::Allow,
        Some(PolicyAnswer::Deny) => match decisive.next() {
            Some(first) => {
                Verdict::Deny { reason: finding_reason(first), rule: rule_with_place(first) }
            }
            None => Verdict::Allow,
        },
        Some(PolicyAnswer::Ask) => {
            let asked: Vec<&PolicyFinding> = decisive.collect();
            let (reasons, rules) = (
                asked.iter().map(|it| finding_reason(it)),
                asked.iter().map(|it| rule_with_place(it)),
            );
            Verdict::Ask { reason: join(reasons), rule: join(rules) }
        }
    }
}

/// Returns the directory in which the call's commands run.
pub(crate) fn working_dir<'a>(proposal: &CallProposal<'a>) -> &'a Path {
    let own = proposal.effects.iter().find_map(|effect| match &effect.resource {
        Resource::Script(script) => script.cwd.as_deref(),
        _ => None,
    });
    own.unwrap_or_else(|| proposal.working_dir.cwd())
}

/// Returns the command or the code of a call on one line.
fn command_or_code(proposal: &CallProposal<'_>) -> Option<String> {
    let command = proposal.effects.iter().find_map(|effect| match &effect.resource {
        command @ (Resource::Command(_) | Resource::Script(_)) => Some(command.as_text()),
        _ => None,
    });
    let code = || proposal.code.map(|code| code.text.into());
    let text = command.or_else(code)?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Creates the finding for a call whose child processes cannot be confined.
fn unconfined_finding(
    exam: &CallExamination,
    lacking: &str,
    answer: PolicyAnswer,
) -> PolicyFinding {
    let runs = |finding: &&PolicyFinding| finding.effect.scope.verb() == "execute";
    let effect = exam.findings.iter().find(runs).map(|finding| finding.effect.clone());
    PolicyFinding {
        effect: effect
            .unwrap_or_else(|| hermes_core::Effect::any(hermes_core::Scope::TERMINAL_EXECUTE)),
        real: None,
        leaf: None,
        answer,
        reason: format!("The child processes cannot be confined on this system: {lacking}"),
        origin: Some(Arc::new(crate::level::RuleOrigin {
            rule: "sandbox: missing".to_owned(),
            place: None,
        })),
        hard: false,
        floor: false,
        unit: None,
        protected: None,
    }
}

/// Creates the finding for a program that outlives hermes and could create a
/// quarantined path, which only a running hermes prevents.
fn detached_finding(
    proposal: &CallProposal<'_>,
    exam: &CallExamination,
    confinement: &Confinement,
) -> Option<PolicyFinding> {
    let detaches =
        |effect: &Effect| matches!(&effect.resource, Resource::Script(script) if script.detaches);
    let is_pointer = |path: &&PathBuf| path.ends_with("commondir");
    let place = confinement.quarantined.iter().find(|path| !is_pointer(path))?;
    if !proposal.effects.iter().any(detaches) || !exam.clients.runs_untrusted_code() {
        return None;
    }
    let reason = format!(
        "The process would outlive hermes, which then cannot prevent the creation of {}",
        place.display()
    );
    let finding = unconfined_finding(exam, "", PolicyAnswer::Ask);
    let origin = crate::level::RuleOrigin { rule: "sandbox: detached".to_owned(), place: None };
    Some(PolicyFinding { reason, origin: Some(Arc::new(origin)), ..finding })
}

fn finding_reason(finding: &PolicyFinding) -> String {
    match &finding.leaf {
        Some(leaf) if !finding.reason.contains(&**leaf) => {
            format!("{}: {}", shorten_command(leaf), finding.reason)
        }
        _ => finding.reason.clone(),
    }
}

fn shorten_command(leaf: &str) -> String {
    const MAX_CHARS: usize = 80;
    match leaf.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", leaf.get(..end).unwrap_or(leaf)),
        None => leaf.to_owned(),
    }
}

/// Formats the rule with its file and line.
fn rule_with_place(finding: &PolicyFinding) -> String {
    let Some(origin) = &finding.origin else { return String::new() };
    match &origin.place {
        Some(place) => format!("{} ({}:{})", origin.rule, place.file.display(), place.line),
        None => origin.rule.clone(),
    }
}

fn join(texts: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !text.is_empty() && !seen.contains(&text) {
            seen.push(text);
        }
    }
    let more = seen.len().saturating_sub(MAX_REASONS);
    seen.truncate(MAX_REASONS);
    let joined = seen.join("; ");
    if more > 0 { format!("{joined}; and {more} more") } else { joined }
}
