//! MCP client: registers the tools of external servers.
//!
//! [`McpServers`] is the entry point. Each server is supervised on its own: its
//! cached tools are registered at once, and the server itself starts when it is
//! first needed.

mod breaker;
mod catalogue;
mod client_handler;
mod command_screen;
mod config_reader;
mod connect;
mod connection;
mod content;
mod describe;
mod digest;
mod error;
mod format;
mod http;
pub mod names;
mod nesting;
mod oauth;
mod osv;
mod pins;
mod probe;
mod program;
mod prompter;
mod protocol_tools;
mod sampling;
mod sanitize;
mod server;
mod settings;
mod sse;
mod stderr_tail;
mod stdio_transport;
mod streamable_http;
mod subscriptions;
mod task;
mod tls;
mod tool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_engine::Engine;
use hermes_exec::job_records::JobRecords;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::task::JoinHandle;

pub use catalogue::ServerCatalogue;
pub use connection::ProtocolEra;
pub use oauth::{LoginPrompter, logout};
pub use prompter::{
    ElicitationAnswer, ElicitationPrompter, FieldKind, FormField, ServerQuestion,
    UserPrompterAdapter,
};
pub use sampling::{ChosenModel, SamplingCounts, SamplingModels};
pub use settings::{
    ElicitationSettings, InvalidServerEntry, McpClientSettings, OAuthSettings, RootsMode,
    SamplingSettings, ServerSettings, ServerTransport, ToolFilter,
};
pub use tls::TlsSettings;

use catalogue::ServerCatalogue as Kept;
use connection::RequestTimeouts;
use content::MediaStore;
use pins::ToolPins;
use server::{ServerPhase, SupervisedServer};

/// How long files from responses are kept.
const MEDIA_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Dependencies of the MCP client.
pub struct ClientDeps {
    /// The engine that the tools are registered with.
    pub engine: Engine,
    /// Directory for data that can be fetched again: catalogues, media.
    pub cache: PathBuf,
    /// Directory for data that cannot: tool pins, logins, running processes.
    pub state: PathBuf,
    /// Directories offered to servers as roots.
    pub roots: Vec<PathBuf>,
    /// Prompts the user; without one, servers cannot ask.
    pub prompter: Option<Arc<dyn ElicitationPrompter>>,
    /// Models that servers may use.
    pub models: Option<Arc<dyn SamplingModels>>,
    /// Our environment; child processes get its harmless variables.
    pub own_env: Vec<(String, String)>,
    /// URL for malicious package queries; `None` disables the check.
    pub osv: Option<String>,
}

impl std::fmt::Debug for ClientDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientDeps").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// The public OSV API, which lists malicious packages.
pub const OSV_QUERY_URL: &str = "https://api.osv.dev/v1/query";

pub(crate) struct ClientShared {
    pub(crate) engine: Engine,
    pub(crate) catalogues: PathBuf,
    pub(crate) verdicts: PathBuf,
    pub(crate) pins: PathBuf,
    pub(crate) logins: PathBuf,
    pub(crate) media: MediaStore,
    media_dir: PathBuf,
    pub(crate) job_records: Option<JobRecords>,
    pub(crate) own_env: Vec<(String, String)>,
    pub(crate) prompter: Option<Arc<dyn ElicitationPrompter>>,
    pub(crate) models: Option<Arc<dyn SamplingModels>>,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) osv: Option<String>,
    plain_names: BTreeMap<String, usize>,
}

impl ClientShared {
    /// Whether no other server has the same name in Hermes Agent.
    pub(crate) fn is_plain_name_unique(&self, server: &str) -> bool {
        self.plain_names.get(&names::underscored(server)).is_none_or(|count| *count == 1)
    }
}

/// All configured MCP servers.
pub struct McpServers {
    servers: BTreeMap<String, Arc<SupervisedServer>>,
    shared: Arc<ClientShared>,
    problems: Vec<String>,
    invalid_entries: BTreeMap<String, InvalidServerEntry>,
    /// The cleanup of orphans and old files, once started.
    cleanup: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for McpServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServers").field("names", &self.servers.keys()).finish_non_exhaustive()
    }
}

/// Status of a server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerStatus {
    /// The name of the server.
    pub name: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// `idle`, `connecting`, `connected`, `failed`, `stopped` or `disabled`.
    pub status: &'static str,
    /// How many of its tools are in the registry.
    pub tools: usize,
    /// Tools that are held back because they changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Why each tool is held back, with the difference.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, String>,
    /// Tools added since the server was first used; they can be called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
    /// Problems of the server, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Notes about its tools that are not problems, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why the server is unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The protocol version that the server speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Name and version of the server program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The server's use of our models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCounts>,
    /// The latest log messages of the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// Result of testing a server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerTrial {
    /// The server's status.
    pub status: ServerStatus,
    /// Time until its tools were known, in milliseconds.
    pub ready_ms: f64,
    /// Round-trip time of a harmless request, in milliseconds.
    pub answer_ms: f64,
    /// Approximate number of tokens in its tool definitions.
    pub schema_tokens: usize,
    /// Model names of its tools.
    pub tools: Vec<String>,
}

impl McpServers {
    /// Creates the configured servers without starting any.
    pub fn new(settings: McpClientSettings, deps: ClientDeps) -> Self {
        let mut plain_names = BTreeMap::new();
        for name in settings.servers.keys() {
            *plain_names.entry(names::underscored(name)).or_insert(0) += 1;
        }
        let cache = deps.cache.join("mcp");
        let state = deps.state.join("mcp");
        let shared = Arc::new(ClientShared {
            engine: deps.engine,
            catalogues: cache.join("catalogues"),
            verdicts: cache.join("packages"),
            media: MediaStore::new(cache.join("media")),
            media_dir: cache.join("media"),
            pins: state.join("pins"),
            logins: deps.state.join("mcp-tokens"),
            job_records: JobRecords::open(state.join("running")).ok(),
            own_env: deps.own_env,
            prompter: deps.prompter,
            models: deps.models,
            roots: deps.roots,
            osv: deps.osv,
            plain_names,
        });
        let servers = settings.servers.into_iter().map(|(name, settings)| {
            let server = SupervisedServer::new(&name, settings, &shared);
            (name, server)
        });
        Self {
            servers: servers.collect(),
            shared,
            problems: settings.problems,
            invalid_entries: settings.invalid_entries,
            cleanup: Mutex::default(),
        }
    }

    /// Problems of invalid entries, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Registers cached tools and starts supervising the servers. Returns
    /// immediately: servers that are required or have no cached catalogue start
    /// in the background, the others when first needed. Must be called within a
    /// runtime.
    pub fn start(&self) {
        self.start_where(|_| true);
    }

    /// Like [`start`](Self::start), for a call of one tool: of the servers
    /// without a cached catalogue, starts only the one that the tool belongs to
    /// and waits for its tools. If there are none, the call reports why.
    pub async fn start_for(&self, tool: &str) {
        self.start_where(|server| names::is_server_tool(server, tool));
        let asked = self.enabled().filter(|server| names::is_server_tool(server.name(), tool));
        let unknown = asked.filter(|server| server.catalogue().is_none());
        futures_util::future::join_all(unknown.map(|server| server.wait_settled())).await;
    }

    fn start_where(&self, is_wanted: impl Fn(&str) -> bool) {
        let shared = Arc::clone(&self.shared);
        // Clean up what a crashed run left behind.
        let clearing = tokio::task::spawn_blocking(move || {
            if let Some(leftovers) = &shared.job_records {
                program::reap_orphans(leftovers);
            }
            content::remove_old_files(&shared.media_dir, MEDIA_MAX_AGE);
        });
        *self.cleanup.lock() = Some(clearing);
        self.publish_cached();
        for server in self.enabled() {
            let is_new = server.catalogue().is_none() && is_wanted(server.name());
            server.start(is_new || server.settings().required);
        }
    }

    /// Registers cached tools without starting any server.
    pub fn publish_cached(&self) {
        for (name, unusable) in &self.invalid_entries {
            server::explain_tool_absence(&self.shared.engine, name, &unusable.to_error());
        }
        for server in self.servers.values() {
            if !server.settings().enabled {
                server.explain_absence("is disabled", None);
            } else if !server.publish_cached() {
                server.explain_absence("has not listed its tools yet", None);
            }
        }
    }

    fn enabled(&self) -> impl Iterator<Item = &Arc<SupervisedServer>> {
        self.servers.values().filter(|server| server.settings().enabled)
    }

    fn get(&self, name: &str) -> Result<&Arc<SupervisedServer>, ToolError> {
        self.servers.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            let error = ToolError::not_found(format!("There is no MCP server '{name}'"));
            match names.as_slice() {
                [] => error.with_hint("Add one with `hermes mcp add`."),
                names => error.with_hint(format!("Available: {}.", names.join(", "))),
            }
        })
    }

    /// Waits for the required servers. Returns the error of the first that is
    /// unavailable.
    pub async fn wait_required(&self) -> Result<(), ToolError> {
        if let Some(unusable) = self.invalid_entries.values().find(|it| it.required) {
            return Err(required_missing_error(&unusable.to_error()));
        }
        for server in self.enabled().filter(|server| server.settings().required) {
            server.wait_settled().await.map_err(|error| required_missing_error(&error))?;
        }
        Ok(())
    }

    /// Waits until every server without a cached catalogue has responded or
    /// failed, up to `patience`. Slower servers join later.
    pub async fn wait_settled(&self, timeout: Duration) {
        let unknown = self.enabled().filter(|server| server.catalogue().is_none());
        let all = futures_util::future::join_all(unknown.map(|server| server.wait_settled()));
        let _ = tokio::time::timeout(timeout, all).await;
    }

    /// Servers without a cached catalogue that have neither responded nor
    /// failed.
    pub fn pending(&self) -> Vec<&str> {
        let on_their_way = self.enabled().filter(|server| {
            server.catalogue().is_none()
                && matches!(server.phase(), ServerPhase::Idle | ServerPhase::Connecting)
        });
        on_their_way.map(|server| server.name()).collect()
    }

    /// Returns the status of each server, by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.servers.values().map(|server| server_status(server)).collect()
    }

    /// Starts a server if needed and tests it.
    pub async fn test_server(&self, name: &str) -> Result<ServerTrial, ToolError> {
        let server = self.get(name)?;
        if !server.settings().enabled {
            return Err(ToolError::unavailable(format!("The MCP server '{name}' is disabled"))
                .with_hint("Set `enabled: true` in its entry of `mcp_servers`."));
        }
        let cx = ToolContext::bare("/");
        let began = Instant::now();
        let connection = server.connection(&cx).await?;
        let ready = began.elapsed();
        let timeout = Duration::from_secs(10).min(server.settings().timeout);
        let timeout = RequestTimeouts { idle: timeout, total: timeout };
        let asked = Instant::now();
        let request = subscriptions::liveness_request(connection.era());
        match connection.request(request, timeout, None).await {
            Err(fault) if fault.is_connection_failure() => {
                let text = format!("The MCP server '{name}' does not respond: {fault}");
                return Err(ToolError::new(ErrorKind::Network, text));
            }
            _ => {}
        }
        let answered = asked.elapsed();
        let tools: Vec<String> = server.published().tools.into_keys().collect();
        let snapshot = self.shared.engine.snapshot();
        let length: usize = tools
            .iter()
            .filter_map(|tool| snapshot.get(tool))
            .map(|it| it.definition().len())
            .sum();
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        Ok(ServerTrial {
            status: server_status(server),
            ready_ms: millis(ready),
            answer_ms: millis(answered),
            schema_tokens: length.div_ceil(4),
            tools,
        })
    }

    /// Accepts the tools of a server as they are now: one, by its server or
    /// model name, or all. Returns how many of them were held back or new.
    pub fn accept_tools(&self, name: &str, tool: Option<&str>) -> Result<usize, ToolError> {
        let server = self.get(name)?;
        let kept = server.catalogue();
        let kept = kept.or_else(|| {
            let written = &server.settings().raw_entry;
            Kept::load(&self.shared.catalogues, name, written).map(Arc::new)
        });
        let Some(catalogue) = kept else {
            return Err(ToolError::not_found(format!("The tools of '{name}' are not known yet"))
                .with_hint(format!("Run `hermes mcp test {name}` to fetch them.")));
        };
        let tool = match tool {
            None => None,
            Some(tool) => {
                let mut theirs = catalogue.tools.iter().map(pins::tool_name);
                let known = theirs.clone().find(|it| *it == tool);
                let known = known.or_else(|| theirs.find(|it| names::model_name(name, it) == tool));
                Some(known.ok_or_else(|| unknown_tool_error(name, tool, &catalogue))?)
            }
        };
        let dir = &self.shared.pins;
        // An unreadable file is replaced: only here has the user confirmed the
        // tools.
        let mut pins = ToolPins::load(dir, name).ok().flatten().unwrap_or_default();
        let accepted = pins.accept(&server.identity(), &catalogue.tools, tool);
        pins.save(dir, name)
            .map_err(|error| ToolError::io("Cannot save the accepted tools", &error))?;
        server.publish(&catalogue);
        Ok(accepted)
    }

    /// Logs in to a server, with the user's help.
    pub async fn login(&self, name: &str, visitor: &dyn LoginPrompter) -> Result<(), ToolError> {
        let server = self.get(name)?;
        oauth::login(server, visitor).await?;
        server.retry_now();
        Ok(())
    }

    /// Stops a server and unregisters its tools. Keeps its cached data.
    pub async fn stop_server(&self, name: &str) {
        let Some(server) = self.servers.get(name) else { return };
        server.shut_down().await;
        server.withdraw();
    }

    /// Removes all stored data of a server: catalogue, pins and login.
    pub async fn forget_server(&self, name: &str) -> Result<(), ToolError> {
        let server = self.get(name)?;
        if !matches!(server.phase(), ServerPhase::Idle | ServerPhase::Stopped) {
            server.shut_down().await;
        }
        server.withdraw();
        Kept::forget(&self.shared.catalogues, name);
        let _ = std::fs::remove_file(ToolPins::pins_path(&self.shared.pins, name));
        logout(&self.shared.logins, name);
        Ok(())
    }

    /// Stops every server and waits until all have exited.
    pub async fn stop(&self) {
        futures_util::future::join_all(self.enabled().map(|server| server.shut_down())).await;
        // Even a short run finishes the cleanup after a crash.
        let clearing = self.cleanup.lock().take();
        if let Some(clearing) = clearing {
            let _ = clearing.await;
        }
    }
}

fn unknown_tool_error(server: &str, tool: &str, catalogue: &Kept) -> ToolError {
    let tools =
        catalogue.tools.iter().map(|tool| names::printable_name(server, pins::tool_name(tool)));
    let tools = tools.take(20).collect::<Vec<_>>().join(", ");
    ToolError::not_found(format!("'{server}' has no tool '{tool}'")).with_hint(match &*tools {
        "" => "It has no tools.".to_owned(),
        tools => format!("It has {tools}."),
    })
}

/// Returns the error for a required server that is unavailable.
fn required_missing_error(error: &ToolError) -> ToolError {
    let message = format!("A required MCP server is not available. {}", error.message());
    let shown = ToolError::unavailable(message).with_hint(error.hint());
    error.details().iter().fold(shown, |it, (key, value)| it.with(key, value.clone()))
}

/// Formats why a tool is held back, for the user.
fn held_back_reason(why: &ToolError) -> String {
    match why.details().get("difference").and_then(|it| it.as_str()) {
        Some(difference) => format!("{}:\n{difference}", why.message()),
        None => why.message().to_owned(),
    }
}

fn server_status(server: &SupervisedServer) -> ServerStatus {
    let phase = server.phase();
    let catalogue = server.catalogue();
    let published = server.published();
    let sampled = server.client_handler().sampling.counts();
    ServerStatus {
        name: server.name().to_owned(),
        transport: server.settings().transport_name(),
        status: match &phase {
            _ if !server.settings().enabled => "disabled",
            ServerPhase::Idle => "idle",
            ServerPhase::Connecting => "connecting",
            ServerPhase::Ready(_) => "connected",
            ServerPhase::Failed(..) => "failed",
            ServerPhase::Stopped => "stopped",
        },
        tools: published.tools.len(),
        reasons: published
            .held_back
            .iter()
            .map(|(tool, why)| (tool.clone(), held_back_reason(why)))
            .collect(),
        held_back: published.held_back.into_keys().collect(),
        news: published.new_tools,
        problems: server.notes().into_iter().chain(published.problems).collect(),
        notes: catalogue.as_ref().map(|it| it.notes.clone()).unwrap_or_default(),
        error: match phase {
            ServerPhase::Failed(_, error) => Some(error.message().to_owned()),
            _ => None,
        },
        protocol: catalogue.as_ref().map(|it| it.protocol.clone()),
        program: catalogue
            .and_then(|it| it.program.clone())
            .map(|(name, version)| sanitize::excerpt(&format!("{name} {version}"), 100)),
        sampling: (sampled != SamplingCounts::default()).then_some(sampled),
        log: server.client_handler().log(),
    }
}
