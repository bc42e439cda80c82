//! `hermes mcp serve`: serves tools to MCP clients.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use hermes::core::{CancellationToken, ErrorKind, MemorySessionStore, Session, SessionStore};
use hermes::engine::SecretSource as _;
use hermes::engine::toolsets::SERVER_PREFIX;
use hermes_config::HermesHome;
use hermes_mcp::server::{
    BearerToken, CallerFactory, HttpAccessPolicy, HttpAuth, McpServer, ServeSettings, ServedSkills,
    TransportKind, serve_http, serve_stdio,
};
use serde_json::json;
use tokio::net::TcpListener;

use super::reload::ConfigReloader;
use crate::app::{AppContext, AppServices, OPEN_TIMEOUT};
use crate::args::{CallOptions, ToolsetFilter};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::runtime;
use crate::mcp_servers::ServerSelection;
use crate::terminal::TerminalOutput;
use hermes::RedactingStore;

/// Toolset that is served by default.
const DEFAULT_TOOLSET: &str = "coding";

/// Toolsets excluded by default, because their data is private to the user.
const PRIVATE_TOOLSETS: [&str; 2] = ["memory", "session_search"];

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve HTTP at this address instead of stdio: 127.0.0.1:PORT, or just
    /// PORT
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    http: Option<SocketAddr>,
    /// Toolsets to serve [default: coding, without memory and session_search]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    toolsets: Vec<String>,
    /// Toolsets to exclude
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    without: Vec<String>,
    /// Environment variable with the HTTP token, instead of a file in
    /// HERMES_HOME
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    token_env: Option<String>,
    /// Additional host name that clients may use
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Web origin that may call the server, such as `https://example.com:443`
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Do not ask the client's user: refuse calls that need approval, with a
    /// token
    #[arg(long)]
    no_questions: bool,
    /// Do not serve skills as prompts and resources
    #[arg(long)]
    no_skills: bool,
    #[command(flatten)]
    options: CallOptions,
}

pub(crate) fn run(app: &AppContext, args: &ServeArgs) -> CommandResult {
    let ready = Arc::new(app.services()?);
    // Start other servers only if their tools are forwarded, or if they are
    // required.
    let passes_on = args.toolsets.iter().any(|name| name.starts_with(SERVER_PREFIX));
    let wanted = if passes_on { ServerSelection::All } else { ServerSelection::RequiredOnly };
    ready.connect_servers(app, wanted)?;
    let choice = toolset_filter(args);
    let mut settings = server_settings(&ready, args, &choice)?;
    let caller = app.caller_even_if_closed(&ready, &args.options, &[], Some(OPEN_TIMEOUT))?;
    if !args.no_skills {
        settings.skills = Some(Arc::new(served_skills(app, &ready, args, &caller.cwd)?));
    }
    let stop = caller.cancel.clone();
    let server =
        McpServer::new(ready.engine().clone(), settings, caller_factory(&ready, args, caller))
            .map_err(|e| serve_error(&e))?;
    ready.warn_of_leftovers(app);
    let entrance = match args.http {
        None => None,
        Some(address) => Some(open_endpoint(ready.home(), args, address)?),
    };
    let (terminal, json) = (app.terminal, app.json);
    let (engine, leaving) = (ready.engine().clone(), ready.teardown());
    let reload = ConfigReloader {
        app: app.clone(),
        ready: Arc::clone(&ready),
        server: server.clone(),
        choice,
        forwards_servers: passes_on,
    };
    let served = runtime::with_tools(&stop.clone(), async move {
        let over = CancellationToken::new();
        let reloading = tokio::spawn(reload.watch(over.clone()));
        let served = match entrance {
            None => serve_stdio(&server, server.handler(TransportKind::Stdio), stop).await,
            Some(entrance) => {
                // Only now: a reader of the address may send a signal, and
                // signals are handled from here on.
                let _ = entrance.announce(terminal, json);
                serve_endpoint(&server, entrance, stop).await
            }
        };
        engine.shutdown().await;
        over.cancel();
        let _ = reloading.await;
        leaving.run().await;
        served
    })?;
    ready.flush_records(app);
    served.map_err(|e| serve_error(&e))?;
    Ok(CliExitCode::Ok)
}

fn serve_error(error: &io::Error) -> CommandError {
    CommandError::failed(ErrorKind::Internal, format!("The server failed: {error}"))
}

/// Returns the toolsets to serve.
fn toolset_filter(args: &ServeArgs) -> ToolsetFilter {
    let (mut toolsets, mut without) = (args.toolsets.clone(), args.without.clone());
    if toolsets.is_empty() {
        toolsets.push(DEFAULT_TOOLSET.to_owned());
        without.extend(PRIVATE_TOOLSETS.map(str::to_owned));
    }
    ToolsetFilter { toolsets, without }
}

fn server_settings(
    ready: &AppServices,
    args: &ServeArgs,
    choice: &ToolsetFilter,
) -> Result<ServeSettings, CommandError> {
    let selection = ready.selection(choice);
    // Report unknown toolsets now, not at the first `tools/list`.
    let snapshot = ready.engine().snapshot();
    ready
        .engine()
        .toolsets()
        .select(&selection, &*snapshot)
        .map_err(|e| ready.unknown_toolset_error(e))?;
    Ok(ServeSettings {
        instructions: Some(
            "Tools that work on the user's machine. Relative paths are relative to the \
             session's working directory. A call that needs permission says how to get it."
                .to_owned(),
        ),
        selection,
        can_elicit: !args.no_questions,
        ..ServeSettings::new("hermes", env!("CARGO_PKG_VERSION"))
    })
}

/// Returns the available skills that the policy allows reading.
fn served_skills(
    app: &AppContext,
    ready: &AppServices,
    args: &ServeArgs,
    cwd: &Path,
) -> Result<ServedSkills, CommandError> {
    let shelf = crate::commands::skills::skill_library(ready.home(), &ready.config, cwd);
    let permissions =
        app.permissions(ready, &args.options.profile, cwd, args.options.mode.chosen())?;
    let secrets = Arc::clone(ready.secrets());
    let redact = move |text: &str| secrets.redactor().redact(text).into_owned();
    Ok(ServedSkills::new(shelf, permissions, Arc::new(redact)))
}

/// Creates a session for each client, unless `--session` names a shared one.
fn caller_factory(
    ready: &AppServices,
    args: &ServeArgs,
    base: hermes::engine::Caller,
) -> CallerFactory {
    let is_shared = args.options.session.as_deref().is_some_and(|id| !id.is_empty());
    let store =
        RedactingStore::new(Box::new(MemorySessionStore::default()), Arc::clone(ready.secrets()));
    let store: Arc<dyn SessionStore> = Arc::new(store);
    let options = args.options.clone();
    Arc::new(move |id| {
        let mut caller = base.clone();
        caller.deadline = options.deadline();
        caller.observer = None;
        if !is_shared {
            caller.session = Session::new(id, Arc::clone(&store));
        }
        caller
    })
}

async fn serve_endpoint(
    server: &McpServer,
    entrance: HttpEndpoint,
    stop: CancellationToken,
) -> io::Result<()> {
    let listener = TcpListener::from_std(entrance.listener)?;
    let made = server.clone();
    serve_http(server, listener, entrance.access, move || made.handler(TransportKind::Http), stop)
        .await
}

/// Listener and access rules for HTTP clients.
struct HttpEndpoint {
    listener: std::net::TcpListener,
    access: HttpAccessPolicy,
    bound: SocketAddr,
    /// File with the token, if hermes generated it.
    token_file: Option<PathBuf>,
}

impl HttpEndpoint {
    /// Prints the URL and where to find the token.
    fn announce(&self, terminal: TerminalOutput, json: bool) -> Result<(), CommandError> {
        let url = format!("http://{}/mcp", self.bound);
        let file = self.token_file.as_ref().map(|file| file.display().to_string());
        if json {
            let shown = json!({ "schema_version": 1, "url": url, "token_file": file });
            terminal.print_line(&shown.to_string())?;
        } else {
            terminal.print_line(&url)?;
        }
        if let Some(file) = file {
            terminal.note(&format!(
                "Clients must send `Authorization: Bearer TOKEN`; the token is in {file}."
            ));
        }
        if !self.bound.ip().is_loopback() {
            terminal.warn("Other machines can connect, and the traffic is not encrypted.");
        }
        Ok(())
    }
}

fn open_endpoint(
    home: &HermesHome,
    args: &ServeArgs,
    address: SocketAddr,
) -> Result<HttpEndpoint, CommandError> {
    let (token, token_file) = match &args.token_env {
        Some(variable) => (token_from_env(variable)?, None),
        None => home_token(home).map(|(token, file)| (token, Some(file)))?,
    };
    let cannot = |e: io::Error| {
        CommandError::usage(format!("Cannot listen on {address}: {e}"))
            .hint("Choose another port, or 0 for any free port.")
    };
    let listener = std::net::TcpListener::bind(address).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let door = HttpAccessPolicy {
        auth: HttpAuth::Token(token),
        hosts: args.allow_host.clone(),
        origins: args.allow_origin.clone(),
    };
    Ok(HttpEndpoint { listener, access: door, bound, token_file })
}

fn token_from_env(variable: &str) -> Result<BearerToken, CommandError> {
    let value = std::env::var(variable).map_err(|_| {
        CommandError::usage(format!("--token-env {variable}: the variable is not set"))
            .hint("Set it to the token that clients must send.")
    })?;
    BearerToken::new(&value)
        .map_err(|e| CommandError::usage(format!("--token-env {variable}: {e}")))
}

/// Returns the token of this home. It is generated once, so clients keep
/// working after a restart.
fn home_token(home: &HermesHome) -> Result<(BearerToken, PathBuf), CommandError> {
    let file = home.root().join("mcp-server-token");
    let problem = |what: String| {
        CommandError::usage(format!("{}: {what}", file.display()))
            .hint("Delete the file to generate a new token, or use --token-env VARIABLE.")
    };
    match std::fs::read_to_string(&file) {
        Ok(text) => {
            let token = BearerToken::new(&text).map_err(|e| problem(e.to_string()))?;
            Ok((token, file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = BearerToken::generate().map_err(|e| problem(e.to_string()))?;
            std::fs::create_dir_all(home.root()).map_err(|e| problem(e.to_string()))?;
            let text = format!("{}\n", token.expose());
            hermes_store::atomic::write_atomic(&file, text.as_bytes(), 0o600)
                .map_err(|e| problem(e.to_string()))?;
            Ok((token, file))
        }
        Err(error) => Err(problem(error.to_string())),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named.as_deref().unwrap_or(text).parse().map_err(|_| {
        "must be an address and a port, such as 127.0.0.1:8808, or just a port".to_owned()
    })
}
