//! Connects configured MCP servers and registers their tools.

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

/// Default of `mcp_discovery_timeout`.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(5);

/// Delay before a note says which servers are pending.
const WAIT_NOTE_DELAY: Duration = Duration::from_secs(1);

/// Maximum number of warnings shown per server.
const MAX_SHOWN_PROBLEMS: usize = 3;

/// Servers whose tools are needed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerSelection<'a> {
    /// All servers.
    All,
    /// The server of this tool, which may not be an MCP tool.
    Tool(&'a str),
    /// Only servers marked as required.
    RequiredOnly,
}

impl ServerSelection<'_> {
    /// Whether to report the status of that server.
    fn includes(self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Tool(tool) => names::is_server_tool(server, tool),
            Self::RequiredOnly => false,
        }
    }
}

impl AppServices {
    /// Registers the tools of the configured servers, from the cache if
    /// possible. Starts servers without cached tools if they are selected, and
    /// waits: for the server of a single tool until it is ready, for all
    /// servers up to a timeout.
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
            // For a single tool, the result of the call reports the error.
            if let (ServerSelection::All, Some(error)) = (wanted, &status.error) {
                app.terminal.warn(&format!("MCP server {}: {error}", status.name));
            }
            warn_problems(app, status);
        }
        Ok(())
    }

    /// Registers cached tools without starting a server, for commands that
    /// inspect tools.
    pub(crate) fn offer_cached_tools(&self) {
        let entries = self.mcp_settings();
        if entries.as_object().is_some_and(|entries| !entries.is_empty()) {
            self.servers.get_or_init(|| Arc::new(self.mcp_servers(&entries))).publish_cached();
        }
    }

    /// Registers cached tools, and notes which servers have no cached tools: a
    /// list without them would look complete.
    pub(crate) fn offer_cached_tools_and_note(&self, app: &AppContext) {
        self.offer_cached_tools();
        let unasked = self.unqueried_servers();
        if let Some(first) = unasked.first() {
            app.terminal.note(&format!(
                "The tools of the MCP server {} are not known yet; run `hermes mcp test \
                 {first}` to query it.",
                unasked.join(", ")
            ));
        }
    }

    /// Returns the servers without known tools.
    pub(crate) fn unqueried_servers(&self) -> Vec<&str> {
        self.servers.get().map(|servers| servers.pending()).unwrap_or_default()
    }

    /// Waits up to the start timeout for servers without known tools.
    async fn await_servers(&self, app: &AppContext, servers: &McpServers) {
        let timeout = self.server_start_timeout();
        servers.wait_settled(timeout.min(WAIT_NOTE_DELAY)).await;
        let awaited = servers.pending();
        let rest = timeout.saturating_sub(WAIT_NOTE_DELAY);
        if !awaited.is_empty() && !rest.is_zero() {
            app.terminal.note(&format!(
                "Waiting for the MCP server {}, up to {} s more.",
                awaited.join(", "),
                rest.as_secs_f64()
            ));
            servers.wait_settled(rest).await;
        }
        let late = servers.pending();
        *self.lock_late_servers() = late.iter().map(|name| (*name).to_owned()).collect();
        for server in late {
            app.terminal.warn(&format!(
                "MCP server {server}: not ready yet; its tools join a chat once it is"
            ));
        }
    }

    fn lock_late_servers(&self) -> MutexGuard<'_, Vec<String>> {
        self.late_servers.lock()
    }

    /// Returns late servers that are ready now, each only once.
    pub(crate) fn take_arrived_servers(&self) -> Vec<String> {
        let Some(servers) = self.servers.get() else { return Vec::new() };
        let is_here =
            |name: &mut String| servers.status().iter().any(|it| it.name == *name && it.tools > 0);
        self.lock_late_servers().extract_if(.., is_here).collect()
    }

    /// Stops tracking late servers.
    pub(crate) fn forget_late_servers(&self) {
        self.lock_late_servers().clear();
    }

    /// Returns how long to wait for servers without known tools.
    pub(crate) fn server_start_timeout(&self) -> Duration {
        let set =
            KeyPath::from_names(["mcp_discovery_timeout"]).and_then(|path| self.config.get(&path));
        let set = set.and_then(|(value, _)| value.as_f64()).filter(|seconds| *seconds >= 0.0);
        set.and_then(|it| Duration::try_from_secs_f64(it).ok()).unwrap_or(SERVER_START_TIMEOUT)
    }

    /// Returns the resources to close after the last call.
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

/// Resources to close after the last call: the backend and the MCP servers.
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
