//! MCP server for the tools of the engine, over standard input and output or
//! HTTP. Every call goes through the whole pipeline of the engine, like any
//! other call.
//!
//! ```text
//! stdio, lines ──┐              ┌ catalogue   tool list
//!                ├─ Handler ────┼ call        one call, its progress, its questions
//! http, request ─┘              ├ skills      prompts and resources
//!                               └ changes     list-changed notifications
//! ```

mod batch;
mod call;
mod catalogue;
mod changes;
mod connections;
mod cors;
mod elicitation;
mod handler;
mod http;
mod line_transport;
mod message;
mod pending;
mod progress;
mod reply_body;
mod request;
mod request_state;
mod secret;
mod sessions;
mod skills;
mod stdio;
mod task;
mod tool_result;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hermes_core::CancellationToken;
use hermes_engine::toolsets::ToolSelection;
use hermes_engine::{Caller, Engine};
use parking_lot::Mutex;
use rmcp::task_manager::TaskManager;

use catalogue::ToolCatalogue;
use changes::ListChanges;
use request_state::RequestStates;

pub use handler::{McpServerHandler, TransportKind};
pub use http::{HttpAccessPolicy, HttpAuth, serve_http};
pub use secret::{BearerToken, InvalidTokenError};
pub use skills::{ServedSkills, TextRedactor};
pub use stdio::serve_stdio;

/// Default number of tools, prompts or resources on a page.
const DEFAULT_PAGE_SIZE: usize = 200;

/// Identity of the server and what it offers.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Instructions for the model, in a few sentences.
    pub instructions: Option<String>,
    /// The tools it offers initially.
    pub selection: ToolSelection,
    /// Whether the client's user may be asked, if the client supports it.
    pub can_elicit: bool,
    /// Number of tools, prompts or resources on a page.
    pub page_size: usize,
    /// Skills offered as prompts and resources, if any.
    pub skills: Option<Arc<ServedSkills>>,
}

impl ServeSettings {
    /// Settings for a server with this name and version that offers every tool.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            instructions: None,
            selection: ToolSelection::default(),
            can_elicit: true,
            page_size: DEFAULT_PAGE_SIZE,
            skills: None,
        }
    }
}

/// Creates the caller for a session id.
pub type CallerFactory = Arc<dyn Fn(&str) -> Caller + Send + Sync>;

/// An MCP server. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct McpServer {
    shared: Arc<ServerShared>,
}

/// State that all clients of a server share.
pub(crate) struct ServerShared {
    pub(crate) engine: Engine,
    pub(crate) settings: ServeSettings,
    /// The tools offered now.
    selection: Mutex<Arc<ToolSelection>>,
    pub(crate) catalogue: ToolCatalogue,
    pub(crate) changes: ListChanges,
    pub(crate) request_states: RequestStates,
    /// Calls that clients poll as tasks.
    pub(crate) tasks: TaskManager,
    /// Cancels every call.
    pub(crate) cancel_calls: CancellationToken,
    /// Set when no client is left to be notified of changes.
    pub(crate) clients_gone: CancellationToken,
    caller_factory: CallerFactory,
    /// The session of clients without one.
    common_session: String,
    calls_made: AtomicU64,
}

impl McpServer {
    /// Creates a server for the tools of `engine`. Fails if the system provides
    /// no random numbers.
    pub fn new(
        engine: Engine,
        settings: ServeSettings,
        callers: CallerFactory,
    ) -> io::Result<Self> {
        let shared = ServerShared {
            engine,
            selection: Mutex::new(Arc::new(settings.selection.clone())),
            settings,
            catalogue: ToolCatalogue::default(),
            changes: ListChanges::default(),
            request_states: RequestStates::new()?,
            tasks: TaskManager::new(),
            cancel_calls: CancellationToken::new(),
            clients_gone: CancellationToken::new(),
            caller_factory: callers,
            common_session: session_id()?,
            calls_made: AtomicU64::new(0),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Replaces the offered tools. Clients are notified if the list changes.
    pub fn select(&self, selection: ToolSelection) {
        *self.shared.selection.lock() = Arc::new(selection);
    }

    /// Creates the handler of one client.
    pub fn handler(&self, carrier: TransportKind) -> McpServerHandler {
        McpServerHandler::new(Arc::clone(&self.shared), carrier)
    }
}

impl ServerShared {
    pub(crate) fn selection(&self) -> Arc<ToolSelection> {
        Arc::clone(&self.selection.lock())
    }

    pub(crate) fn caller(&self, session: &str) -> Caller {
        (self.caller_factory)(session)
    }

    pub(crate) fn common_session(&self) -> &str {
        &self.common_session
    }

    /// Returns a call id that is unique in this server.
    pub(crate) fn next_call_id(&self) -> String {
        format!("call-{}", self.calls_made.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Returns an unguessable session id.
pub(crate) fn session_id() -> io::Result<String> {
    Ok(format!("mcp-{}", secret::hex(&secret::random_bytes::<8>()?)))
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("engine", &self.shared.engine)
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}
