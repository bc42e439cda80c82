//! The composition root: the one place where tools, engine, settings and
//! state are put together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes::core::{DynTool, ErrorKind, Session};
use hermes::engine::toolsets::{CustomToolsets, Selection, Toolsets};
use hermes::engine::{
    AuditLog, Caller, Counts, DeferMode, Deferral, Engine, GuardSettings, Limits, Snapshot,
};
use hermes_config::{Config, Env, Home, RawConfig, Settings, ToolSearchMode};
use hermes_store::FileSessions;

use crate::args::{CallOptions, Choice, Global};
use crate::failure::Failure;
use crate::progress::ProgressLine;
use crate::terminal::Terminal;

/// What every command starts from.
pub(crate) struct App {
    pub(crate) terminal: Terminal,
    pub(crate) json: bool,
    pub(crate) env: Env,
}

/// A program with everything in place to run tools.
pub(crate) struct Ready {
    pub(crate) home: Home,
    pub(crate) config: Config,
    pub(crate) engine: Engine,
}

/// Every tool that is compiled in.
pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    [hermes_tools_agent::tools(), hermes_tools_file::tools(), hermes_tools_system::tools()].concat()
}

impl App {
    pub(crate) fn new(global: &Global) -> Self {
        Self { terminal: Terminal::new(global.quiet), json: global.json, env: Env::from_process() }
    }

    pub(crate) fn home(&self) -> Result<Home, Failure> {
        Home::from_env(&self.env).map_err(|e| Failure::usage(e.to_string()))
    }

    /// The settings. A broken file is an error: what it restricts must not run.
    pub(crate) fn config(&self, home: &Home) -> Result<Config, Failure> {
        let broken = |e: hermes_config::ConfigError| {
            Failure::usage(e.to_string())
                .hint(format!("Mend {} or move it away.", home.config_file().display()))
        };
        let config = RawConfig::load(home, self.env.clone()).map_err(broken)?.resolve().map_err(broken)?;
        for warning in &config.warnings {
            self.terminal.warn(&warning.to_string());
        }
        Ok(config)
    }

    /// Home, settings and engine.
    pub(crate) fn ready(&self) -> Result<Ready, Failure> {
        let home = self.home()?;
        let config = self.config(&home)?;
        let engine = engine(&home, &config.settings)?;
        Ok(Ready { home, config, engine })
    }

    /// Who makes the calls of this command.
    pub(crate) fn caller(&self, ready: &Ready, options: &CallOptions) -> Result<Caller, Failure> {
        let cwd = match &options.cwd {
            Some(dir) => std::path::absolute(dir)?,
            None => std::env::current_dir()
                .map_err(|e| Failure::usage(format!("The current folder cannot be used: {e}")))?,
        };
        if !cwd.is_dir() {
            return Err(Failure::usage(format!("{} is not a folder", cwd.display())));
        }
        let mut caller = Caller::new(cwd);
        caller.home = std::env::home_dir().filter(|h| h.is_absolute());
        caller.deadline = options.timeout.map(|s| Instant::now() + Duration::from_secs_f64(s));
        if let Some(id) = &options.session {
            let store = FileSessions::new(ready.home.session_state_dir());
            caller.session = Session::new(id.as_str(), Arc::new(store));
        }
        if self.terminal.stderr_is_person && !self.json {
            caller.progress = Some(Arc::new(ProgressLine::default()));
        }
        Ok(caller)
    }
}

fn engine(home: &Home, settings: &Settings) -> Result<Engine, Failure> {
    let defect = |e: &dyn std::fmt::Display| Failure::failed(ErrorKind::Internal, e.to_string());
    let variables = variables(home);
    let engine = Engine::builder()
        .tools(tools())
        .guard(guard(settings))
        .limits(Limits::for_window(settings.model.context_length))
        .recorder(Arc::new(AuditLog::new(home.logs_dir().join("calls.jsonl"))))
        .variables(Arc::new(move |name| {
            std::env::var(name).ok().or_else(|| variables.get(name).cloned())
        }))
        .build()
        .map_err(|e| defect(&e))?;
    let custom = load_toolsets(home, &engine.snapshot())?;
    engine.set_toolsets(custom);
    Ok(engine)
}

/// The variables of the home's `.env` file.
fn variables(home: &Home) -> indexmap::IndexMap<String, String> {
    hermes_config::dotenv::Dotenv::load(&home.env_file()).vars
}

fn guard(settings: &Settings) -> GuardSettings {
    let rails = &settings.tool_loop_guardrails;
    let counts = |t: &hermes_config::Thresholds| Counts {
        exact_failure: clamp(t.exact_failure),
        same_tool_failure: clamp(t.same_tool_failure),
        no_progress: clamp(t.idempotent_no_progress),
    };
    GuardSettings {
        warn: rails.warnings_enabled.then(|| counts(&rails.warn_after)),
        stop: rails.hard_stop_enabled.then(|| counts(&rails.hard_stop_after)),
    }
}

fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The user's own toolsets.
fn load_toolsets(home: &Home, snapshot: &Snapshot) -> Result<Toolsets, Failure> {
    let path = home.toolsets_file();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Toolsets::default()),
        Err(e) => return Err(Failure::usage(format!("{} cannot be read: {e}", path.display()))),
    };
    let lookup = |name: &str| snapshot.find(name).map(|e| e.name().to_owned());
    CustomToolsets::parse(&text)
        .and_then(|custom| Toolsets::load(custom, snapshot, &lookup))
        .map_err(|e| {
            Failure::usage(format!("{}: {e}", path.display()))
                .hint(format!("Mend {} or move it away.", path.display()))
        })
}

/// Where the user's own toolsets are kept.
pub(crate) fn save_toolsets(home: &Home, toolsets: &Toolsets) -> Result<PathBuf, Failure> {
    let path = home.toolsets_file();
    std::fs::create_dir_all(home.root())?;
    hermes_store::atomic::write_atomic(&path, toolsets.custom().to_json().as_bytes(), 0o600)?;
    Ok(path)
}

impl Ready {
    /// How definitions are deferred, by the settings.
    pub(crate) fn deferral(&self) -> Deferral {
        let search = &self.config.settings.tool_search;
        Deferral {
            mode: match search.enabled {
                ToolSearchMode::Auto => DeferMode::Auto,
                ToolSearchMode::On => DeferMode::On,
                ToolSearchMode::Off => DeferMode::Off,
            },
            threshold_pct: search.threshold_pct.round().clamp(0.0, 100.0) as u8,
            window: self.config.settings.model.context_length,
        }
    }
}

impl Choice {
    /// The selection that was asked for; everything if nothing was.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            enabled: (!self.toolsets.is_empty()).then(|| self.toolsets.clone()),
            disabled: self.without.clone(),
        }
    }
}
