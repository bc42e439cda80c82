//! Our tools for other programs: a server that any client of the protocol can
//! talk to, on standard input and output or over HTTP. Every call goes through
//! the whole pipeline of the engine, as if it came from anywhere else.
//!
//! ```text
//! stdio, lines ──┐              ┌ catalogue   what there is
//!                ├─ Handler ────┼ call        one call, its progress, its questions
//! http, request ─┘              ├ skills      prompts and resources
//!                               └ changes     what there is has changed
//! ```

mod batch;
mod call;
mod catalogue;
mod changes;
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

/// Tools, prompts or resources on one page of a list.
const DEFAULT_PAGE_SIZE: usize = 200;

/// How the server presents itself, and what it offers.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What a model should know of it, in a few sentences.
    pub instructions: Option<String>,
    /// Which tools it offers at first.
    pub selection: ToolSelection,
    /// Whether the client's user may be asked, where the client can do that.
    pub can_elicit: bool,
    /// How many tools, prompts or resources are on one page of a list.
    pub page_size: usize,
    /// Skills that it offers as prompts and resources, if any.
    pub skills: Option<Arc<ServedSkills>>,
}

impl ServeSettings {
    /// A server of that name and version which offers every tool.
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

/// Makes the caller for the session of that id.
pub type CallerFactory = Arc<dyn Fn(&str) -> Caller + Send + Sync>;

/// A server. Cheap to clone; clones are the same server.
#[derive(Clone)]
pub struct McpServer {
    shared: Arc<ServerShared>,
}

/// What all clients of a server have in common.
pub(crate) struct ServerShared {
    pub(crate) engine: Engine,
    pub(crate) settings: ServeSettings,
    /// Which tools are offered now.
    selection: Mutex<Arc<ToolSelection>>,
    pub(crate) catalogue: ToolCatalogue,
    pub(crate) changes: ListChanges,
    pub(crate) request_states: RequestStates,
    /// Calls whose clients come back for the answer.
    pub(crate) tasks: TaskManager,
    /// Stops every call.
    pub(crate) cancel_calls: CancellationToken,
    /// Set when there is nobody left to be told of changes.
    pub(crate) clients_gone: CancellationToken,
    caller_factory: CallerFactory,
    /// The session of clients that have none of their own.
    common_session: String,
    calls_made: AtomicU64,
}

impl McpServer {
    /// A server for the tools of `engine`. Fails if the system has no random
    /// numbers to give.
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

    /// From now on these tools are offered; clients are told if that makes a
    /// difference.
    pub fn select(&self, selection: ToolSelection) {
        *self.shared.selection.lock() = Arc::new(selection);
    }

    /// What answers one client.
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

    /// A name for a call that no other call of this server has.
    pub(crate) fn next_call_id(&self) -> String {
        format!("call-{}", self.calls_made.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A name for a session that nobody can guess.
pub(crate) fn session_id() -> io::Result<String> {
    Ok(format!("mcp-{}", secret::hex(&secret::random_bytes::<8>()?)))
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("engine", &self.shared.engine)
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}
