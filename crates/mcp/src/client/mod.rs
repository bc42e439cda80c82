//! Servers of others: their tools in our registry.
//!
//! [`Servers`] are all that a program uses. Each is looked after on its own:
//! what it offered last time is offered at once, and the server itself is
//! started when it is first needed.

mod asker;
mod breaker;
mod catalogue;
mod connection;
mod content;
mod deep;
mod describe;
mod dial;
mod digest;
mod extras;
mod fault;
mod format;
mod host;
mod http;
mod listen;
mod login;
pub mod names;
mod osv;
mod pins;
mod pipes;
mod plain;
mod probe;
mod program;
mod read;
mod sampling;
mod screen;
mod server;
mod settings;
mod sse;
mod tail;
mod task;
mod tls;
mod tool;
mod web;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_engine::Engine;
use hermes_exec::job_records::JobRecords;
use serde::Serialize;
use tokio::task::JoinHandle;

pub use asker::{Answer, Asker, ByClarify, Field, FieldKind, Question};
pub use catalogue::Catalogue;
pub use connection::Era;
pub use login::{Visitor, logout};
pub use sampling::{Chosen, Models, Sampled};
pub use settings::{
    ElicitationSettings, Link, OAuthSettings, Roots, SamplingSettings, ServerSettings, Settings,
    ToolFilter, Unusable,
};
pub use tls::TlsSettings;

use catalogue::Catalogue as Kept;
use connection::Patience;
use content::Media;
use pins::Pins;
use server::{Phase, Server};

/// What is kept of answers for so long.
const MEDIA_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What servers need of the program around them.
pub struct Deps {
    /// Where their tools go.
    pub engine: Engine,
    /// A folder for what can be had again: catalogues, pictures.
    pub cache: PathBuf,
    /// A folder for what cannot: what tools were like at first, logins, what
    /// runs.
    pub state: PathBuf,
    /// The folders that servers are told of.
    pub roots: Vec<PathBuf>,
    /// Who can be asked; without anybody, no server may ask.
    pub asker: Option<Arc<dyn Asker>>,
    /// The models that servers may use.
    pub models: Option<Arc<dyn Models>>,
    /// Our own variables, of which programs get the harmless ones.
    pub surroundings: Vec<(String, String)>,
    /// Where is asked whether a package is known to be harmful; nowhere if
    /// there is none.
    pub osv: Option<String>,
}

impl std::fmt::Debug for Deps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deps").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// The place where the world looks up harmful packages.
pub const OSV: &str = "https://api.osv.dev/v1/query";

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) catalogues: PathBuf,
    pub(crate) verdicts: PathBuf,
    pub(crate) pins: PathBuf,
    pub(crate) logins: PathBuf,
    pub(crate) media: Media,
    media_folder: PathBuf,
    pub(crate) leftovers: Option<JobRecords>,
    pub(crate) surroundings: Vec<(String, String)>,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) models: Option<Arc<dyn Models>>,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) osv: Option<String>,
    plain_names: BTreeMap<String, usize>,
}

impl Shared {
    /// Whether no other server is called the same in Hermes Agent.
    pub(crate) fn is_plain_name_unique(&self, server: &str) -> bool {
        self.plain_names.get(&names::plain(server)).is_none_or(|count| *count == 1)
    }
}

/// The servers of a program.
pub struct Servers {
    servers: BTreeMap<String, Arc<Server>>,
    shared: Arc<Shared>,
    problems: Vec<String>,
    unusable: BTreeMap<String, Unusable>,
    /// What clears away after others, once it is begun.
    clearing: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Servers").field("names", &self.servers.keys()).finish_non_exhaustive()
    }
}

/// How a server is doing.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// `idle`, `connecting`, `connected`, `failed`, `stopped` or `disabled`.
    pub status: &'static str,
    /// How many of its tools are in the registry.
    pub tools: usize,
    /// Those that are held back because they have changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Why each of these is, with what is different.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, String>,
    /// Those that the server has added since it was first used; they can be
    /// called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
    /// What is wrong with it, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What is worth knowing of its tools and no problem, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The version of the protocol that it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What it has asked of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampled>,
    /// What it has logged lately.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// What a trial of a server has shown.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// How it is doing.
    pub status: Status,
    /// How long it took until its tools were known, in milliseconds.
    pub ready_ms: f64,
    /// How long a harmless request takes, in milliseconds.
    pub answer_ms: f64,
    /// About how many tokens the definitions of its tools take.
    pub schema_tokens: usize,
    /// The names of its tools, for models.
    pub tools: Vec<String>,
}

impl Servers {
    /// The servers that are set down. Nothing is started yet.
    pub fn new(settings: Settings, deps: Deps) -> Self {
        let mut plain_names = BTreeMap::new();
        for name in settings.servers.keys() {
            *plain_names.entry(names::plain(name)).or_insert(0) += 1;
        }
        let cache = deps.cache.join("mcp");
        let state = deps.state.join("mcp");
        let shared = Arc::new(Shared {
            engine: deps.engine,
            catalogues: cache.join("catalogues"),
            verdicts: cache.join("packages"),
            media: Media::new(cache.join("media")),
            media_folder: cache.join("media"),
            pins: state.join("pins"),
            logins: deps.state.join("mcp-tokens"),
            leftovers: JobRecords::open(state.join("running")).ok(),
            surroundings: deps.surroundings,
            asker: deps.asker,
            models: deps.models,
            roots: deps.roots,
            osv: deps.osv,
            plain_names,
        });
        let servers = settings.servers.into_iter().map(|(name, settings)| {
            let server = Server::new(&name, settings, &shared);
            (name, server)
        });
        Self {
            servers: servers.collect(),
            shared,
            problems: settings.problems,
            unusable: settings.unusable,
            clearing: Mutex::default(),
        }
    }

    /// What is wrong with entries that cannot be used, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Offers what is known of before, and begins to look after the servers.
    /// Returns at once: a server of which nothing is known, or that is
    /// required, is started in the background; the others when they are first
    /// needed. Must be called within a runtime.
    pub fn start(&self) {
        self.start_those(|_| true);
    }

    /// The same for a call of this tool alone: of the servers of which nothing
    /// is known only that is started whose tool it is, and its tools are waited
    /// for. Why there are none, the call will tell.
    pub async fn start_for(&self, tool: &str) {
        self.start_those(|server| names::is_of(server, tool));
        let asked = self.enabled().filter(|server| names::is_of(server.name(), tool));
        let unknown = asked.filter(|server| server.catalogue().is_none());
        futures_util::future::join_all(unknown.map(|server| server.settled())).await;
    }

    fn start_those(&self, is_wanted: impl Fn(&str) -> bool) {
        let shared = Arc::clone(&self.shared);
        // What a crash has left is none of this run's business, but somebody
        // must end it.
        let clearing = tokio::task::spawn_blocking(move || {
            if let Some(leftovers) = &shared.leftovers {
                program::reap(leftovers);
            }
            content::sweep(&shared.media_folder, MEDIA_AGE);
        });
        *self.clearing.lock().unwrap_or_else(PoisonError::into_inner) = Some(clearing);
        self.recall();
        for server in self.enabled() {
            let is_new = server.catalogue().is_none() && is_wanted(server.name());
            server.begin(is_new || server.settings().required);
        }
    }

    /// Offers what is known of before, and starts nothing.
    pub fn recall(&self) {
        for (name, unusable) in &self.unusable {
            server::absent(&self.shared.engine, name, &unusable.error());
        }
        for server in self.servers.values() {
            if !server.settings().enabled {
                server.explain_absence("is switched off", None);
            } else if !server.recall() {
                server.explain_absence("has not been asked yet for its tools", None);
            }
        }
    }

    fn enabled(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values().filter(|server| server.settings().enabled)
    }

    fn get(&self, name: &str) -> Result<&Arc<Server>, ToolError> {
        self.servers.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            let error = ToolError::not_found(format!("There is no MCP server '{name}'"));
            match names.as_slice() {
                [] => error.with_hint("`hermes mcp add` sets one down."),
                names => error.with_hint(format!("There are: {}.", names.join(", "))),
            }
        })
    }

    /// Waits for the servers without which nothing may begin. The error is
    /// that of the first one that is not there.
    pub async fn required(&self) -> Result<(), ToolError> {
        if let Some(unusable) = self.unusable.values().find(|it| it.required) {
            return Err(missing(&unusable.error()));
        }
        for server in self.enabled().filter(|server| server.settings().required) {
            server.settled().await.map_err(|error| missing(&error))?;
        }
        Ok(())
    }

    /// Waits until every server of which nothing is known has answered or
    /// failed, but no longer than this. Whoever is later joins later.
    pub async fn settle(&self, patience: Duration) {
        let unknown = self.enabled().filter(|server| server.catalogue().is_none());
        let all = futures_util::future::join_all(unknown.map(|server| server.settled()));
        let _ = tokio::time::timeout(patience, all).await;
    }

    /// The servers of which nothing is known and that have neither answered nor
    /// failed.
    pub fn awaited(&self) -> Vec<&str> {
        let on_their_way = self.enabled().filter(|server| {
            server.catalogue().is_none()
                && matches!(server.phase(), Phase::Idle | Phase::Connecting)
        });
        on_their_way.map(|server| server.name()).collect()
    }

    /// How each server is doing, by name.
    pub fn status(&self) -> Vec<Status> {
        self.servers.values().map(|server| status_of(server)).collect()
    }

    /// Starts a server if need be, and looks how it does.
    pub async fn try_out(&self, name: &str) -> Result<Trial, ToolError> {
        let server = self.get(name)?;
        if !server.settings().enabled {
            return Err(ToolError::unavailable(format!("The MCP server '{name}' is switched off"))
                .with_hint("Set `enabled: true` in its entry of `mcp_servers`."));
        }
        let cx = ToolContext::bare("/");
        let began = Instant::now();
        let connection = server.connection(&cx).await?;
        let ready = began.elapsed();
        let patience = Duration::from_secs(10).min(server.settings().timeout);
        let patience = Patience { idle: patience, total: patience };
        let asked = Instant::now();
        let request = listen::sign_of_life(connection.era());
        match connection.request(request, patience, None).await {
            Err(fault) if fault.is_breakdown() => {
                let text = format!("The MCP server '{name}' does not answer: {fault}");
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
        Ok(Trial {
            status: status_of(server),
            ready_ms: millis(ready),
            answer_ms: millis(answered),
            schema_tokens: length.div_ceil(4),
            tools,
        })
    }

    /// Takes the tools of a server as they are now: one by its name at the
    /// server or the one for models, or all. How many of them were held back or
    /// new.
    pub fn accept(&self, name: &str, tool: Option<&str>) -> Result<usize, ToolError> {
        let server = self.get(name)?;
        let kept = server.catalogue();
        let kept = kept.or_else(|| {
            let written = &server.settings().written;
            Kept::load(&self.shared.catalogues, name, written).map(Arc::new)
        });
        let Some(catalogue) = kept else {
            return Err(ToolError::not_found(format!("Nothing is known of the tools of '{name}'"))
                .with_hint(format!("`hermes mcp test {name}` asks the server.")));
        };
        let tool = match tool {
            None => None,
            Some(tool) => {
                let mut theirs = catalogue.tools.iter().map(pins::name_of);
                let known = theirs.clone().find(|it| *it == tool);
                let known = known.or_else(|| theirs.find(|it| names::wire(name, it) == tool));
                Some(known.ok_or_else(|| unknown_tool(name, tool, &catalogue))?)
            }
        };
        let folder = &self.shared.pins;
        // One that cannot be read is written anew: this is the one place where
        // a person has said so.
        let mut pins = Pins::load(folder, name).ok().flatten().unwrap_or_default();
        let accepted = pins.accept(&server.identity(), &catalogue.tools, tool);
        pins.save(folder, name)
            .map_err(|error| ToolError::io("What was accepted cannot be kept", &error))?;
        server.publish(&catalogue);
        Ok(accepted)
    }

    /// Logs in to a server, with the help of whoever is there.
    pub async fn login(&self, name: &str, visitor: &dyn Visitor) -> Result<(), ToolError> {
        let server = self.get(name)?;
        login::login(server, visitor).await?;
        server.encourage();
        Ok(())
    }

    /// Ends a server and takes its tools away. What is known of it is kept.
    pub async fn retire(&self, name: &str) {
        let Some(server) = self.servers.get(name) else { return };
        server.end().await;
        server.withdraw();
    }

    /// Forgets a server: its tools, what they were like, its login.
    pub async fn forget(&self, name: &str) -> Result<(), ToolError> {
        let server = self.get(name)?;
        if !matches!(server.phase(), Phase::Idle | Phase::Stopped) {
            server.end().await;
        }
        server.withdraw();
        Kept::forget(&self.shared.catalogues, name);
        let _ = std::fs::remove_file(Pins::file(&self.shared.pins, name));
        logout(&self.shared.logins, name);
        Ok(())
    }

    /// Ends every server and waits until nothing of them is left.
    pub async fn stop(&self) {
        futures_util::future::join_all(self.enabled().map(|server| server.end())).await;
        // However short the run was, what a crash has left is gone after it.
        let clearing = self.clearing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(clearing) = clearing {
            let _ = clearing.await;
        }
    }
}

fn unknown_tool(server: &str, tool: &str, catalogue: &Kept) -> ToolError {
    let tools = catalogue.tools.iter().map(|tool| names::safe(server, pins::name_of(tool)));
    let tools = tools.take(20).collect::<Vec<_>>().join(", ");
    ToolError::not_found(format!("'{server}' has no tool '{tool}'")).with_hint(match &*tools {
        "" => "It has no tools.".to_owned(),
        tools => format!("It has {tools}."),
    })
}

/// A server is not there without which nothing begins.
fn missing(error: &ToolError) -> ToolError {
    let message = format!("A required MCP server is not there. {}", error.message());
    let told = ToolError::unavailable(message).with_hint(error.hint());
    error.details().iter().fold(told, |it, (key, value)| it.with(key, value.clone()))
}

/// Why a tool is held back, for a person who is to decide on it.
fn reason(why: &ToolError) -> String {
    match why.details().get("difference").and_then(|it| it.as_str()) {
        Some(difference) => format!("{}:\n{difference}", why.message()),
        None => why.message().to_owned(),
    }
}

fn status_of(server: &Server) -> Status {
    let phase = server.phase();
    let catalogue = server.catalogue();
    let published = server.published();
    let sampled = server.host().sampling.counts();
    Status {
        name: server.name().to_owned(),
        transport: server.settings().transport(),
        status: match &phase {
            _ if !server.settings().enabled => "disabled",
            Phase::Idle => "idle",
            Phase::Connecting => "connecting",
            Phase::Ready(_) => "connected",
            Phase::Down(..) => "failed",
            Phase::Stopped => "stopped",
        },
        tools: published.tools.len(),
        reasons: published
            .held_back
            .iter()
            .map(|(tool, why)| (tool.clone(), reason(why)))
            .collect(),
        held_back: published.held_back.into_keys().collect(),
        news: published.news,
        problems: server.notes().into_iter().chain(published.problems).collect(),
        notes: catalogue.as_ref().map(|it| it.notes.clone()).unwrap_or_default(),
        error: match phase {
            Phase::Down(_, error) => Some(error.message().to_owned()),
            _ => None,
        },
        protocol: catalogue.as_ref().map(|it| it.protocol.clone()),
        program: catalogue
            .and_then(|it| it.program.clone())
            .map(|(name, version)| plain::excerpt(&format!("{name} {version}"), 100)),
        sampling: (sampled != Sampled::default()).then_some(sampled),
        log: server.host().log(),
    }
}
