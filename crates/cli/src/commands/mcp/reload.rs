//! What a server that runs takes from a config.yaml that changes: which toolsets
//! are switched off, and whose tools it passes on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hermes::core::CancellationToken;
use hermes::engine::toolsets::ToolSelection;
use hermes_config::{ResolvedConfig, KeyPath};
use hermes_mcp::client::McpServers;
use hermes_mcp::server::McpServer;
use serde_json::{Map, Value};

use super::servers::SECTION;
use crate::app::{App, Ready};
use crate::args::Choice;
use crate::failure::Failure;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// A server, and what it was started with.
pub(super) struct Reload {
    pub(super) app: App,
    pub(super) ready: Arc<Ready>,
    pub(super) server: McpServer,
    pub(super) choice: Choice,
    /// Whether it passes on tools of other servers.
    pub(super) passes_on: bool,
}

/// What tells one state of a file from another.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(file: &Path) -> Stamp {
    let found = file.metadata().ok()?;
    Some((found.modified().ok()?, found.len()))
}

impl Reload {
    /// Looks after the file until `over` is set. A file that cannot be used
    /// changes nothing.
    pub(super) async fn watch(self, over: CancellationToken) {
        let file = self.ready.home.config_file();
        let mut used = stamp(&file);
        let mut seen = used;
        let mut entries = self.ready.mcp_settings();
        let mut joined: Vec<Arc<McpServers>> = self.ready.servers.get().cloned().into_iter().collect();
        let mut config = Arc::clone(&self.ready.config);
        let mut is_whole = true;
        while over.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            let now = stamp(&file);
            // Whoever writes it in pieces is given the time.
            let is_settled = now == std::mem::replace(&mut seen, now);
            if now != used && is_settled {
                used = now;
                match self.app.config(&self.ready.home) {
                    Ok(read) => config = Arc::new(read),
                    Err(failure) => {
                        self.warn(&failure);
                        continue;
                    }
                }
                if self.passes_on {
                    let path = KeyPath::from_names([SECTION]);
                    let found = path.and_then(|path| config.get(&path));
                    let next = found.map_or(Value::Null, |(value, _)| value);
                    self.exchange(&entries, &next, &mut joined).await;
                    entries = next;
                }
            } else if is_whole {
                continue;
            }
            is_whole = self.select(&config).unwrap_or_else(|failure| {
                self.warn(&failure);
                true
            });
        }
        for servers in joined {
            servers.stop().await;
        }
    }

    fn warn(&self, failure: &Failure) {
        let text = format!("config.yaml has changed and is not used: {}", failure.message);
        self.app.terminal.warn(&text);
    }

    /// Offers what was asked for, less what is switched off now. False if the
    /// tools of a server are not there, or not yet.
    fn select(&self, config: &ResolvedConfig) -> Result<bool, Failure> {
        let engine = &self.ready.engine;
        let (toolsets, snapshot) = (engine.toolsets(), engine.snapshot());
        let mut selection = self.choice.selection();
        let mut is_whole = true;
        if let Some(names) = &mut selection.enabled {
            names.retain(|name| {
                let alone = ToolSelection { enabled: Some(vec![name.clone()]), disabled: Vec::new() };
                let is_there =
                    !name.starts_with("mcp-") || toolsets.select(&alone, &*snapshot).is_ok();
                is_whole &= is_there;
                is_there
            });
        }
        selection.disabled.extend(config.settings.agent.disabled_toolsets.iter().cloned());
        toolsets.select(&selection, &*snapshot).map_err(|e| self.ready.misnamed(e))?;
        self.server.select(selection);
        Ok(is_whole)
    }

    /// Ends the servers whose entries are gone or others, and starts those that
    /// are new. What stays as it is goes on undisturbed.
    async fn exchange(&self, before: &Value, after: &Value, joined: &mut Vec<Arc<McpServers>>) {
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
        servers.wait_settled(self.ready.patience()).await;
        joined.push(Arc::new(servers));
    }
}
