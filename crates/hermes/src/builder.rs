//! Composition of engine, policy, tools and state.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_audit::AuditLog;
use hermes_checkpoints::{CheckpointLimits, CheckpointStore, FileCheckpointer};
use hermes_config::{ConfigError, EnvSnapshot, HermesHome};
use hermes_core::{
    CheckpointReader, DynTool, NoticeQueue, NoticeSink, Policy, Ports, SessionNetworks, Tool, erase,
};
use hermes_engine::{CallObserver, Engine, EngineBuilder, RegistryError, SecretSource};
use hermes_exec::output::OutputMask;
use hermes_exec::{ExecBackend, JobRegistry, LocalBackend, RetentionPolicy};
use hermes_files::JournalDir;
use hermes_policy::{
    EnforcementSettings, PermissionPolicy, PolicyError, PolicySources, SavedRules, ShellAnalyzer,
    TicketStore,
};
use hermes_store::FileSessionStore;

use crate::families::{FAMILIES, ToolFamily};
use crate::hermes::Hermes;
use crate::policy_files::{path_variables, project_policy_file, registry_lookup};
use crate::{AuditRecorder, SecretsProvider, sandbox_support};

/// The profile that applies if none is chosen.
pub const DEFAULT_PROFILE: &str = "default";

/// Why a [`Hermes`] could not be built.
#[derive(Debug, thiserror::Error)]
pub enum HermesError {
    /// The home directory is unknown.
    #[error("cannot find the home directory: {0}; set HERMES_HOME, or call `home`")]
    Home(#[from] ConfigError),
    /// The current directory cannot be used as the workspace.
    #[error("cannot use the current directory as the workspace: {0}; call `workspace`")]
    Workspace(#[from] std::io::Error),
    /// Two tools have the same name.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The permission files are invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The saved approvals cannot be read.
    #[error("cannot read the saved approvals: {0}")]
    SavedRules(String),
}

/// How the calls are judged.
enum PolicyChoice {
    /// By this profile of the user's permission files.
    Profile(String),
    /// By this policy.
    Given(Arc<dyn Policy>),
}

type EngineSetup = Box<dyn FnOnce(EngineBuilder) -> EngineBuilder>;

/// Builder of a [`Hermes`].
///
/// By default it has every family of this build, works in the current directory
/// under the `default` profile, keeps its state in `HERMES_HOME` and runs
/// commands on this machine.
pub struct HermesBuilder {
    home: Option<HermesHome>,
    workspace: Option<PathBuf>,
    families: Vec<ToolFamily>,
    tools: Vec<Arc<dyn DynTool>>,
    policy: PolicyChoice,
    backend: Option<Arc<dyn ExecBackend>>,
    retention: RetentionPolicy,
    checkpoints: Option<CheckpointLimits>,
    secrets: Option<Arc<SecretsProvider>>,
    ports: Ports,
    engine: Option<EngineSetup>,
}

impl Default for HermesBuilder {
    fn default() -> Self {
        Self {
            home: None,
            workspace: None,
            families: FAMILIES.to_vec(),
            tools: Vec::new(),
            policy: PolicyChoice::Profile(DEFAULT_PROFILE.to_owned()),
            backend: None,
            retention: RetentionPolicy::default(),
            checkpoints: Some(CheckpointLimits::default()),
            secrets: None,
            ports: Ports::new(),
            engine: None,
        }
    }
}

impl HermesBuilder {
    /// The directory of settings and state, instead of `HERMES_HOME`.
    #[must_use]
    pub fn home(mut self, directory: impl Into<PathBuf>) -> Self {
        self.home = Some(HermesHome::at(directory));
        self
    }

    /// The directory that calls work in, instead of the current one.
    #[must_use]
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.workspace = Some(directory.into());
        self
    }

    /// Only these families, by name: `["file", "system"]`. A name that is not
    /// compiled in is ignored.
    #[must_use]
    pub fn families(mut self, names: &[&str]) -> Self {
        self.families = FAMILIES.iter().filter(|it| names.contains(&it.name)).copied().collect();
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(self, tool: impl Tool) -> Self {
        self.tools([erase(tool)])
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn DynTool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// The permission profile, from the user's permission files or a built-in one.
    #[must_use]
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.policy = PolicyChoice::Profile(name.into());
        self
    }

    /// A policy of the embedding program, instead of a profile.
    #[must_use]
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = PolicyChoice::Given(policy);
        self
    }

    /// Where commands run, instead of this machine.
    #[must_use]
    pub fn backend(mut self, backend: Arc<dyn ExecBackend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// How long the output of commands is kept.
    #[must_use]
    pub fn retention(mut self, retention: RetentionPolicy) -> Self {
        self.retention = retention;
        self
    }

    /// The limits of checkpoints; without, changes of files cannot be undone.
    #[must_use]
    pub fn checkpoints(mut self, limits: Option<CheckpointLimits>) -> Self {
        self.checkpoints = limits;
        self
    }

    /// The secrets to look up and redact, instead of those in the home.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<SecretsProvider>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Adds a service for tools; see [`Ports`].
    #[must_use]
    pub fn port<T: ?Sized + Send + Sync + 'static>(mut self, port: Arc<T>) -> Self {
        self.ports = self.ports.with(port);
        self
    }

    /// Changes settings of the engine: hooks, limits, timeouts.
    #[must_use]
    pub fn engine(mut self, setup: impl FnOnce(EngineBuilder) -> EngineBuilder + 'static) -> Self {
        self.engine = Some(Box::new(setup));
        self
    }

    /// Builds it, and rolls back file changes that a crash interrupted.
    pub fn build(self) -> Result<Hermes, HermesError> {
        let home = match self.home {
            Some(home) => home,
            None => HermesHome::from_env(&EnvSnapshot::from_process())?,
        };
        let workspace = match self.workspace {
            Some(workspace) => workspace,
            None => std::env::current_dir()?,
        };
        let secrets = self.secrets.unwrap_or_else(|| Arc::new(SecretsProvider::new(&home)));
        let records = Arc::new(AuditRecorder::new(AuditLog::open(home.audit_dir())));
        let journals = JournalDir::new(home.changes_dir());
        let recovered = journals.recover();
        let journals = Arc::new(journals);
        let checkpoint_limits = self.checkpoints.unwrap_or_default();
        let store = Arc::new(CheckpointStore::new(home.checkpoints_dir(), checkpoint_limits));
        let checkpoints = self.checkpoints.map(|_| {
            let private = vec![home.root().to_path_buf()];
            let checkpointer = FileCheckpointer::new(Arc::clone(&store), private);
            Arc::new(checkpointer.with_rollback(Arc::clone(&journals)))
        });
        let backend = self.backend.unwrap_or_else(|| Arc::new(LocalBackend::default()));
        let jobs = JobRegistry::new(backend, home.cache_dir().join("jobs"))
            .with_retention(self.retention)
            .with_mask(Arc::clone(&secrets) as Arc<dyn OutputMask>);
        let jobs = Arc::new(jobs);
        let notices = Arc::new(NoticeQueue::new());
        let mut ports = self
            .ports
            .with(Arc::clone(&jobs))
            .with(journals)
            .with::<dyn CheckpointReader>(store)
            .with::<dyn NoticeSink>(Arc::clone(&notices) as Arc<dyn NoticeSink>);
        if let Some(networks) = jobs.backend().networks() {
            ports =
                ports.with::<dyn SessionNetworks>(Arc::clone(networks) as Arc<dyn SessionNetworks>);
        }
        let families = self.families.iter().flat_map(|family| (family.tools)());
        let tools = families.chain(self.tools).collect();
        let mut engine = Engine::builder()
            .tools(tools)
            .ports(ports)
            .spill_to(home.cache_dir().join("results"))
            .analyzer(Arc::new(ShellAnalyzer))
            .secrets(Arc::clone(&secrets) as Arc<dyn SecretSource>)
            .observer(Arc::clone(&records) as Arc<dyn CallObserver>);
        if let Some(checkpoints) = &checkpoints {
            engine = engine.checkpoints(Arc::clone(checkpoints) as Arc<_>);
        }
        if let Some(setup) = self.engine {
            engine = setup(engine);
        }
        let engine = match self.policy {
            PolicyChoice::Given(policy) => engine.policy(policy).build()?,
            PolicyChoice::Profile(name) => {
                let policy = profile_policy(&home, &workspace, &name, &secrets)?;
                engine.policy(Arc::new(policy)).build()?
            }
        };
        Ok(Hermes {
            sessions: FileSessionStore::new(home.session_state_dir()),
            home,
            workspace,
            engine,
            secrets,
            jobs,
            notices,
            records,
            checkpoints,
            recovered,
        })
    }
}

/// The policy of a profile in the user's permission files.
fn profile_policy(
    home: &HermesHome,
    workspace: &Path,
    profile: &str,
    secrets: &Arc<SecretsProvider>,
) -> Result<PermissionPolicy, HermesError> {
    let places = path_variables(home, workspace);
    let project = project_policy_file(&places);
    let sources = PolicySources::load(&home.permissions_file(), project.as_deref(), places)?;
    let redacted = Arc::clone(secrets);
    let settings = EnforcementSettings {
        sandbox: Some(Arc::new(sandbox_support::can_enforce)),
        redact: Some(Arc::new(move |text| redacted.redactor().redact(text).into_owned())),
        registries: Some(registry_lookup(home)),
        ..EnforcementSettings::default()
    };
    let saved = SavedRules::load(home.saved_rules_file()).map_err(HermesError::SavedRules)?;
    Ok(sources.permissions(profile, settings, saved, TicketStore::new(home.tickets_dir()))?)
}

impl fmt::Debug for HermesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HermesBuilder")
            .field("home", &self.home)
            .field("workspace", &self.workspace)
            .field("families", &self.families)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}
