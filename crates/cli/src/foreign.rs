//! The tools of other programs (MCP), as a part of this one.

use std::sync::Arc;
use std::time::Duration;

use hermes_config::{KeyPath, vars};
use hermes::core::BoxFuture;
use hermes_delegation::Supply as _;
use hermes_mcp::client::{Chosen, Models, Servers};

use crate::app::{App, Ready};
use crate::commands::runtime;
use crate::failure::Failure;
use crate::place::Ground;
use crate::supply::Stock;

/// How long that is if nothing else is set.
const PATIENCE: Duration = Duration::from_secs(15);

/// How many problems of a server are told without being asked for.
const PROBLEMS: usize = 3;

impl Ready {
    /// Offers the tools of the servers that are set down: what is known of them
    /// at once, and those of others if somebody `waits` for them.
    pub(crate) fn join_servers(&self, app: &App, waits: bool) -> Result<(), Failure> {
        let safe = app.env.text(&vars::HERMES_SAFE_MODE);
        if safe.is_some_and(|value| matches!(value.as_str(), "1" | "true" | "yes" | "on")) {
            return Ok(());
        }
        let entries = self.mcp_settings();
        if entries.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        let servers = Arc::new(self.mcp_servers(&entries));
        for problem in servers.problems() {
            app.terminal.warn(problem);
        }
        let joined = self.servers.get_or_init(|| servers);
        runtime::early(async {
            joined.start();
            if waits {
                joined.settle(self.patience()).await;
            }
            joined.required().await
        })??;
        for status in joined.status() {
            if let (true, Some(error)) = (waits, &status.error) {
                app.terminal.warn(&format!("MCP server {}: {error}", status.name));
            }
            for problem in status.problems.iter().take(PROBLEMS) {
                app.terminal.warn(&format!("MCP server {}: {problem}", status.name));
            }
            if let Some(more) = status.problems.len().checked_sub(PROBLEMS).filter(|more| *more > 0)
            {
                app.terminal.warn(&format!(
                    "MCP server {0}: and {more} more; `hermes mcp test {0}` shows all",
                    status.name
                ));
            }
        }
        Ok(())
    }

    /// How long servers are waited for of which nothing is known yet.
    fn patience(&self) -> Duration {
        let set = KeyPath::of(["mcp_discovery_timeout"]).and_then(|path| self.config.get(&path));
        let set = set.and_then(|(value, _)| value.as_f64()).filter(|seconds| *seconds >= 0.0);
        set.and_then(|it| Duration::try_from_secs_f64(it).ok()).unwrap_or(PATIENCE)
    }

    /// What is to be left when all calls are made.
    pub(crate) fn leaving(&self) -> Leaving {
        Leaving { ground: self.ground.clone(), servers: self.servers.get().cloned() }
    }
}

/// What is to be left when all calls are made: the place where commands run,
/// and the servers of others.
pub(crate) struct Leaving {
    ground: Ground,
    servers: Option<Arc<Servers>>,
}

impl Leaving {
    pub(crate) async fn leave(self) {
        self.ground.leave().await;
        if let Some(servers) = self.servers {
            servers.stop().await;
        }
    }
}

impl Models for Stock {
    fn choose<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Option<Chosen>> {
        Box::pin(async move {
            let (model, manner) = self.model(name).await.ok()?;
            Some(Chosen { model, name: manner.model })
        })
    }
}
