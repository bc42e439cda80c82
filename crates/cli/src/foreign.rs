//! The tools of other programs (MCP), as a part of this one.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use hermes::core::BoxFuture;
use hermes_config::{KeyPath, vars};
use hermes_delegation::SubagentHost as _;
use hermes_mcp::client::{ChosenModel, SamplingModels, McpServers, ServerStatus, names};

use crate::app::{App, Ready};
use crate::commands::runtime;
use crate::failure::Failure;
use crate::place::Ground;
use crate::supply::Stock;

/// How long that is if nothing else is set.
const PATIENCE: Duration = Duration::from_secs(5);

/// After that time it is said who is waited for.
const SILENCE: Duration = Duration::from_secs(1);

/// How many problems of a server are told without being asked for.
const PROBLEMS: usize = 3;

/// Whose tools are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Those of every server.
    All,
    /// This one, which may be no server's.
    Tool(&'a str),
    /// None; but nothing begins without the servers that are required.
    Nothing,
}

impl Wanted<'_> {
    /// Whether something about that server is of interest.
    fn concerns(self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Tool(tool) => names::is_server_tool(server, tool),
            Self::Nothing => false,
        }
    }
}

impl Ready {
    /// Offers the tools of the servers that are set down: what is known of them
    /// at once. Those of which nothing is known are started if their tools are
    /// wanted, and waited for: the one whose tool it is until it is there, all
    /// of them for a short while.
    pub(crate) fn join_servers(&self, app: &App, wanted: Wanted<'_>) -> Result<(), Failure> {
        let safe = app.env.text(&vars::HERMES_SAFE_MODE);
        if safe.is_some_and(|value| matches!(value.as_str(), "1" | "true" | "yes" | "on")) {
            return Ok(());
        }
        let entries = self.mcp_settings();
        if entries.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        let servers = Arc::new(self.mcp_servers(&entries));
        if matches!(wanted, Wanted::All) {
            for problem in servers.problems() {
                app.terminal.warn(problem);
            }
        }
        let joined = self.servers.get_or_init(|| servers);
        runtime::early(async {
            match wanted {
                Wanted::All => {
                    joined.start();
                    self.await_all(app, joined).await;
                }
                Wanted::Tool(tool) => joined.start_for(tool).await,
                Wanted::Nothing => joined.start_for("").await,
            }
            joined.wait_required().await
        })??;
        for status in joined.status().iter().filter(|status| wanted.concerns(&status.name)) {
            // Whoever calls one of its tools is told by the answer.
            if let (Wanted::All, Some(error)) = (wanted, &status.error) {
                app.terminal.warn(&format!("MCP server {}: {error}", status.name));
            }
            tell_problems(app, status);
        }
        Ok(())
    }

    /// Offers what is known of the tools of servers, for who looks at tools.
    pub(crate) fn recall_servers(&self) {
        let entries = self.mcp_settings();
        if entries.as_object().is_some_and(|entries| !entries.is_empty()) {
            self.servers.get_or_init(|| Arc::new(self.mcp_servers(&entries))).publish_cached();
        }
    }

    /// The same, and tells of servers that have never been asked: a list without
    /// their tools looks as if there were none.
    pub(crate) fn look_at_servers(&self, app: &App) {
        self.recall_servers();
        let unasked = self.unasked();
        if let Some(first) = unasked.first() {
            app.terminal.note(&format!(
                "Nothing is known yet of the tools of the MCP server {}; `hermes mcp test {first}` \
                 asks it.",
                unasked.join(", ")
            ));
        }
    }

    /// The servers of which nothing is known.
    pub(crate) fn unasked(&self) -> Vec<&str> {
        self.servers.get().map(|servers| servers.pending()).unwrap_or_default()
    }

    /// Waits a short while for the servers of which nothing is known.
    async fn await_all(&self, app: &App, servers: &McpServers) {
        let patience = self.patience();
        servers.wait_settled(patience.min(SILENCE)).await;
        let awaited = servers.pending();
        let rest = patience.saturating_sub(SILENCE);
        if !awaited.is_empty() && !rest.is_zero() {
            app.terminal.note(&format!(
                "Waiting for the MCP server {}, at most {} s more.",
                awaited.join(", "),
                rest.as_secs_f64()
            ));
            servers.wait_settled(rest).await;
        }
        let late = servers.pending();
        *self.late() = late.iter().map(|name| (*name).to_owned()).collect();
        for server in late {
            app.terminal.warn(&format!(
                "MCP server {server}: it is not there yet; its tools join a chat when it is"
            ));
        }
    }

    fn late(&self) -> MutexGuard<'_, Vec<String>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers that were late and are there now. Each is told once.
    pub(crate) fn newcomers(&self) -> Vec<String> {
        let Some(servers) = self.servers.get() else { return Vec::new() };
        let is_here =
            |name: &mut String| servers.status().iter().any(|it| it.name == *name && it.tools > 0);
        self.late().extract_if(.., is_here).collect()
    }

    /// From now on nobody waits for those that are late.
    pub(crate) fn forget_late(&self) {
        self.late().clear();
    }

    /// How long servers are waited for of which nothing is known yet.
    pub(crate) fn patience(&self) -> Duration {
        let set = KeyPath::from_names(["mcp_discovery_timeout"]).and_then(|path| self.config.get(&path));
        let set = set.and_then(|(value, _)| value.as_f64()).filter(|seconds| *seconds >= 0.0);
        set.and_then(|it| Duration::try_from_secs_f64(it).ok()).unwrap_or(PATIENCE)
    }

    /// What is to be left when all calls are made.
    pub(crate) fn leaving(&self) -> Leaving {
        Leaving { ground: self.ground.clone(), servers: self.servers.get().cloned() }
    }
}

fn tell_problems(app: &App, status: &ServerStatus) {
    for problem in status.problems.iter().take(PROBLEMS) {
        app.terminal.warn(&format!("MCP server {}: {problem}", status.name));
    }
    if let Some(more) = status.problems.len().checked_sub(PROBLEMS).filter(|more| *more > 0) {
        app.terminal.warn(&format!(
            "MCP server {0}: and {more} more; `hermes mcp test {0}` shows all",
            status.name
        ));
    }
}

/// What is to be left when all calls are made: the place where commands run,
/// and the servers of others.
pub(crate) struct Leaving {
    ground: Ground,
    servers: Option<Arc<McpServers>>,
}

impl Leaving {
    pub(crate) async fn leave(self) {
        self.ground.leave().await;
        if let Some(servers) = self.servers {
            servers.stop().await;
        }
    }
}

impl SamplingModels for Stock {
    fn choose<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Option<ChosenModel>> {
        Box::pin(async move {
            let (model, manner) = self.model(name).await.ok()?;
            Some(ChosenModel { model, name: manner.model })
        })
    }
}
