//! How permission, approval and secrecy are put together for this program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hermes::core::{Approver, NetworkMode, SessionError, SessionStore};
use hermes::engine::{SecretSource, ToolEntry};
use hermes::policy::{
    ApprovalMode, EnforcementMode, EnforcementSettings, MissingSandbox, PathVariables,
    PermissionPolicy, PolicyError, PolicySources, RegistryLookup, SandboxDefaults, SavedRules,
    SmartApprover, TicketStore,
};
use hermes::secrets::{Redactor, Secret, Vault, is_secret};
use hermes_config::{HermesHome, ResolvedConfig, vars};
use hermes_exec::network::registries::UserRegistries;
use parking_lot::{Mutex, RwLock};
use serde_json::{Map, Value, json};

use crate::app::{AppContext, AppServices, PolicyInputs};
use crate::args::{CallOptions, ProfileOptions};
use crate::auxiliary_model::AuxiliaryModel;
use crate::command_error::CommandError;
use crate::mode::AgentMode;
use crate::reduced_sandbox::ReducedSandboxApprover;
use crate::sandbox_support;
use crate::stderr_approver::StderrApprover;

/// The profile of somebody who has chosen none.
const DEFAULT_PROFILE: &str = "default";

impl From<PolicyError> for CommandError {
    fn from(error: PolicyError) -> Self {
        let failure = CommandError::usage(error.to_string());
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure.hint(
                "Mend the file or move it away; until then nothing runs that it might restrict.",
            ),
        }
    }
}

impl AppContext {
    /// The failure as it may be shown: what was typed may hold a secret.
    pub(crate) fn without_secrets(&self, failure: CommandError) -> CommandError {
        let Ok(home) = self.home() else { return failure };
        let redactor = SecretsProvider::new(&home).redactor();
        let clean = |text: String| redactor.redact(&text).into_owned();
        CommandError { message: clean(failure.message), hint: failure.hint.map(clean), ..failure }
    }

    /// What the names in permission patterns stand for.
    pub(crate) fn policy_places(&self, home: &HermesHome, workspace: &Path) -> PathVariables {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let workspace = real(workspace);
        let mut temp = vec![real(&std::env::temp_dir())];
        for folder in ["/tmp", "/var/tmp"].map(Path::new).into_iter().filter(|f| f.is_dir()) {
            if !temp.contains(&real(folder)) {
                temp.push(real(folder));
            }
        }
        PathVariables {
            // Whoever starts at the root of the file system has no workspace.
            workspace: (workspace != Path::new("/")).then_some(workspace),
            home: std::env::home_dir().filter(|h| h.is_absolute()).map(|h| real(&h)),
            hermes: real(home.root()),
            temp,
        }
    }

    /// The files that say what is permitted.
    pub(crate) fn policy_sources(
        &self,
        home: &HermesHome,
        options: &ProfileOptions,
        workspace: &Path,
    ) -> Result<PolicySources, CommandError> {
        let own = match &options.permissions {
            Some(file) if !file.exists() => {
                return Err(CommandError::usage(format!(
                    "--permissions {}: there is no such file",
                    file.display()
                ))
                .hint("Name a YAML file with permission profiles."));
            }
            Some(file) => file.clone(),
            None => home.permissions_file(),
        };
        let places = self.policy_places(home, workspace);
        let project = project_policy_file(&places);
        Ok(PolicySources::load(&own, project.as_deref(), places)?)
    }

    /// What the settings, the environment and the mode forbid besides.
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

    /// The name of the chosen profile.
    pub(crate) fn profile_name(&self, config: &ResolvedConfig, options: &ProfileOptions) -> String {
        let chosen = options.profile.clone();
        let chosen = chosen.or_else(|| config.settings.permissions.profile.clone());
        chosen.unwrap_or_else(|| DEFAULT_PROFILE.to_owned())
    }

    /// The permissions of this command's calls, in the mode that was chosen; none
    /// means that the settings decide.
    pub(crate) fn permissions(
        &self,
        ready: &AppServices,
        options: &ProfileOptions,
        workspace: &Path,
        mode: Option<AgentMode>,
    ) -> Result<Arc<PermissionPolicy>, CommandError> {
        self.permissions_from(&ready.policy_inputs(), options, workspace, mode)
    }

    /// The same for who has no more than this.
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
        // Whoever is there is asked before everything is refused.
        if approvals == ApprovalMode::Off || self.is_interactive() {
            defaults.missing = defaults.missing.or(Some(MissingSandbox::Ask));
        }
        sources.set_sandbox_defaults(defaults);
        let name = self.profile_name(&ready.config, options);
        let keeper = Arc::clone(&ready.secrets);
        let settings = EnforcementSettings {
            mode: enforcement_mode(&ready.config),
            approvals,
            sandbox: Some(Arc::new(sandbox_support::can_hold)),
            redact: Some(Arc::new(move |text| keeper.redactor().redact(text).into_owned())),
            registries: Some(registry_lookup(&ready.home)),
        };
        let saved = SavedRules::load(ready.home.saved_rules_file()).map_err(|problem| {
            CommandError::usage(problem).hint("Mend the file or move it away.")
        })?;
        let tickets = TicketStore::new(ready.home.tickets_dir());
        Ok(Arc::new(sources.permissions(&name, settings, saved, tickets)?))
    }

    /// The mode that is in force: the one that was chosen, or what the settings
    /// come to.
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
        // A task that runs by itself has nobody who could have meant it so.
        if std::env::var_os("HERMES_CRON_RUN").is_some() {
            return ApprovalMode::Manual;
        }
        let configured = self.configured_approvals(config);
        chosen.map_or(configured, |mode| mode.approvals(configured))
    }

    /// `HERMES_YOLO` counts as it was when the program started.
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

    /// Who can be asked here: a person at the terminal, if there is one; before
    /// them a model, if the settings want it.
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

    /// A model looks at questions before this person does, if the settings want
    /// it.
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

    /// Whether somebody sits at this terminal who can be asked.
    pub(crate) fn is_interactive(&self) -> bool {
        use std::io::IsTerminal as _;
        std::io::stdin().is_terminal() && self.terminal.stderr_is_person
    }
}

/// Asks package managers for their registries, and keeps what they answer.
fn registry_lookup(home: &HermesHome) -> RegistryLookup {
    static REGISTRY_LOOKUP: OnceLock<UserRegistries> = OnceLock::new();
    let file = home.root().join("sandbox/registries.json");
    Arc::new(move |manager| {
        REGISTRY_LOOKUP.get_or_init(|| UserRegistries::new(file.clone())).hosts_for(manager)
    })
}

/// The rules of the project that the workspace is in: the nearest file above,
/// but not our own home's.
fn project_policy_file(places: &PathVariables) -> Option<PathBuf> {
    let workspace = places.workspace.as_deref()?;
    let stop = places.home.as_deref();
    for folder in workspace.ancestors() {
        let ours = folder.join(".hermes");
        let file = ours.join("hermes_permissions.yaml");
        // A link that leads nowhere is found, and told of.
        if file.symlink_metadata().is_ok()
            && std::fs::canonicalize(&ours).ok().as_ref() != Some(&places.hermes)
        {
            return Some(file);
        }
        if Some(folder) == stop {
            break;
        }
    }
    None
}

/// What the settings say of the sandbox, under every profile.
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

/// The secrets of this user: variables that look secret, the home's `.env`
/// file, and the vault.
pub(crate) struct SecretsProvider {
    env_file: PathBuf,
    vault: Vault,
    /// Values that sessions have been given since.
    learned: Mutex<BTreeMap<String, String>>,
    redactor: RwLock<Option<Arc<Redactor>>>,
}

impl SecretsProvider {
    pub(crate) fn new(home: &HermesHome) -> Self {
        Self {
            env_file: home.env_file(),
            vault: Vault::new(home.secrets_file()),
            learned: Mutex::default(),
            redactor: RwLock::default(),
        }
    }

    /// An error if the vault cannot be read: then nobody knows what to hide.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        self.vault.values_for_redaction()?;
        Ok(())
    }

    fn known_secrets(&self) -> Vec<(String, String)> {
        let dotenv = hermes_store::dotenv::DotenvFile::load(&self.env_file).vars;
        let mut known: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .chain(dotenv)
            .filter(|(name, value)| is_secret(name, value))
            .collect();
        let kept = self.vault.values_for_redaction().unwrap_or_default();
        known.extend(kept.into_iter().map(|(name, secret)| (name, secret.expose().to_owned())));
        known.extend(self.learned.lock().clone());
        known
    }

    /// Takes in what among the variables of a session is secret.
    fn learn_variables(&self, variables: &Value) {
        let Some(variables) = variables.as_object() else { return };
        let secret = |(name, value): (&String, &Value)| {
            let value = value.as_str().filter(|value| is_secret(name, value))?;
            Some((name.clone(), value.to_owned()))
        };
        for (name, value) in variables.iter().filter_map(secret) {
            self.learn_secret(&name, &value);
        }
    }

    /// Takes in a secret.
    pub(crate) fn learn_secret(&self, name: &str, value: &str) {
        let mut learned = self.learned.lock();
        if learned.get(name).map(String::as_str) != Some(value) {
            learned.insert(name.to_owned(), value.to_owned());
            *self.redactor.write() = None;
        }
    }
}

impl std::fmt::Debug for SecretsProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("env_file", &self.env_file).finish_non_exhaustive()
    }
}

impl hermes_exec::output::OutputMask for SecretsProvider {
    fn mask(&self, bytes: &mut [u8]) {
        self.redactor().mask(bytes);
    }
}

impl SecretSource for SecretsProvider {
    fn redactor(&self) -> Arc<Redactor> {
        let built = self.redactor.read().clone();
        built.unwrap_or_else(|| {
            let made = Arc::new(Redactor::new(self.known_secrets()).unwrap_or_default());
            let mut kept = self.redactor.write();
            Arc::clone(kept.insert(made))
        })
    }

    fn lookup(&self, name: &str) -> Result<Option<Secret>, String> {
        if let Some(secret) = self.vault.get(name).map_err(|error| error.to_string())? {
            return Ok(Some(secret));
        }
        let from_file =
            || hermes_store::dotenv::DotenvFile::load(&self.env_file).vars.get(name).cloned();
        Ok(std::env::var(name).ok().or_else(from_file).map(Secret::new))
    }
}

/// Session documents without secrets in them, but for the variables that
/// programs must be given.
pub(crate) struct RedactingStore {
    store: Box<dyn SessionStore>,
    secrets: Arc<SecretsProvider>,
}

impl RedactingStore {
    pub(crate) fn new(store: Box<dyn SessionStore>, secrets: Arc<SecretsProvider>) -> Self {
        Self { store, secrets }
    }
}

impl SessionStore for RedactingStore {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        let found = self.store.read(session, key)?;
        if key == "env" {
            self.secrets.learn_variables(&found);
        }
        Ok(found)
    }

    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError> {
        self.store.update(session, key, &mut |old| {
            let new = change(old)?;
            if key == "env" {
                self.secrets.learn_variables(&new);
                return Ok(new);
            }
            let mut text = new.to_string();
            self.secrets.redactor().redact_json(&mut text);
            Ok(serde_json::from_str(&text).unwrap_or(new))
        })
    }

    fn may_block(&self) -> bool {
        self.store.may_block()
    }
}
