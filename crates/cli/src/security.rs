//! Builds the permission policy, the approver and redaction from the settings.

use std::path::Path;
use std::sync::Arc;

use hermes::SecretsProvider;
use hermes::core::{Approver, NetworkMode};
use hermes::engine::{SecretSource, ToolEntry};
use hermes::policy::{
    ApprovalMode, EnforcementMode, EnforcementSettings, MissingSandbox, PermissionPolicy,
    PolicyError, PolicySources, SandboxDefaults, SavedRules, SmartApprover, TicketStore,
};
use hermes_config::{HermesHome, ResolvedConfig, vars};

use serde_json::{Map, Value, json};

use crate::app::{AppContext, AppServices, PolicyInputs};
use crate::args::{CallOptions, ProfileOptions};
use crate::auxiliary_model::AuxiliaryModel;
use crate::command_error::CommandError;
use crate::mode::AgentMode;
use crate::reduced_sandbox::ReducedSandboxApprover;
use crate::stderr_approver::StderrApprover;

impl From<PolicyError> for CommandError {
    fn from(error: PolicyError) -> Self {
        let failure = CommandError::usage(error.to_string());
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure.hint(
                "Fix the file or move it away; until then calls it might restrict do not run.",
            ),
        }
    }
}

impl AppContext {
    /// Redacts secrets in an error; its text may quote user input.
    pub(crate) fn without_secrets(&self, failure: CommandError) -> CommandError {
        let Ok(home) = self.home() else { return failure };
        let redactor = SecretsProvider::new(&home).redactor();
        let clean = |text: String| redactor.redact(&text).into_owned();
        CommandError { message: clean(failure.message), hint: failure.hint.map(clean), ..failure }
    }

    /// Loads the files with permission profiles.
    pub(crate) fn policy_sources(
        &self,
        home: &HermesHome,
        options: &ProfileOptions,
        workspace: &Path,
    ) -> Result<PolicySources, CommandError> {
        let own = match &options.permissions {
            Some(file) if !file.exists() => {
                return Err(CommandError::usage(format!(
                    "--permissions {}: no such file",
                    file.display()
                ))
                .hint("Pass a YAML file with permission profiles."));
            }
            Some(file) => file.clone(),
            None => home.permissions_file(),
        };
        let places = hermes::path_variables(home, workspace);
        let project = hermes::project_policy_file(&places);
        Ok(PolicySources::load(&own, project.as_deref(), places)?)
    }

    /// Adds the restrictions from the settings, the environment and the mode.
    fn restrict_sources(
        &self,
        sources: &mut PolicySources,
        config: &ResolvedConfig,
        mode: AgentMode,
        tools: &[Arc<ToolEntry>],
    ) -> Result<(), CommandError> {
        let deny = &config.settings.approvals.deny;
        if !deny.is_empty() {
            let rule = json!({ "scope": "terminal:execute", "commands": deny });
            let rules = json!({ "global": { "deny": [rule] } });
            sources.add_global_rules("approvals.deny in config.yaml", &rules.to_string())?;
        }
        if let Some(roots) = self.env.text(&vars::HERMES_WRITE_SAFE_ROOT) {
            let trees = roots.split(':').filter(|root| !root.is_empty());
            let trees: Vec<String> =
                trees.map(|root| format!("{}/**", root.trim_end_matches('/'))).collect();
            let only = json!({ "allowed_paths": trees });
            let rules = json!({ "file:write": only, "file:delete": only });
            let rules = json!({ "global": { "restrictions": rules } });
            sources.add_global_rules("HERMES_WRITE_SAFE_ROOT", &rules.to_string())?;
        }
        if let Some(rules) = mode.rules(tools.iter().map(|entry| &**entry)) {
            sources.add_global_rules(&mode.label(), &rules.to_string())?;
        }
        Ok(())
    }

    /// Returns the name of the selected profile.
    pub(crate) fn profile_name(&self, config: &ResolvedConfig, options: &ProfileOptions) -> String {
        let chosen = options.profile.clone();
        let chosen = chosen.or_else(|| config.settings.permissions.profile.clone());
        chosen.unwrap_or_else(|| hermes::DEFAULT_PROFILE.to_owned())
    }

    /// Returns the permission policy for this command's calls. Without a mode,
    /// the settings decide.
    pub(crate) fn permissions(
        &self,
        ready: &AppServices,
        options: &ProfileOptions,
        workspace: &Path,
        mode: Option<AgentMode>,
    ) -> Result<Arc<PermissionPolicy>, CommandError> {
        self.permissions_from(&ready.policy_inputs(), options, workspace, mode)
    }

    /// Like [`permissions`](Self::permissions), for callers without
    /// [`AppServices`].
    pub(crate) fn permissions_from(
        &self,
        ready: &PolicyInputs,
        options: &ProfileOptions,
        workspace: &Path,
        chosen: Option<AgentMode>,
    ) -> Result<Arc<PermissionPolicy>, CommandError> {
        let mut sources = self.policy_sources(&ready.home, options, workspace)?;
        let snapshot = ready.engine.snapshot();
        let entries = snapshot.entries();
        let tools: Vec<&str> = entries.iter().map(|entry| entry.name()).collect();
        sources.check_tools(&tools, |tool| {
            let schema = snapshot.get(tool).map(|entry| entry.schema().raw());
            let properties = schema.and_then(|schema| schema.get("properties"));
            properties.and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect()
        })?;
        self.restrict_sources(&mut sources, &ready.config, chosen.unwrap_or_default(), &entries)?;
        let approvals = self.effective_approvals(&ready.config, chosen);
        let mut defaults = sandbox_defaults(&ready.config);
        // Asks before refusing a call when the user is present.
        if approvals == ApprovalMode::Off || self.is_interactive() {
            defaults.missing = defaults.missing.or(Some(MissingSandbox::Ask));
        }
        sources.set_sandbox_defaults(defaults);
        let name = self.profile_name(&ready.config, options);
        let keeper = Arc::clone(&ready.secrets);
        let settings = EnforcementSettings {
            mode: enforcement_mode(&ready.config),
            approvals,
            sandbox: Some(Arc::new(hermes::sandbox_support::can_enforce)),
            redact: Some(Arc::new(move |text| keeper.redactor().redact(text).into_owned())),
            registries: Some(hermes::registry_lookup(&ready.home)),
        };
        let saved = SavedRules::load(ready.home.saved_rules_file()).map_err(|problem| {
            CommandError::usage(problem).hint("Fix the file or move it away.")
        })?;
        let tickets = TicketStore::new(ready.home.tickets_dir());
        Ok(Arc::new(sources.permissions(&name, settings, saved, tickets)?))
    }

    /// Returns the effective mode: the chosen one, or the one that the settings
    /// amount to.
    pub(crate) fn effective_mode(
        &self,
        config: &ResolvedConfig,
        chosen: Option<AgentMode>,
    ) -> AgentMode {
        match self.effective_approvals(config, chosen) {
            ApprovalMode::Off => AgentMode::Yolo,
            _ => chosen.filter(|mode| *mode != AgentMode::Yolo).unwrap_or_default(),
        }
    }

    fn effective_approvals(
        &self,
        config: &ResolvedConfig,
        chosen: Option<AgentMode>,
    ) -> ApprovalMode {
        // A scheduled task has no user who could have chosen automatic
        // approval.
        if std::env::var_os("HERMES_CRON_RUN").is_some() {
            return ApprovalMode::Manual;
        }
        let configured = self.configured_approvals(config);
        chosen.map_or(configured, |mode| mode.approvals(configured))
    }

    /// Reads `HERMES_YOLO` as it was at startup.
    fn configured_approvals(&self, config: &ResolvedConfig) -> ApprovalMode {
        let yolo = self.env.text(&vars::HERMES_YOLO);
        if yolo.is_some_and(|value| matches!(value.as_str(), "1" | "true" | "yes" | "on")) {
            return ApprovalMode::Off;
        }
        match config.settings.approvals.mode.as_str() {
            "smart" => ApprovalMode::Smart,
            "off" => ApprovalMode::Off,
            _ => ApprovalMode::Manual,
        }
    }

    /// Returns the approver: the user at the terminal, if present, after an
    /// approval model, if configured.
    pub(crate) fn approver(
        &self,
        ready: &AppServices,
        options: &CallOptions,
        stdin_is_taken: bool,
        has_session: bool,
    ) -> Option<Arc<dyn Approver>> {
        let is_there = self.is_interactive() && !stdin_is_taken;
        let person = is_there.then(|| {
            Arc::new(StderrApprover::new(self.terminal, has_session)) as Arc<dyn Approver>
        });
        self.with_reviewer(ready, options.mode.chosen(), person)
    }

    /// Puts the approval model, if configured, before this approver.
    pub(crate) fn with_reviewer(
        &self,
        ready: &AppServices,
        mode: Option<AgentMode>,
        person: Option<Arc<dyn Approver>>,
    ) -> Option<Arc<dyn Approver>> {
        let approver = match self.effective_approvals(&ready.config, mode) {
            ApprovalMode::Smart => {
                let helper = AuxiliaryModel::new(ready.models.clone(), &ready.config, "approval");
                Arc::new(SmartApprover::new(Arc::new(helper), person))
            }
            _ => person?,
        };
        Some(Arc::new(ReducedSandboxApprover::new(self, ready, approver)))
    }

    /// Whether a user is at this terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        use std::io::IsTerminal as _;
        std::io::stdin().is_terminal() && self.terminal.stderr_is_person
    }
}

/// Returns the sandbox settings, which apply under every profile.
fn sandbox_defaults(config: &ResolvedConfig) -> SandboxDefaults {
    let said = &config.settings.sandbox;
    let missing = said.missing.as_deref().map(|word| match word {
        "ask" => MissingSandbox::Ask,
        "reduced" => MissingSandbox::Reduced,
        _ => MissingSandbox::Refuse,
    });
    let modes = [NetworkMode::Off, NetworkMode::Isolated, NetworkMode::Host];
    let network = said.network.as_deref();
    let network = network.and_then(|word| modes.into_iter().find(|mode| mode.name() == word));
    SandboxDefaults { missing, network, host_ports: said.host_ports.clone() }
}

fn enforcement_mode(config: &ResolvedConfig) -> EnforcementMode {
    match config.settings.permissions.mode.as_str() {
        "audit" => EnforcementMode::Audit,
        _ => EnforcementMode::Enforce,
    }
}
