//! Applies changes of `config.yaml` to a running server: disabled toolsets and
//! forwarded servers.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hermes::core::CancellationToken;
use hermes::engine::toolsets::{SERVER_PREFIX, ToolSelection};
use hermes_config::{KeyPath, ResolvedConfig};
use hermes_mcp::client::McpServers;
use hermes_mcp::server::McpServer;
use serde_json::{Map, Value};

use super::servers::SERVERS_SECTION;
use crate::app::{AppContext, AppServices};
use crate::args::ToolsetFilter;
use crate::command_error::CommandError;

/// Polling interval for the file.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A server and the options it was started with.
pub(super) struct ConfigReloader {
    pub(super) app: AppContext,
    pub(super) ready: Arc<AppServices>,
    pub(super) server: McpServer,
    pub(super) choice: ToolsetFilter,
    /// Whether it forwards tools of other servers.
    pub(super) forwards_servers: bool,
}

/// Modification time and size, to detect changes.
type ConfigFileStamp = Option<(SystemTime, u64)>;

fn config_file_stamp(file: &Path) -> ConfigFileStamp {
    let found = file.metadata().ok()?;
    Some((found.modified().ok()?, found.len()))
}

impl ConfigReloader {
    /// Watches the file until `over` is cancelled. An invalid file changes
    /// nothing.
    pub(super) async fn watch(self, over: CancellationToken) {
        let file = self.ready.home().config_file();
        let mut used = config_file_stamp(&file);
        let mut seen = used;
        let mut entries = self.ready.mcp_settings();
        let mut joined: Vec<Arc<McpServers>> =
            self.ready.servers.get().cloned().into_iter().collect();
        let mut config = Arc::clone(&self.ready.config);
        let mut is_whole = true;
        while over.run_until_cancelled(tokio::time::sleep(POLL_INTERVAL)).await.is_some() {
            let now = config_file_stamp(&file);
            // Wait until a file that is written in pieces stops changing.
            let is_settled = now == std::mem::replace(&mut seen, now);
            if now != used && is_settled {
                used = now;
                match self.app.config(self.ready.home()) {
                    Ok(read) => config = Arc::new(read),
                    Err(failure) => {
                        self.warn(&failure);
                        continue;
                    }
                }
                if self.forwards_servers {
                    let path = KeyPath::from_names([SERVERS_SECTION]);
                    let found = path.and_then(|path| config.get(&path));
                    let next = found.map_or(Value::Null, |(value, _)| value);
                    self.replace_servers(&entries, &next, &mut joined).await;
                    entries = next;
                }
            } else if is_whole {
                continue;
            }
            is_whole = self.apply_selection(&config).unwrap_or_else(|failure| {
                self.warn(&failure);
                true
            });
        }
        for servers in joined {
            servers.stop().await;
        }
    }

    fn warn(&self, failure: &CommandError) {
        let text = format!("config.yaml changed but cannot be applied: {}", failure.message);
        self.app.terminal.warn(&text);
    }

    /// Serves the requested toolsets without those that are now disabled.
    /// Returns false while the tools of a server are missing.
    fn apply_selection(&self, config: &ResolvedConfig) -> Result<bool, CommandError> {
        let engine = self.ready.engine();
        let (toolsets, snapshot) = (engine.toolsets(), engine.snapshot());
        let mut selection = self.choice.selection();
        let mut is_whole = true;
        if let Some(names) = &mut selection.enabled {
            names.retain(|name| {
                let alone =
                    ToolSelection { enabled: Some(vec![name.clone()]), disabled: Vec::new() };
                let is_there =
                    !name.starts_with(SERVER_PREFIX) || toolsets.select(&alone, &*snapshot).is_ok();
                is_whole &= is_there;
                is_there
            });
        }
        selection.disabled.extend(config.settings.agent.disabled_toolsets.iter().cloned());
        toolsets.select(&selection, &*snapshot).map_err(|e| self.ready.unknown_toolset_error(e))?;
        self.server.select(selection);
        Ok(is_whole)
    }

    /// Stops servers whose entries changed or are gone, and starts new and
    /// changed ones. Other servers keep running.
    async fn replace_servers(
        &self,
        before: &Value,
        after: &Value,
        joined: &mut Vec<Arc<McpServers>>,
    ) {
        let none = Map::new();
        let before = before.as_object().unwrap_or(&none);
        let after = after.as_object().unwrap_or(&none);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
        let mut fresh = Map::new();
        for name in differ {
            for servers in &*joined {
                servers.stop_server(name).await;
            }
            if let Some(entry) = after.get(name) {
                fresh.insert(name.clone(), entry.clone());
            }
        }
        if fresh.is_empty() {
            return;
        }
        let servers = self.ready.mcp_servers(&Value::Object(fresh));
        for problem in servers.problems() {
            self.app.terminal.warn(problem);
        }
        servers.start();
        servers.wait_settled(self.ready.server_start_timeout()).await;
        joined.push(Arc::new(servers));
    }
}
