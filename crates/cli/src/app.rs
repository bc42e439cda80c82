//! The composition root: the one place where tools, engine, settings and
//! state are put together.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes::AuditRecorder;
use hermes::core::{
    CheckpointReader, DynTool, ErrorKind, MemorySessionStore, NoticeQueue, NoticeSink,
    PasswordPrompter, Ports, Session, SessionNetworks, SessionStore, UserPrompter, WorkingDir,
};
use hermes::engine::toolsets::{CustomToolsets, ToolSelection, ToolsetCatalog, ToolsetError};
use hermes::engine::{
    Caller, DeferMode, DeferralSettings, Engine, RegistrySnapshot, ResultSizeLimits,
};
use hermes_checkpoints::{CheckpointStore as Checkpoints, FileCheckpointer as FileKeeper};
use hermes_config::{
    ConfigError, EnvSnapshot, HermesHome, HermesSettings, RawConfig, ResolvedConfig,
    ToolSearchMode, save,
};
use hermes_delegation::{
    DelegationSettings as Delegation, MixtureSettings, PoolGuard, SubagentHost, SubagentPool,
};
use hermes_exec::output::OutputMask;
use hermes_exec::{HostFacts, JobRegistry};
use hermes_files::JournalDir;
use hermes_history::Summarizer;
use hermes_mcp::client::{McpServers, names};
use hermes_store::{FileSessionStore, regular_file};
use parking_lot::Mutex;
use serde_json::Value;

use crate::args::{CallOptions, GlobalOptions, ToolsetFilter};
use crate::auxiliary_model::AuxiliaryModel;
use crate::command_error::CommandError;
use crate::commands::{audit, checkpoints, memory, runtime};
use crate::exec_target::{self, ExecTarget};
use crate::limits;
use crate::messaging;
use crate::models::ModelFinder;
use crate::progress::ProgressLine;
use crate::prompter::TerminalPrompter;
use crate::reduced_sandbox::ReducedSandboxAnswer;
use crate::security::{RedactingStore, SecretsProvider};
use crate::subagent_services::SubagentServices;
use crate::terminal::TerminalOutput;

/// How long a command that serves waits at its beginning for the place where
/// commands run.
pub(crate) const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// A folder in which there is nothing: that of a workspace that is not known.
const NONEXISTENT_DIR: &str = "/proc/0/hermes";

/// What every command starts from.
#[derive(Clone)]
pub(crate) struct AppContext {
    pub(crate) terminal: TerminalOutput,
    pub(crate) json: bool,
    pub(crate) env: EnvSnapshot,
    /// What the person said of the reduced sandbox.
    pub(crate) reduced: ReducedSandboxAnswer,
}

/// A program with everything in place to run tools.
pub(crate) struct AppServices {
    pub(crate) home: HermesHome,
    pub(crate) config: Arc<ResolvedConfig>,
    pub(crate) engine: Engine,
    pub(crate) secrets: Arc<SecretsProvider>,
    /// Where models are looked for.
    pub(crate) models: ModelFinder,
    /// What sub-agents are given.
    pub(crate) subagent_services: Arc<SubagentServices>,
    /// Who does parts of the work.
    pub(crate) subagents: Arc<SubagentPool>,
    _serving: PoolGuard,
    /// The servers whose tools are offered, once they are.
    pub(crate) servers: OnceLock<Arc<McpServers>>,
    /// Those that were not there when the session began.
    pub(crate) late_servers: Mutex<Vec<String>>,
    /// Where commands run and files are.
    pub(crate) exec_target: ExecTarget,
    /// Commands that run.
    pub(crate) jobs: Arc<JobRegistry>,
    /// What sessions are told of them.
    pub(crate) notices: Arc<NoticeQueue>,
    /// Who can be asked for a password.
    pub(crate) prompter: Arc<TerminalPrompter>,
    records: Arc<AuditRecorder>,
    /// Who keeps what calls are about to change, unless that is switched off.
    checkpoints: Option<Arc<FileKeeper>>,
    /// Sessions that outlive the process.
    sessions: FileSessionStore,
}

/// What permissions are made from.
pub(crate) struct PolicyInputs {
    pub(crate) home: HermesHome,
    pub(crate) config: Arc<ResolvedConfig>,
    pub(crate) engine: Engine,
    pub(crate) secrets: Arc<SecretsProvider>,
}

/// Every tool that is compiled in, with these for files.
pub(crate) fn all_tools(files: Vec<Arc<dyn DynTool>>) -> Vec<Arc<dyn DynTool>> {
    [hermes_tools_agent::tools(), hermes_tools_code::tools(), files, hermes_tools_system::tools()]
        .concat()
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
            CommandError::from(e).or_hint("Set HERMES_HOME to a folder by its full path.")
        })?;
        if home.root().exists() && !home.root().is_dir() {
            return Err(CommandError::usage(format!("{} is not a folder", home.root().display()))
                .hint("Set HERMES_HOME to a folder; it is made when first needed."));
        }
        Ok(home)
    }

    /// The settings. A broken file is an error: what it restricts must not run.
    pub(crate) fn config(&self, home: &HermesHome) -> Result<ResolvedConfig, CommandError> {
        let broken = |e: ConfigError| {
            CommandError::from(e)
                .or_hint(format!("Mend {} or move it away.", home.config_file().display()))
        };
        RawConfig::load(home, self.env.clone()).map_err(broken)?.resolve().map_err(broken)
    }

    /// Tells what in the settings is probably not meant as it is written.
    pub(crate) fn warn_about(&self, config: &ResolvedConfig) {
        for warning in &config.warnings {
            self.terminal.warn(&warning.to_string());
        }
    }

    /// Home, settings and engine.
    pub(crate) fn services(&self) -> Result<AppServices, CommandError> {
        let ready = self.services_without_warnings()?;
        self.warn_about(&ready.config);
        // Without its keys much would fail for reasons that do not show.
        let env = ready.home.env_file();
        let told = hermes_store::dotenv::DotenvFile::load(&env).problems;
        for problem in told.iter().filter(|problem| problem.line == 0) {
            self.terminal.warn(&format!("{} is not read: {}", env.display(), problem.message));
        }
        Ok(ready)
    }

    /// [`Self::ready`] for those who tell of the warnings themselves.
    pub(crate) fn services_without_warnings(&self) -> Result<AppServices, CommandError> {
        let home = self.home()?;
        let config = self.config(&home)?;
        let secrets = Arc::new(SecretsProvider::new(&home));
        let records =
            Arc::new(AuditRecorder::new(hermes::audit::AuditLog::open(audit::log_dir(&home))));
        let kept = checkpoints::checkpoint_limits(&config.settings);
        let kept = Arc::new(Checkpoints::new(home.checkpoints_dir(), kept));
        // Files of another place are not ours to keep, least of all those of
        // the same name here.
        let journals = self.roll_back_interrupted(&home);
        let checkpoints = checkpoints::file_checkpointer(&home, &config.settings, &kept, &journals);
        let checkpoints = checkpoints.filter(|_| config.settings.terminal.backend == "local");
        let started_in = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let ground = ExecTarget::new(
            exec_target::configured_backend(&config.settings, &home, &started_in)?,
            &home,
        );
        let jobs = JobRegistry::new(ground.backend(), home.cache_dir().join("jobs"));
        let jobs = jobs.with_retention(limits::output_retention(&config.settings));
        let jobs = Arc::new(jobs.with_mask(Arc::clone(&secrets) as Arc<dyn OutputMask>));
        let notices = Arc::new(NoticeQueue::new());
        let keyboard = Arc::new(TerminalPrompter::new(home.env_file(), Arc::clone(&secrets)));
        let models = ModelFinder::new(&home, &config);
        let ports = Ports::new()
            .with(Arc::new(limits::output_bounds(&config.settings)))
            .with(Arc::new(limits::command_times(&config.settings)))
            .with(Arc::new(limits::script_limits(&config.settings)))
            .with(Arc::new(hermes_repl::ReplLimits {
                mask: Some(Arc::clone(&secrets) as Arc<dyn OutputMask>),
                ..hermes_repl::ReplLimits::default()
            }))
            .with::<dyn CheckpointReader>(kept)
            .with::<dyn NoticeSink>(Arc::clone(&notices) as Arc<dyn NoticeSink>)
            .with::<dyn PasswordPrompter>(Arc::clone(&keyboard) as Arc<dyn PasswordPrompter>)
            .with::<dyn UserPrompter>(Arc::clone(&keyboard) as Arc<dyn UserPrompter>)
            .with(Arc::new(memory::open_lists(&home, &config)?))
            .with(Arc::new(crate::commands::cron::open_jobs(&home, &config)?))
            .with(Arc::clone(&jobs))
            .with(journals)
            .with::<dyn Summarizer>(Arc::new(AuxiliaryModel::new(
                models.clone(),
                &config,
                "session_search",
            )))
            .with(Arc::new(hermes_history::HomeHistory::for_home(home.root())));
        let ports = match jobs.backend().networks() {
            Some(networks) => {
                ports.with::<dyn SessionNetworks>(Arc::clone(networks) as Arc<dyn SessionNetworks>)
            }
            None => ports,
        };
        let mut tools =
            messaging::with_message_targets(all_tools(ground.file_tools()), &config, &secrets)?;
        let stock = SubagentServices::new(&home, models.clone(), &notices);
        stock.set_jobs(Arc::clone(&jobs));
        let crew = subagent_pool(&stock, &config)?;
        tools.extend(hermes_delegation::tools(&crew));
        let engine = build_engine(
            &home,
            &config.settings,
            &secrets,
            &records,
            ports,
            checkpoints.clone(),
            tools,
        )?;
        let serving = crew.serve(engine.clone());
        Ok(AppServices {
            sessions: FileSessionStore::new(home.session_state_dir()),
            home,
            config: Arc::new(config),
            engine,
            models,
            subagent_services: stock,
            subagents: crew,
            _serving: serving,
            servers: OnceLock::new(),
            late_servers: Mutex::default(),
            secrets,
            exec_target: ground,
            jobs,
            notices,
            prompter: keyboard,
            records,
            checkpoints,
        })
    }

    /// Takes back changes of several files that somebody was killed at, and
    /// tells of it. The place where they are written down.
    pub(crate) fn roll_back_interrupted(&self, home: &HermesHome) -> Arc<JournalDir> {
        let journals = JournalDir::new(home.changes_dir());
        for change in journals.recover() {
            let files = change.files.len();
            self.terminal
                .warn(&format!("a change of {files} files was cut off before; it was taken back"));
            for path in &change.not_restored {
                self.terminal.warn(&format!("{} was changed since, and stays", path.display()));
            }
        }
        Arc::new(journals)
    }

    /// Who makes the calls of this command. Without `toolsets` every tool may
    /// be called that the settings do not switch off.
    pub(crate) fn caller(
        &self,
        ready: &AppServices,
        options: &CallOptions,
        toolsets: &[String],
    ) -> Result<Caller, CommandError> {
        let place = ready.exec_target.open(options.timeout())?;
        self.caller_at(ready, options, toolsets, place.as_deref())
    }

    /// The same also if the place where commands run cannot be opened, or not
    /// within `limit`: what needs it says so, and it may come up later.
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
            caller.late_workplace = Some(self.workplace_when_open(ready, options));
        }
        Ok(caller)
    }

    /// Where a caller will be, once the place is reached; the permissions of
    /// there count from then on.
    fn workplace_when_open(
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

    /// The same in a place that was opened; none is this machine, or one that
    /// is not open yet.
    fn caller_at(
        &self,
        ready: &AppServices,
        options: &CallOptions,
        toolsets: &[String],
        place: Option<&HostFacts>,
    ) -> Result<Caller, CommandError> {
        ready.secrets.check()?;
        let mut caller = Caller::new("/");
        self.place_caller(&mut caller, ready, options, place)?;
        caller.dry_run = options.dry_run;
        caller.deadline = options.deadline();
        let (id, store): (_, Box<dyn SessionStore>) = match options.session_id()? {
            Some(id) => (id.into(), Box::new(ready.sessions.clone())),
            None => (Arc::from(caller.session.id()), Box::new(MemorySessionStore::default())),
        };
        let store = RedactingStore::new(store, Arc::clone(&ready.secrets));
        caller.session = Session::new(id, Arc::new(store));
        let choice = ToolsetFilter { toolsets: toolsets.to_vec(), without: Vec::new() };
        let selection = ready.selection(&choice);
        if selection.enabled.is_some() || !selection.disabled.is_empty() {
            let chosen = runtime::block_on_current_thread(
                ready.engine.definitions(&selection, ready.deferral(None)),
            )?;
            caller.scope =
                Some(Arc::clone(&chosen.map_err(|e| ready.unknown_toolset_error(e))?.scope));
        }
        if self.terminal.stderr_is_person && !self.json {
            caller.observer = Some(Arc::new(ProgressLine::default()));
        }
        Ok(caller)
    }

    /// Puts a caller where commands run, with the permissions of there.
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
            // Nothing runs there before it is known.
            None => ("/".into(), None),
            Some(place) => start_dirs(place, named),
        };
        let is_known = place.is_some() || ready.exec_target.is_local();
        let workspace = if is_known { cwd.as_path() } else { Path::new(NONEXISTENT_DIR) };
        let mode = options.mode.chosen();
        ready.engine.set_policy(self.permissions(ready, &options.profile, workspace, mode)?);
        caller.cwd = cwd;
        caller.home = home.filter(|home| home.is_absolute());
        Ok(())
    }
}

/// The folder that somebody begins in there, and the home.
fn start_dirs(place: &HostFacts, named: Option<&Path>) -> (PathBuf, Option<PathBuf>) {
    let cwd = named.map_or_else(|| place.directory.clone(), |cwd| place.directory.join(cwd));
    let home = place.home().filter(|home| home.is_absolute());
    (cwd, home.map(Path::to_path_buf))
}

impl CallOptions {
    /// How long a request may take, if somebody has said so.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs_f64)
    }

    /// When the time of a request is up that begins now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds))
    }

    /// An empty variable is one that is not set; an empty option is a slip.
    fn session_id(&self) -> Result<Option<&str>, CommandError> {
        match self.session.as_deref() {
            Some("") if std::env::var_os("HERMES_SESSION").is_some_and(|v| v.is_empty()) => {
                Ok(None)
            }
            Some("") => Err(CommandError::usage("--session needs an id")
                .hint("Any text will do; calls with the same one share a session.")),
            other => Ok(other),
        }
    }
}

/// The folder that a command works in.
pub(crate) fn working_dir(named: Option<&Path>) -> Result<PathBuf, CommandError> {
    let Some(dir) = named else {
        return std::env::current_dir().map_err(|e| {
            CommandError::usage(format!("The current folder cannot be used: {e}"))
                .hint("Go to a folder that exists, or give --cwd DIR.")
        });
    };
    let cannot = |why: &str| {
        CommandError::usage(format!("--cwd {}: {why}", dir.display()))
            .hint("Name a folder that exists.")
    };
    let folder = std::path::absolute(dir).map_err(|e| cannot(&e.to_string()))?;
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(folder),
        Ok(_) => Err(cannot("it is not a folder")),
        Err(error) => Err(cannot(&error.to_string())),
    }
}

fn build_engine(
    home: &HermesHome,
    settings: &HermesSettings,
    secrets: &Arc<SecretsProvider>,
    records: &Arc<AuditRecorder>,
    ports: Ports,
    checkpoints: Option<Arc<FileKeeper>>,
    tools: Vec<Arc<dyn DynTool>>,
) -> Result<Engine, CommandError> {
    let defect =
        |e: &dyn std::fmt::Display| CommandError::failed(ErrorKind::Internal, e.to_string());
    let variables = env_file_variables(home);
    let mut builder = Engine::builder();
    if let Some(keeper) = checkpoints {
        builder = builder.checkpoints(keeper);
    }
    let engine = builder
        .tools(tools)
        .guard(limits::guard_settings(settings))
        .limits(ResultSizeLimits::for_window(settings.model.context_length))
        .search_limits(limits::search_limits(settings))
        .spill_to(home.cache_dir().join("results"))
        .ports(ports)
        .secrets(Arc::clone(secrets) as Arc<dyn hermes::engine::SecretSource>)
        .approval_timeout(Duration::from_secs(settings.approvals.timeout))
        .recorder(Arc::clone(records) as Arc<dyn hermes::engine::CallRecorder>)
        .env_lookup(Arc::new(move |name| {
            std::env::var(name).ok().or_else(|| variables.get(name).cloned())
        }))
        .build()
        .map_err(|e| defect(&e))?;
    let custom = load_toolsets(home, &engine.snapshot())?;
    engine.set_toolsets(custom);
    Ok(engine)
}

/// Who does parts of the work, by the settings.
fn subagent_pool(
    stock: &Arc<SubagentServices>,
    config: &ResolvedConfig,
) -> Result<Arc<SubagentPool>, CommandError> {
    let wrong = |why: String| CommandError::usage(why).hint("Mend it in config.yaml.");
    let delegation = Delegation::read(&config.settings.delegation).map_err(wrong)?;
    // What is written there as nothing is not what is usual.
    let mut mixture = config.settings.moa.clone();
    let said = config.document.value().get("moa").and_then(Value::as_object);
    for (name, _) in said.into_iter().flatten().filter(|(_, value)| value.is_null()) {
        mixture[name] = Value::Null;
    }
    let mixture = MixtureSettings::read(&mixture).map_err(wrong)?;
    Ok(SubagentPool::new(Arc::clone(stock) as Arc<dyn SubagentHost>, delegation, mixture))
}

/// The variables of the home's `.env` file.
fn env_file_variables(home: &HermesHome) -> indexmap::IndexMap<String, String> {
    hermes_store::dotenv::DotenvFile::load(&home.env_file()).vars
}

/// The user's own toolsets.
fn load_toolsets(
    home: &HermesHome,
    snapshot: &RegistrySnapshot,
) -> Result<ToolsetCatalog, CommandError> {
    let path = home.toolsets_file();
    match regular_file::read_text(&path) {
        Ok(text) => parse_toolsets(&path, &text, snapshot),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(ToolsetCatalog::default()),
        Err(e) => Err(CommandError::usage(format!("{} cannot be read: {e}", path.display()))
            .hint(format!("Mend {} or move it away.", path.display()))),
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
                .hint(format!("Mend {} or move it away.", path.display()))
        })
}

/// How long the program waits at its end for records to reach the disk.
const RECORD_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

impl AppServices {
    /// What permissions are made from.
    pub(crate) fn policy_inputs(&self) -> PolicyInputs {
        PolicyInputs {
            home: self.home.clone(),
            config: Arc::clone(&self.config),
            engine: self.engine.clone(),
            secrets: Arc::clone(&self.secrets),
        }
    }

    /// Waits for the records of the calls, and tells if they cannot be kept.
    pub(crate) fn flush_records(&self, app: &AppContext) {
        let flushed = self.records.flush(RECORD_FLUSH_TIMEOUT).err().map(|error| error.to_string());
        if let Some(problem) = flushed.or_else(|| self.records.problem()) {
            app.terminal.warn(&format!("The audit log is not complete: {problem}"));
        }
        if let Some(problem) = self.checkpoints.as_ref().and_then(|keeper| keeper.problem()) {
            app.terminal.warn(&format!("Some changes cannot be undone: {problem}"));
        }
        if let Some(problem) = self.sessions.last_problem() {
            app.terminal.warn(&format!(
                "What was read and done in this session is known to no other process: {problem}"
            ));
        }
    }

    /// Changes the user's own toolsets, alone among all processes that do the
    /// same: what another one has written meanwhile stays.
    pub(crate) fn change_toolsets<T>(
        &self,
        change: impl FnOnce(&mut ToolsetCatalog, &RegistrySnapshot) -> Result<T, ToolsetError>,
    ) -> Result<T, CommandError> {
        let path = self.home.toolsets_file();
        let snapshot = self.engine.snapshot();
        let mut outcome = None;
        save::update(&path, |text| -> Result<String, ConfigError> {
            let changed = parse_toolsets(&path, text, &snapshot).and_then(|mut toolsets| {
                let answer = change(&mut toolsets, &snapshot)?;
                Ok((answer, toolsets))
            });
            // A text that is the same is not written.
            let new =
                changed.as_ref().map_or_else(|_| text.to_owned(), |(_, t)| t.custom().to_json());
            outcome = Some(changed);
            Ok(new)
        })?;
        let defect = || CommandError::failed(ErrorKind::Internal, "The toolsets were not changed");
        let (answer, toolsets) = outcome.unwrap_or_else(|| Err(defect()))?;
        self.engine.set_toolsets(toolsets);
        Ok(answer)
    }

    /// A toolset that does not exist, with the place that names it if that is
    /// not the command line.
    pub(crate) fn unknown_toolset_error(&self, error: ToolsetError) -> CommandError {
        let named =
            |name: &String| matches!(&error, ToolsetError::Unknown { name: n, .. } if n == name);
        let off = self.config.settings.agent.disabled_toolsets.iter().any(named);
        let unasked = self.unqueried_servers();
        if let Some(server) = unasked.iter().find(|it| named(&names::toolset(it))) {
            let text = format!("The MCP server '{server}' has not been asked yet for its tools");
            return CommandError::usage(text).hint(format!("`hermes mcp test {server}` asks it."));
        }
        let failure = CommandError::from(error).into_usage();
        if off {
            let message = format!("agent.disabled_toolsets in config.yaml: {}", failure.message);
            return CommandError { message, ..failure };
        }
        failure
    }

    /// What was chosen, less what the settings switch off.
    pub(crate) fn selection(&self, choice: &ToolsetFilter) -> ToolSelection {
        let mut selection = choice.selection();
        selection.disabled.extend(self.config.settings.agent.disabled_toolsets.iter().cloned());
        selection
    }

    /// How definitions are deferred, by the settings and by what the model's server
    /// says of its window.
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
    /// The selection that was asked for; everything if nothing was.
    pub(crate) fn selection(&self) -> ToolSelection {
        ToolSelection {
            enabled: (!self.toolsets.is_empty()).then(|| self.toolsets.clone()),
            disabled: self.without.clone(),
        }
    }
}
