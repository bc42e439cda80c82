//! The MCP servers configured in the settings.

use std::future::Future;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::Arc;

use hermes::core::{BoxFuture, CancellationToken, ErrorKind, UserPrompter};
use hermes::engine::SecretSource as _;
use hermes_config::{ConfigError, HermesHome, KeyPath, edit, save};
use hermes_mcp::client::{
    ClientDeps, LoginPrompter, McpClientSettings, McpServers, OSV_QUERY_URL, SamplingModels,
    ServerSettings, ServerStatus, ServerTransport, ServerTrial, UserPrompterAdapter,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::app::{AppContext, AppServices};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::runtime;
use crate::table::TextTable;
use crate::terminal::{OutputStyle, TerminalOutput, one_line};

/// Section of the settings with the servers.
pub(super) const SERVERS_SECTION: &str = "mcp_servers";

impl AppServices {
    /// Returns the configured server entries.
    pub(crate) fn mcp_settings(&self) -> Value {
        let path = KeyPath::from_names([SERVERS_SECTION]);
        path.and_then(|path| self.config.get(&path)).map_or(Value::Null, |(value, _)| value)
    }

    /// Creates clients for these entries of `mcp_servers`.
    pub(crate) fn mcp_servers(&self, entries: &Value) -> McpServers {
        let lookup = |name: &str| {
            let found = self.secrets().lookup(name).ok().flatten();
            found.map(|secret| secret.expose().to_owned())
        };
        let surroundings = std::env::vars_os();
        let surroundings = surroundings.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let osv = KeyPath::from_names(["mcp", "osv_url"]).and_then(|path| self.config.get(&path));
        let osv = osv.and_then(|(value, _)| value.as_str().map(str::to_owned));
        let deps = ClientDeps {
            engine: self.engine().clone(),
            cache: self.home().cache_dir(),
            state: self.home().root().to_owned(),
            roots: std::env::current_dir().into_iter().collect(),
            prompter: Some(Arc::new(UserPrompterAdapter(
                Arc::clone(&self.prompter) as Arc<dyn UserPrompter>
            ))),
            models: Some(Arc::clone(&self.subagent_services) as Arc<dyn SamplingModels>),
            own_env: surroundings.collect(),
            osv: Some(osv.unwrap_or_else(|| OSV_QUERY_URL.to_owned()))
                .filter(|url| !url.is_empty()),
        };
        let settings = McpClientSettings::read(entries, &lookup);
        for (name, server) in &settings.servers {
            self.learn_secrets(name, server);
        }
        McpServers::new(settings, deps)
    }

    /// Registers the secrets of an entry for redaction.
    fn learn_secrets(&self, name: &str, server: &ServerSettings) {
        let values = match &server.transport {
            ServerTransport::Stdio { env, .. } => env,
            ServerTransport::Http { headers, .. } => headers,
        };
        let password = server.oauth.as_ref().and_then(|it| it.client_secret.as_ref());
        let password = password.map(|value| ("client_secret", value));
        let values = values.iter().map(|(key, value)| (key.as_str(), value)).chain(password);
        for (key, value) in values.filter(|(key, value)| hermes::secrets::is_secret(key, value)) {
            // `Bearer` is not part of the secret.
            let bare = value.rsplit(' ').next().unwrap_or(value);
            self.secrets().learn_secret(&format!("{SERVERS_SECTION}.{name}.{key}"), bare);
        }
    }
}

/// Runs work with servers, then stops the servers it started.
pub(super) fn with_servers<T, W>(
    servers: McpServers,
    work: impl FnOnce(Arc<McpServers>) -> W,
) -> Result<T, CommandError>
where
    T: Send + 'static,
    W: Future<Output = Result<T, hermes::core::ToolError>> + Send + 'static,
{
    let servers = Arc::new(servers);
    let work = work(Arc::clone(&servers));
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let outcome = runtime::with_tools(&stop, async move {
        let outcome = stopped.run_until_cancelled(work).await;
        servers.stop().await;
        outcome
    })?;
    match outcome {
        Some(outcome) => Ok(outcome?),
        None => Err(hermes::core::ToolError::cancelled().into()),
    }
}

pub(super) fn list(app: &AppContext) -> CommandResult {
    let ready = app.services()?;
    let entries = ready.mcp_settings();
    let known = McpClientSettings::read(&entries, &|name| Some(format!("${{{name}}}")));
    let lookup = |name: &str| {
        let found = ready.secrets().lookup(name).ok().flatten();
        found.map(|secret| secret.expose().to_owned())
    };
    let filled = McpClientSettings::read(&entries, &lookup);
    for problem in &filled.problems {
        app.terminal.warn(problem);
    }
    let redactor = ready.secrets().redactor();
    let target = |link: &ServerTransport| {
        let text = match link {
            ServerTransport::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ")
            }
            ServerTransport::Http { url, .. } => url.to_string(),
        };
        redactor.redact(&text).into_owned()
    };
    if app.json {
        let servers: Vec<Value> = known
            .servers
            .iter()
            .map(|(name, server)| {
                json!({ "name": name, "transport": server.transport_name(),
                        "target": target(&server.transport), "enabled": server.enabled,
                        "usable": filled.servers.contains_key(name),
                        "required": server.required })
            })
            .collect();
        let answer =
            json!({ "schema_version": 1, "servers": servers, "problems": filled.problems });
        app.terminal.print_line(&answer.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if known.servers.is_empty() {
        app.terminal.note("No servers configured; add one with `hermes mcp add`.");
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for (name, server) in &known.servers {
        let state = match (server.enabled, server.required) {
            (false, _) => "off",
            _ if !filled.servers.contains_key(name) => "unusable",
            (true, true) => "required",
            (true, false) => "on",
        };
        table.push_row([
            (name.clone(), Some(OutputStyle::Bold)),
            (server.transport_name().to_owned(), None),
            (state.to_owned(), None),
            (one_line(&target(&server.transport)), Some(OutputStyle::Dim)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

pub(super) fn test(app: &AppContext, name: &str) -> CommandResult {
    let ready = app.services()?;
    let servers = ready.mcp_servers(&single_entry(&ready.mcp_settings(), name)?);
    warn_about_entry(app, &servers, name);
    let trial = try_server(servers, name)?;
    show_trial(app, &trial)?;
    Ok(CliExitCode::Ok)
}

/// Returns only the entry of that name, so the others are not started.
fn single_entry(entries: &Value, name: &str) -> Result<Value, CommandError> {
    match entries.get(name) {
        Some(entry) => Ok(json!({ name: entry })),
        None => Err(CommandError::not_found(format!("No MCP server named '{name}'"))
            .hint("`hermes mcp list` lists the configured servers.")),
    }
}

/// Starts a server and measures it.
pub(super) fn try_server(servers: McpServers, name: &str) -> Result<ServerTrial, CommandError> {
    let wanted = name.to_owned();
    let tried = with_servers(servers, |servers| async move {
        servers.start();
        servers.test_server(&wanted).await
    });
    tried.map_err(|failure| match failure.kind {
        // The server is unusable, whatever the cause.
        ErrorKind::Network | ErrorKind::Timeout => {
            let kind = ErrorKind::Unavailable;
            CommandError { kind, exit: CliExitCode::Kind(kind), ..failure }
        }
        _ => failure,
    })
}

/// Warns about problems of the entry with that name.
fn warn_about_entry(app: &AppContext, servers: &McpServers, name: &str) {
    let about = format!("'{name}'");
    for problem in servers.problems().iter().filter(|problem| problem.contains(&about)) {
        app.terminal.warn(problem);
    }
}

/// Prints the result of a trial.
pub(super) fn show_trial(app: &AppContext, trial: &ServerTrial) -> Result<(), CommandError> {
    if app.json {
        let mut answer = json!({ "schema_version": 1 });
        if let (Some(answer), Ok(Value::Object(shown))) =
            (answer.as_object_mut(), serde_json::to_value(trial))
        {
            answer.extend(shown);
        }
        app.terminal.print_line(&answer.to_string())?;
        return Ok(());
    }
    let status = &trial.status;
    let mut lines = vec![
        format!(
            "{} over {}, {}",
            app.terminal.paint(OutputStyle::Bold, &status.name),
            status.transport,
            status.program.as_deref().unwrap_or("unnamed server"),
        ),
        format!("protocol:  {}", status.protocol.as_deref().unwrap_or("unknown")),
        format!("ready:     {:.0} ms to connect and list the tools", trial.ready_ms),
        format!("answer:    {:.1} ms round trip", trial.answer_ms),
        format!("tools:     {}, about {} tokens", trial.tools.len(), trial.schema_tokens),
    ];
    lines.extend(trial.tools.iter().map(|tool| format!("  {tool}")));
    for tool in &status.held_back {
        lines.push(format!(
            "held back: {tool}; run `hermes mcp accept {} {tool}` to accept it",
            status.name
        ));
        lines.extend(hold_reason(status, tool));
    }
    if !status.news.is_empty() {
        lines.push(format!(
            "new:       {}, added since the server was first used; run `hermes mcp accept {}` \
             to dismiss this",
            status.news.join(", "),
            status.name
        ));
    }
    app.terminal.print_line(&lines.join("\n"))?;
    for problem in &status.problems {
        app.terminal.warn(problem);
    }
    for note in &status.notes {
        app.terminal.note(note);
    }
    Ok(())
}

/// Returns why a tool is held back, as indented lines.
fn hold_reason(status: &ServerStatus, tool: &str) -> Vec<String> {
    let reason = status.reasons.get(tool).map(String::as_str).unwrap_or_default();
    reason.lines().map(|line| format!("  {line}")).collect()
}

pub(super) fn accept(app: &AppContext, name: &str, tool: Option<&str>) -> CommandResult {
    let ready = app.services()?;
    let servers = ready.mcp_servers(&single_entry(&ready.mcp_settings(), name)?);
    let (wanted, which) = (name.to_owned(), tool.map(str::to_owned));
    // Connect first: only the server knows its current tools.
    let (before, accepted) = with_servers(servers, |servers| async move {
        servers.start();
        let before = servers.test_server(&wanted).await?.status;
        let accepted = servers.accept_tools(&wanted, which.as_deref())?;
        let now = servers.status();
        let still = now.iter().find(|it| it.name == wanted).map(|it| it.held_back.clone());
        let still = still.unwrap_or_default();
        let taken = before.held_back.iter().filter(|it| !still.contains(it)).cloned().collect();
        Ok((ServerStatus { held_back: taken, ..before }, accepted))
    })?;
    if app.json {
        let answer = json!({
            "schema_version": 1, "server": name, "accepted": accepted, "reasons": before.reasons,
        });
        app.terminal.print_line(&answer.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    for tool in &before.held_back {
        let mut lines = vec![format!("accepted: {tool}")];
        lines.extend(hold_reason(&before, tool));
        app.terminal.print_line(&lines.join("\n"))?;
    }
    app.terminal.note(&format!("Accepted {accepted} tools."));
    Ok(CliExitCode::Ok)
}

pub(super) fn login(app: &AppContext, name: &str) -> CommandResult {
    let ready = app.services()?;
    let servers = ready.mcp_servers(&single_entry(&ready.mcp_settings(), name)?);
    let (wanted, browser) = (name.to_owned(), BrowserLogin { terminal: app.terminal });
    with_servers(servers, |servers| async move { servers.login(&wanted, &browser).await })?;
    if app.json {
        let answer = json!({ "schema_version": 1, "server": name, "logged_in": true });
        app.terminal.print_line(&answer.to_string())?;
    } else {
        app.terminal.note("Logged in.");
    }
    Ok(CliExitCode::Ok)
}

/// Login in a browser, on this machine or another.
struct BrowserLogin {
    terminal: TerminalOutput,
}

impl LoginPrompter for BrowserLogin {
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            self.terminal.note(&format!("Open this URL in a browser:\n{url}"));
            self.terminal.note(
                "If the browser is on another machine, paste the URL it is redirected to here.",
            );
            read_pasted_line().await
        })
    }

    fn retry<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            self.terminal.warn(&format!("That is not the redirect URL: {why}."));
            self.terminal.note("Paste the complete URL from the browser's address bar.");
            read_pasted_line().await
        })
    }
}

/// Reads a line from standard input. An empty line cancels the login. At the
/// end of piped input, waits for the browser's redirect.
async fn read_pasted_line() -> Option<String> {
    let (send, typed) = oneshot::channel();
    // A separate thread, so a finished login does not wait for input.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let _ = send.send(read.ok().filter(|read| *read > 0).map(|_| line));
    });
    let line = typed.await.ok().flatten();
    if line.is_none() && !io::stdin().is_terminal() {
        return std::future::pending().await;
    }
    Some(line?.trim().to_owned()).filter(|line| !line.is_empty())
}

pub(super) fn remove(app: &AppContext, name: &str) -> CommandResult {
    let ready = app.services()?;
    let servers = ready.mcp_servers(&single_entry(&ready.mcp_settings(), name)?);
    let wanted = name.to_owned();
    // An unusable entry has no stored login to remove.
    let _ = with_servers(servers, |servers| async move { servers.forget_server(&wanted).await });
    edit_entry(app, ready.home(), name, edit::unset)?;
    if app.json {
        let answer = json!({ "schema_version": 1, "server": name, "removed": true });
        app.terminal.print_line(&answer.to_string())?;
    } else {
        app.terminal.note(&format!("Removed {name} from {}", ready.home().config_file().display()));
    }
    Ok(CliExitCode::Ok)
}

/// Edits the entry of a server; comments and all other settings are kept.
pub(super) fn edit_entry(
    app: &AppContext,
    home: &HermesHome,
    name: &str,
    edit: impl FnOnce(&str, &KeyPath) -> Result<String, edit::EditError>,
) -> Result<(), CommandError> {
    let file = home.config_file();
    let Some(path) = KeyPath::from_names([SERVERS_SECTION, name]) else { return Ok(()) };
    let env = app.env.clone();
    let checked = |text: &str| -> Result<String, ConfigError> {
        let new = edit(text, &path).map_err(ConfigError::from)?;
        hermes_config::RawConfig::parse(file.clone(), new.clone(), env)?.resolve()?;
        Ok(new)
    };
    Ok(save::update(&file, checked)?)
}
