//! What a command needs to run tools: the crate `hermes` composes engine, tools
//! and state; this adds settings, backend, terminal and sub-agents.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes::core::{ErrorKind, PasswordPrompter, UserPrompter, WorkingDir};
use hermes::engine::toolsets::{
    CustomToolsets, SERVER_PREFIX, ToolSelection, ToolsetCatalog, ToolsetError,
};
use hermes::engine::{
    Caller, DeferMode, DeferralSettings, DenyAll, Engine, EngineBuilder, RegistrySnapshot,
    ResultSizeLimits,
};
use hermes::{Hermes, SecretsProvider};
use hermes_config::{
    ConfigError, EnvSnapshot, HermesHome, HermesSettings, RawConfig, ResolvedConfig, SettingOrigin,
    ToolSearchMode, save,
};
use hermes_delegation::{
    DelegationSettings as Delegation, MixtureSettings, PoolGuard, SubagentHost, SubagentPool,
};
use hermes_exec::HostFacts;
use hermes_files::{JournalDir, RecoveredChange};
use hermes_history::Summarizer;
use hermes_mcp::client::{McpServers, names};
use hermes_store::regular_file;
use parking_lot::Mutex;
use serde_json::Value;

use crate::args::{CallOptions, GlobalOptions, ToolsetFilter};
use crate::auxiliary_model::AuxiliaryModel;
use crate::command_error::CommandError;
use crate::commands::{checkpoints, memory, runtime};
use crate::exec_target::{self, ExecTarget};
use crate::limits;
use crate::models::ModelFinder;
use crate::progress::ProgressLine;
use crate::prompter::TerminalPrompter;
use crate::reduced_sandbox::ReducedSandboxAnswer;
use crate::subagent_services::SubagentServices;
use crate::terminal::TerminalOutput;

/// How long a serving command waits at startup for its backend.
pub(crate) const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// A directory that does not exist, used as an unknown workspace.
const NONEXISTENT_DIR: &str = "/proc/0/hermes";

/// Context shared by all commands.
#[derive(Clone)]
pub(crate) struct AppContext {
    pub(crate) terminal: TerminalOutput,
    pub(crate) json: bool,
    pub(crate) env: EnvSnapshot,
    /// The user's answer about the reduced sandbox.
    pub(crate) reduced: ReducedSandboxAnswer,
}

/// Everything a command needs to run tools.
pub(crate) struct AppServices {
    /// Engine, tools, policy and state.
    pub(crate) hermes: Hermes,
    pub(crate) config: Arc<ResolvedConfig>,
    /// Resolves models by name.
    pub(crate) models: ModelFinder,
    /// Services for sub-agents.
    pub(crate) subagent_services: Arc<SubagentServices>,
    /// The running sub-agents.
    pub(crate) subagents: Arc<SubagentPool>,
    _serving: PoolGuard,
    /// The MCP servers, once they are started.
    pub(crate) servers: OnceLock<Arc<McpServers>>,
    /// MCP servers that were not reachable when the session began.
    pub(crate) late_servers: Mutex<Vec<String>>,
    /// Where commands run and files are.
    pub(crate) exec_target: ExecTarget,
    /// Asks the user for passwords and answers.
    pub(crate) prompter: Arc<TerminalPrompter>,
}

impl Deref for AppServices {
    type Target = Hermes;

    fn deref(&self) -> &Hermes {
        &self.hermes
    }
}

/// Inputs of the permission policy.
pub(crate) struct PolicyInputs {
    pub(crate) home: HermesHome,
    pub(crate) config: Arc<ResolvedConfig>,
    pub(crate) engine: Engine,
    pub(crate) secrets: Arc<SecretsProvider>,
}

impl AppContext {
    pub(crate) fn new(global: &GlobalOptions) -> Self {
        Self {
            terminal: TerminalOutput::new(global.quiet),
            json: global.json,
            env: EnvSnapshot::from_process(),
            reduced: ReducedSandboxAnswer::default(),
        }
    }

    pub(crate) fn home(&self) -> Result<HermesHome, CommandError> {
        let home = HermesHome::from_env(&self.env).map_err(|e| {
            CommandError::from(e).or_hint("Set HERMES_HOME to the absolute path of a directory.")
        })?;
        if home.root().exists() && !home.root().is_dir() {
            return Err(CommandError::usage(format!(
                "{} is not a directory",
                home.root().display()
            ))
            .hint("Set HERMES_HOME to a directory; it is created when first needed."));
        }
        Ok(home)
    }

    /// Loads the settings. A broken file is an error, because its restrictions
    /// would not apply.
    pub(crate) fn config(&self, home: &HermesHome) -> Result<ResolvedConfig, CommandError> {
        let broken =
            |e: ConfigError| CommandError::from(e).or_hint("Fix the file or move it away.");
        let working_dir = std::env::current_dir().ok();
        let raw = RawConfig::load(home, working_dir.as_deref(), self.env.clone());
        raw.map_err(broken)?.resolve().map_err(broken)
    }

    /// Prints the warnings about suspicious settings.
    pub(crate) fn warn_about(&self, config: &ResolvedConfig) {
        for warning in &config.warnings {
            self.terminal.warn(&warning.to_string());
        }
    }

    /// Builds the services and prints their warnings.
    pub(crate) fn services(&self) -> Result<AppServices, CommandError> {
        let ready = self.services_without_warnings()?;
        self.warn_about(&ready.config);
        // Without these keys, calls would fail for no visible reason.
        let env = ready.home().env_file();
        let shown = hermes_store::dotenv::DotenvFile::load(&env).problems;
        for problem in shown.iter().filter(|problem| problem.line == 0) {
            self.terminal.warn(&format!(
                "{} could not be read: {}",
                env.display(),
                problem.message
            ));
        }
        Ok(ready)
    }

    /// [`Self::services`] for callers that report the warnings themselves.
    pub(crate) fn services_without_warnings(&self) -> Result<AppServices, CommandError> {
        let home = self.home()?;
        let config = self.config(&home)?;
        let settings = &config.settings;
        let secrets = Arc::new(SecretsProvider::new(&home));
        let started_in = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let backend = exec_target::configured_backend(settings, &home, &started_in)?;
        let exec_target = ExecTarget::new(backend, &home);
        let prompter = Arc::new(TerminalPrompter::new(home.env_file(), Arc::clone(&secrets)));
        let models = ModelFinder::new(&home, &config);
        // The files of a remote backend are not on this machine, except for
        // unrelated ones with the same names.
        let keeps_checkpoints = settings.checkpoints.enabled && exec_target.is_local();
        let subagent_services = SubagentServices::new(&home, models.clone());
        let subagents = subagent_pool(&subagent_services, &config)?;
        let mut tools = exec_target.family_tools();
        #[cfg(feature = "agent")]
        crate::messaging::set_message_targets(&mut tools, &config, &secrets)?;
        tools.extend(hermes_delegation::tools(&subagents));
        let hermes = Hermes::builder()
            .home(home.root())
            .workspace(started_in)
            .families(&[])
            .tools(tools)
            // Replaced by `place_caller`, which knows the workspace.
            .policy(Arc::new(DenyAll))
            .backend(exec_target.backend())
            .retention(limits::output_retention(settings))
            .checkpoints(keeps_checkpoints.then(|| checkpoints::checkpoint_limits(settings)))
            .secrets(Arc::clone(&secrets))
            .port(Arc::new(limits::output_bounds(settings)))
            .port(Arc::new(limits::command_times(settings)))
            .port::<dyn PasswordPrompter>(Arc::clone(&prompter) as Arc<dyn PasswordPrompter>)
            .port::<dyn UserPrompter>(Arc::clone(&prompter) as Arc<dyn UserPrompter>)
            .port(Arc::new(memory::open_lists(&home, &config)?))
            .port(Arc::new(crate::commands::cron::open_jobs(&home, &config)?))
            .port::<dyn Summarizer>(Arc::new(AuxiliaryModel::new(
                models.clone(),
                &config,
                "session_search",
            )))
            .port(Arc::new(hermes_history::HomeHistory::for_home(home.root())));
        #[cfg(feature = "code")]
        let hermes = hermes.port(Arc::new(limits::script_limits(settings))).port(Arc::new(
            hermes_repl::ReplLimits {
                mask: Some(Arc::clone(&secrets) as Arc<dyn hermes_exec::output::OutputMask>),
                ..hermes_repl::ReplLimits::default()
            },
        ));
        let hermes = hermes.engine(engine_settings(&home, settings)).build()?;
        self.warn_about_recovered(hermes.recovered_changes());
        subagent_services.attach(&hermes);
        let custom = load_toolsets(&home, &hermes.engine().snapshot())?;
        hermes.engine().set_toolsets(custom);
        let serving = subagents.serve(hermes.engine().clone());
        Ok(AppServices {
            hermes,
            config: Arc::new(config),
            models,
            subagent_services,
            subagents,
            _serving: serving,
            servers: OnceLock::new(),
            late_servers: Mutex::default(),
            exec_target,
            prompter,
        })
    }

    /// Rolls back multi-file changes interrupted by a crash, and warns about each.
    pub(crate) fn roll_back_interrupted(&self, home: &HermesHome) {
        self.warn_about_recovered(&JournalDir::new(home.changes_dir()).recover());
    }

    fn warn_about_recovered(&self, changes: &[RecoveredChange]) {
        for change in changes {
            let files = change.files.len();
            self.terminal.warn(&format!("rolled back an interrupted change of {files} files"));
            for path in &change.not_restored {
                let path = path.display();
                self.terminal.warn(&format!("{path} was modified since and is left unchanged"));
            }
        }
    }

    /// Returns the caller for this command. Without `toolsets`, it may call
    /// every tool that the settings do not disable.
    pub(crate) fn caller(
        &self,
        ready: &AppServices,
        options: &CallOptions,
        toolsets: &[String],
    ) -> Result<Caller, CommandError> {
        let place = ready.exec_target.open(options.timeout())?;
        self.caller_at(ready, options, toolsets, place.as_deref())
    }

    /// Like [`Self::caller`], but also if the backend cannot be opened within
    /// `limit`. Calls that need it fail, and it may become available later.
    pub(crate) fn caller_even_if_closed(
        &self,
        ready: &AppServices,
        options: &CallOptions,
        toolsets: &[String],
        limit: Option<Duration>,
    ) -> Result<Caller, CommandError> {
        let place = ready.exec_target.open(limit);
        if let Err(failure) = &place {
            self.terminal.warn(&failure.message);
        }
        let is_missing = place.is_err();
        let place = place.unwrap_or_default();
        let mut caller = self.caller_at(ready, options, toolsets, place.as_deref())?;
        if is_missing {
            caller.late_working_dir = Some(self.working_dir_when_open(ready, options));
        }
        Ok(caller)
    }

    /// Returns the working directory of a caller, set once the backend opens;
    /// its permissions apply from then on.
    fn working_dir_when_open(
        &self,
        ready: &AppServices,
        options: &CallOptions,
    ) -> Arc<OnceLock<WorkingDir>> {
        let late = Arc::new(OnceLock::new());
        let (found, app, options) = (Arc::clone(&late), self.clone(), options.clone());
        let rules = ready.policy_inputs();
        ready.exec_target.on_open(move |place| {
            let (cwd, home) = start_dirs(place, options.cwd.as_deref());
            match app.permissions_from(&rules, &options.profile, &cwd, options.mode.chosen()) {
                Ok(permissions) => {
                    rules.engine.set_policy(permissions);
                    let _ = found.set(WorkingDir::new(cwd, home));
                }
                Err(failure) => app.terminal.error(&failure.message, failure.hint.as_deref()),
            }
        });
        late
    }

    /// Returns the caller on an opened backend; `None` is this machine, or a
    /// backend that is not open yet.
    fn caller_at(
        &self,
        ready: &AppServices,
        options: &CallOptions,
        toolsets: &[String],
        place: Option<&HostFacts>,
    ) -> Result<Caller, CommandError> {
        ready.secrets().check()?;
        let mut caller = Caller::new("/");
        self.place_caller(&mut caller, ready, options, place)?;
        caller.dry_run = options.dry_run;
        caller.deadline = options.deadline();
        caller.session = ready.session(options.session_id()?);
        let choice = ToolsetFilter { toolsets: toolsets.to_vec(), without: Vec::new() };
        let selection = ready.selection(&choice);
        if selection.enabled.is_some() || !selection.disabled.is_empty() {
            let chosen = runtime::block_on_current_thread(
                ready.engine().definitions(&selection, ready.deferral(None)),
            )?;
            caller.scope =
                Some(Arc::clone(&chosen.map_err(|e| ready.unknown_toolset_error(e))?.scope));
        }
        if self.terminal.stderr_is_person && !self.json {
            caller.observer = Some(Arc::new(ProgressLine::default()));
        }
        Ok(caller)
    }

    /// Sets the working directory of a caller and the matching permissions.
    fn place_caller(
        &self,
        caller: &mut Caller,
        ready: &AppServices,
        options: &CallOptions,
        place: Option<&HostFacts>,
    ) -> Result<(), CommandError> {
        let named = options.cwd.as_deref();
        let (cwd, home) = match place {
            None if ready.exec_target.is_local() => (working_dir(named)?, std::env::home_dir()),
            // Nothing runs there until the directory is known.
            None => ("/".into(), None),
            Some(place) => start_dirs(place, named),
        };
        let is_known = place.is_some() || ready.exec_target.is_local();
        let workspace = if is_known { cwd.as_path() } else { Path::new(NONEXISTENT_DIR) };
        let mode = options.mode.chosen();
        ready.engine().set_policy(self.permissions(ready, &options.profile, workspace, mode)?);
        caller.cwd = cwd;
        caller.home = home.filter(|home| home.is_absolute());
        Ok(())
    }
}

/// Returns the initial directory and the home directory on a backend.
fn start_dirs(place: &HostFacts, named: Option<&Path>) -> (PathBuf, Option<PathBuf>) {
    let cwd = named.map_or_else(|| place.directory.clone(), |cwd| place.directory.join(cwd));
    let home = place.home().filter(|home| home.is_absolute());
    (cwd, home.map(Path::to_path_buf))
}

impl CallOptions {
    /// Time limit of a request, if one is set.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs_f64)
    }

    /// Deadline of a request that starts now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds))
    }

    /// Returns the session id. An empty variable counts as unset; an empty
    /// option is an error.
    fn session_id(&self) -> Result<Option<&str>, CommandError> {
        match self.session.as_deref() {
            Some("") if std::env::var_os("HERMES_SESSION").is_some_and(|v| v.is_empty()) => {
                Ok(None)
            }
            Some("") => Err(CommandError::usage("--session requires an id")
                .hint("Any text works; calls with the same id share a session.")),
            other => Ok(other),
        }
    }
}

/// Returns the working directory of a command.
pub(crate) fn working_dir(named: Option<&Path>) -> Result<PathBuf, CommandError> {
    let Some(dir) = named else {
        return std::env::current_dir().map_err(|e| {
            CommandError::usage(format!("The current directory cannot be used: {e}"))
                .hint("Change to an existing directory, or pass --cwd DIR.")
        });
    };
    let cannot = |why: &str| {
        CommandError::usage(format!("--cwd {}: {why}", dir.display()))
            .hint("Name an existing directory.")
    };
    let directory = std::path::absolute(dir).map_err(|e| cannot(&e.to_string()))?;
    match std::fs::metadata(&directory) {
        Ok(found) if found.is_dir() => Ok(directory),
        Ok(_) => Err(cannot("not a directory")),
        Err(error) => Err(cannot(&error.to_string())),
    }
}

/// Applies the settings to the engine.
fn engine_settings(
    home: &HermesHome,
    settings: &HermesSettings,
) -> impl FnOnce(EngineBuilder) -> EngineBuilder + 'static {
    let variables = env_file_variables(home);
    let guard = limits::guard_settings(settings);
    let result_limits = ResultSizeLimits::for_window(settings.model.context_length);
    let search_limits = limits::search_limits(settings);
    let approval_timeout = Duration::from_secs(settings.approvals.timeout);
    move |builder| {
        builder
            .guard(guard)
            .limits(result_limits)
            .search_limits(search_limits)
            .approval_timeout(approval_timeout)
            .env_lookup(Arc::new(move |name| {
                std::env::var(name).ok().or_else(|| variables.get(name).cloned())
            }))
    }
}

/// Creates the sub-agent pool from the settings.
fn subagent_pool(
    services: &Arc<SubagentServices>,
    config: &ResolvedConfig,
) -> Result<Arc<SubagentPool>, CommandError> {
    let wrong = |why: String| CommandError::usage(why).hint("Fix it in config.yaml.");
    let delegation = Delegation::read(&config.settings.delegation).map_err(wrong)?;
    // An explicit null in the file differs from the default.
    let mut mixture = config.settings.moa.clone();
    let said = config.values().get("moa").and_then(Value::as_object);
    for (name, _) in said.into_iter().flatten().filter(|(_, value)| value.is_null()) {
        mixture[name] = Value::Null;
    }
    let mixture = MixtureSettings::read(&mixture).map_err(wrong)?;
    Ok(SubagentPool::new(Arc::clone(services) as Arc<dyn SubagentHost>, delegation, mixture))
}

/// Reads the variables of the `.env` file in the home.
fn env_file_variables(home: &HermesHome) -> indexmap::IndexMap<String, String> {
    hermes_store::dotenv::DotenvFile::load(&home.env_file()).vars
}

/// Loads the user's custom toolsets.
fn load_toolsets(
    home: &HermesHome,
    snapshot: &RegistrySnapshot,
) -> Result<ToolsetCatalog, CommandError> {
    let path = home.toolsets_file();
    match regular_file::read_text(&path) {
        Ok(text) => parse_toolsets(&path, &text, snapshot),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(ToolsetCatalog::default()),
        Err(e) => Err(CommandError::usage(format!("{} cannot be read: {e}", path.display()))
            .hint(format!("Fix {} or move it away.", path.display()))),
    }
}

fn parse_toolsets(
    path: &Path,
    text: &str,
    snapshot: &RegistrySnapshot,
) -> Result<ToolsetCatalog, CommandError> {
    if text.trim().is_empty() {
        return Ok(ToolsetCatalog::default());
    }
    let lookup = |name: &str| snapshot.find(name).map(|e| e.name().to_owned());
    CustomToolsets::parse(text)
        .and_then(|custom| ToolsetCatalog::load(custom, snapshot, &lookup))
        .map_err(|e| {
            CommandError::usage(format!("{}: {e}", path.display()))
                .hint(format!("Fix {} or move it away.", path.display()))
        })
}

/// How long the program waits on exit for records to reach the disk.
const RECORD_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

impl AppServices {
    /// Returns the inputs of the permission policy.
    pub(crate) fn policy_inputs(&self) -> PolicyInputs {
        PolicyInputs {
            home: self.home().clone(),
            config: Arc::clone(&self.config),
            engine: self.engine().clone(),
            secrets: Arc::clone(self.secrets()),
        }
    }

    /// Waits until the records are written, and warns if they cannot be kept.
    pub(crate) fn flush_records(&self, app: &AppContext) {
        let records = self.records();
        let flushed = records.flush(RECORD_FLUSH_TIMEOUT).err().map(|error| error.to_string());
        if let Some(problem) = flushed.or_else(|| records.problem()) {
            app.terminal.warn(&format!("The audit log is incomplete: {problem}"));
        }
        if let Some(problem) = self.checkpoints().and_then(|checkpoints| checkpoints.problem()) {
            app.terminal.warn(&format!("Some changes cannot be undone: {problem}"));
        }
        if let Some(problem) = self.sessions().last_problem() {
            app.terminal.warn(&format!(
                "Session state could not be saved; other processes will not see it: {problem}"
            ));
        }
    }

    /// Changes the custom toolsets under a lock, so concurrent changes by other
    /// processes are kept.
    pub(crate) fn change_toolsets<T>(
        &self,
        change: impl FnOnce(&mut ToolsetCatalog, &RegistrySnapshot) -> Result<T, ToolsetError>,
    ) -> Result<T, CommandError> {
        let path = self.home().toolsets_file();
        let snapshot = self.engine().snapshot();
        let mut outcome = None;
        save::update(&path, |text| -> Result<String, ConfigError> {
            let changed = parse_toolsets(&path, text, &snapshot).and_then(|mut toolsets| {
                let answer = change(&mut toolsets, &snapshot)?;
                Ok((answer, toolsets))
            });
            // Unchanged text is not written.
            let new =
                changed.as_ref().map_or_else(|_| text.to_owned(), |(_, t)| t.custom().to_json());
            outcome = Some(changed);
            Ok(new)
        })?;
        let defect = || CommandError::failed(ErrorKind::Internal, "The toolsets were not changed");
        let (answer, toolsets) = outcome.unwrap_or_else(|| Err(defect()))?;
        self.engine().set_toolsets(toolsets);
        Ok(answer)
    }

    /// Returns the error for an unknown toolset, naming its source if that is
    /// not the command line.
    pub(crate) fn unknown_toolset_error(&self, error: ToolsetError) -> CommandError {
        let named =
            |name: &String| matches!(&error, ToolsetError::Unknown { name: n, .. } if n == name);
        let off = self.config.settings.agent.disabled_toolsets.iter().any(named);
        let unasked = self.unqueried_servers();
        if let Some(server) = unasked.iter().find(|it| named(&names::toolset(it))) {
            let text = format!("The tools of the MCP server '{server}' are not known yet");
            return CommandError::usage(text)
                .hint(format!("Run `hermes mcp test {server}` to fetch them."));
        }
        let failure = CommandError::from(error).into_usage();
        if off {
            let message = format!("agent.disabled_toolsets in config.yaml: {}", failure.message);
            return CommandError { message, ..failure };
        }
        failure
    }

    /// Returns the selection without the toolsets that the settings disable.
    pub(crate) fn selection(&self, choice: &ToolsetFilter) -> ToolSelection {
        let mut selection = choice.selection();
        selection.disabled.extend(self.config.settings.agent.disabled_toolsets.iter().cloned());
        selection
    }

    /// Returns the tools of an agent: those of the setting `toolsets` if the
    /// command names none. The user's MCP servers are in; `mcp_servers` decides
    /// about them.
    pub(crate) fn agent_selection(&self, choice: &ToolsetFilter) -> ToolSelection {
        let mut selection = self.selection(choice);
        let setting = self.config.setting("toolsets");
        let is_set = setting.is_some_and(|setting| setting.origin != SettingOrigin::Default);
        if selection.enabled.is_none() && is_set {
            let mut enabled = self.config.settings.toolsets.clone();
            let names = self.engine().toolsets().names(&*self.engine().snapshot());
            enabled.extend(names.into_iter().filter(|name| name.starts_with(SERVER_PREFIX)));
            selection.enabled = Some(enabled);
        }
        selection
    }

    /// Returns how definitions are deferred, based on the settings and the
    /// context window that the model's server reports.
    pub(crate) fn deferral(&self, window: Option<u64>) -> DeferralSettings {
        let search = &self.config.settings.tool_search;
        DeferralSettings {
            mode: match search.enabled {
                ToolSearchMode::Auto => DeferMode::Auto,
                ToolSearchMode::On => DeferMode::On,
                ToolSearchMode::Off => DeferMode::Off,
            },
            threshold_pct: search.threshold_pct.round().clamp(0.0, 100.0) as u8,
            window: self.config.settings.model.context_length.or(window),
        }
    }
}

impl ToolsetFilter {
    /// Returns the requested selection; everything if none was requested.
    pub(crate) fn selection(&self) -> ToolSelection {
        ToolSelection {
            enabled: (!self.toolsets.is_empty()).then(|| self.toolsets.clone()),
            disabled: self.without.clone(),
        }
    }
}
