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

mod answer;
mod batch;
mod call;
mod catalogue;
mod changes;
mod cors;
mod handler;
mod http;
mod lines;
mod message;
mod open;
mod progress;
mod question;
mod replies;
mod reply;
mod request;
mod secret;
mod sessions;
mod skills;
mod stdio;
mod task;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::CancellationToken;
use hermes_engine::toolsets::ToolSelection;
use hermes_engine::{Caller, Engine};
use rmcp::task_manager::TaskManager;

use catalogue::Catalogue;
use changes::Changes;
use replies::Replies;

pub use handler::{Carrier, Handler};
pub use http::{Access, Door, serve_http};
pub use secret::{BadToken, Token};
pub use skills::{Redact, Skills};
pub use stdio::serve_stdio;

/// Tools, prompts or resources on one page of a list.
const PAGE: usize = 200;

/// How the server presents itself, and what it offers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What a model should know of it, in a few sentences.
    pub instructions: Option<String>,
    /// Which tools it offers at first.
    pub selection: ToolSelection,
    /// Whether the client's user may be asked, where the client can do that.
    pub asks: bool,
    /// How many tools, prompts or resources are on one page of a list.
    pub page: usize,
    /// Skills that it offers as prompts and resources, if any.
    pub skills: Option<Arc<Skills>>,
}

impl Settings {
    /// A server of that name and version which offers every tool.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            instructions: None,
            selection: ToolSelection::default(),
            asks: true,
            page: PAGE,
            skills: None,
        }
    }
}

/// Makes the caller for the session of that id.
pub type Callers = Arc<dyn Fn(&str) -> Caller + Send + Sync>;

/// A server. Cheap to clone; clones are the same server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What all clients of a server have in common.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    /// Which tools are offered now.
    selection: Mutex<Arc<ToolSelection>>,
    pub(crate) catalogue: Catalogue,
    pub(crate) changes: Changes,
    pub(crate) replies: Replies,
    /// Calls whose clients come back for the answer.
    pub(crate) tasks: TaskManager,
    /// Stops every call.
    pub(crate) calls: CancellationToken,
    /// Set when there is nobody left to be told of changes.
    pub(crate) deserted: CancellationToken,
    callers: Callers,
    /// The session of clients that have none of their own.
    common: String,
    made: AtomicU64,
}

impl Server {
    /// A server for the tools of `engine`. Fails if the system has no random
    /// numbers to give.
    pub fn new(engine: Engine, settings: Settings, callers: Callers) -> io::Result<Self> {
        let shared = Shared {
            engine,
            selection: Mutex::new(Arc::new(settings.selection.clone())),
            settings,
            catalogue: Catalogue::default(),
            changes: Changes::default(),
            replies: Replies::new()?,
            tasks: TaskManager::new(),
            calls: CancellationToken::new(),
            deserted: CancellationToken::new(),
            callers,
            common: session_id()?,
            made: AtomicU64::new(0),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// From now on these tools are offered; clients are told if that makes a
    /// difference.
    pub fn select(&self, selection: ToolSelection) {
        *self.shared.selection.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(selection);
    }

    /// What answers one client.
    pub fn handler(&self, carrier: Carrier) -> Handler {
        Handler::new(Arc::clone(&self.shared), carrier)
    }
}

impl Shared {
    pub(crate) fn selection(&self) -> Arc<ToolSelection> {
        Arc::clone(&self.selection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn caller(&self, session: &str) -> Caller {
        (self.callers)(session)
    }

    pub(crate) fn common_session(&self) -> &str {
        &self.common
    }

    /// A name for a call that no other call of this server has.
    pub(crate) fn next_call(&self) -> String {
        format!("call-{}", self.made.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A name for a session that nobody can guess.
pub(crate) fn session_id() -> io::Result<String> {
    Ok(format!("mcp-{}", secret::hex(&secret::random::<8>()?)))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("engine", &self.shared.engine)
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}
