//! The tools of other programs (MCP), as a part of this one.

use std::sync::Arc;
use std::time::Duration;

use hermes::core::BoxFuture;
use hermes_config::{KeyPath, vars};
use hermes_delegation::SubagentHost as _;
use hermes_mcp::client::{ChosenModel, McpServers, SamplingModels, ServerStatus, names};
use parking_lot::MutexGuard;

use crate::app::{AppContext, AppServices};
use crate::command_error::CommandError;
use crate::commands::runtime;
use crate::exec_target::ExecTarget;
use crate::subagent_services::SubagentServices;

/// How long that is if nothing else is set.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(5);

/// After that time it is said who is waited for.
const WAIT_NOTE_DELAY: Duration = Duration::from_secs(1);

/// How many problems of a server are told without being asked for.
const MAX_SHOWN_PROBLEMS: usize = 3;

/// Whose tools are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerSelection<'a> {
    /// Those of every server.
    All,
    /// This one, which may be no server's.
    Tool(&'a str),
    /// None; but nothing begins without the servers that are required.
    RequiredOnly,
}

impl ServerSelection<'_> {
    /// Whether something about that server is of interest.
    fn includes(self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Tool(tool) => names::is_server_tool(server, tool),
            Self::RequiredOnly => false,
        }
    }
}

impl AppServices {
    /// Offers the tools of the servers that are set down: what is known of them
    /// at once. Those of which nothing is known are started if their tools are
    /// wanted, and waited for: the one whose tool it is until it is there, all
    /// of them for a short while.
    pub(crate) fn connect_servers(
        &self,
        app: &AppContext,
        wanted: ServerSelection<'_>,
    ) -> Result<(), CommandError> {
        let safe = app.env.text(&vars::HERMES_SAFE_MODE);
        if safe.is_some_and(|value| matches!(value.as_str(), "1" | "true" | "yes" | "on")) {
            return Ok(());
        }
        let entries = self.mcp_settings();
        if entries.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        let servers = Arc::new(self.mcp_servers(&entries));
        if matches!(wanted, ServerSelection::All) {
            for problem in servers.problems() {
                app.terminal.warn(problem);
            }
        }
        let joined = self.servers.get_or_init(|| servers);
        runtime::block_on_workers(async {
            match wanted {
                ServerSelection::All => {
                    joined.start();
                    self.await_servers(app, joined).await;
                }
                ServerSelection::Tool(tool) => joined.start_for(tool).await,
                ServerSelection::RequiredOnly => joined.start_for("").await,
            }
            joined.wait_required().await
        })??;
        for status in joined.status().iter().filter(|status| wanted.includes(&status.name)) {
            // Whoever calls one of its tools is told by the answer.
            if let (ServerSelection::All, Some(error)) = (wanted, &status.error) {
                app.terminal.warn(&format!("MCP server {}: {error}", status.name));
            }
            warn_problems(app, status);
        }
        Ok(())
    }

    /// Offers what is known of the tools of servers, for who looks at tools.
    pub(crate) fn offer_cached_tools(&self) {
        let entries = self.mcp_settings();
        if entries.as_object().is_some_and(|entries| !entries.is_empty()) {
            self.servers.get_or_init(|| Arc::new(self.mcp_servers(&entries))).publish_cached();
        }
    }

    /// The same, and tells of servers that have never been asked: a list without
    /// their tools looks as if there were none.
    pub(crate) fn offer_cached_tools_and_note(&self, app: &AppContext) {
        self.offer_cached_tools();
        let unasked = self.unqueried_servers();
        if let Some(first) = unasked.first() {
            app.terminal.note(&format!(
                "Nothing is known yet of the tools of the MCP server {}; `hermes mcp test {first}` \
                 asks it.",
                unasked.join(", ")
            ));
        }
    }

    /// The servers of which nothing is known.
    pub(crate) fn unqueried_servers(&self) -> Vec<&str> {
        self.servers.get().map(|servers| servers.pending()).unwrap_or_default()
    }

    /// Waits a short while for the servers of which nothing is known.
    async fn await_servers(&self, app: &AppContext, servers: &McpServers) {
        let patience = self.server_start_timeout();
        servers.wait_settled(patience.min(WAIT_NOTE_DELAY)).await;
        let awaited = servers.pending();
        let rest = patience.saturating_sub(WAIT_NOTE_DELAY);
        if !awaited.is_empty() && !rest.is_zero() {
            app.terminal.note(&format!(
                "Waiting for the MCP server {}, at most {} s more.",
                awaited.join(", "),
                rest.as_secs_f64()
            ));
            servers.wait_settled(rest).await;
        }
        let late = servers.pending();
        *self.lock_late_servers() = late.iter().map(|name| (*name).to_owned()).collect();
        for server in late {
            app.terminal.warn(&format!(
                "MCP server {server}: it is not there yet; its tools join a chat when it is"
            ));
        }
    }

    fn lock_late_servers(&self) -> MutexGuard<'_, Vec<String>> {
        self.late_servers.lock()
    }

    /// The servers that were late and are there now. Each is told once.
    pub(crate) fn take_arrived_servers(&self) -> Vec<String> {
        let Some(servers) = self.servers.get() else { return Vec::new() };
        let is_here =
            |name: &mut String| servers.status().iter().any(|it| it.name == *name && it.tools > 0);
        self.lock_late_servers().extract_if(.., is_here).collect()
    }

    /// From now on nobody waits for those that are late.
    pub(crate) fn forget_late_servers(&self) {
        self.lock_late_servers().clear();
    }

    /// How long servers are waited for of which nothing is known yet.
    pub(crate) fn server_start_timeout(&self) -> Duration {
        let set =
            KeyPath::from_names(["mcp_discovery_timeout"]).and_then(|path| self.config.get(&path));
        let set = set.and_then(|(value, _)| value.as_f64()).filter(|seconds| *seconds >= 0.0);
        set.and_then(|it| Duration::try_from_secs_f64(it).ok()).unwrap_or(SERVER_START_TIMEOUT)
    }

    /// What is to be left when all calls are made.
    pub(crate) fn teardown(&self) -> SessionTeardown {
        SessionTeardown {
            exec_target: self.exec_target.clone(),
            servers: self.servers.get().cloned(),
        }
    }
}

fn warn_problems(app: &AppContext, status: &ServerStatus) {
    for problem in status.problems.iter().take(MAX_SHOWN_PROBLEMS) {
        app.terminal.warn(&format!("MCP server {}: {problem}", status.name));
    }
    if let Some(more) =
        status.problems.len().checked_sub(MAX_SHOWN_PROBLEMS).filter(|more| *more > 0)
    {
        app.terminal.warn(&format!(
            "MCP server {0}: and {more} more; `hermes mcp test {0}` shows all",
            status.name
        ));
    }
}

/// What is to be left when all calls are made: the place where commands run,
/// and the servers of others.
pub(crate) struct SessionTeardown {
    exec_target: ExecTarget,
    servers: Option<Arc<McpServers>>,
}

impl SessionTeardown {
    pub(crate) async fn run(self) {
        self.exec_target.close().await;
        if let Some(servers) = self.servers {
            servers.stop().await;
        }
    }
}

impl SamplingModels for SubagentServices {
    fn choose<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Option<ChosenModel>> {
        Box::pin(async move {
            let (model, manner) = self.model(name).await.ok()?;
            Some(ChosenModel { model, name: manner.model })
        })
    }
}
