//! The servers of others that are set down in the settings.

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

/// Where servers are set down.
pub(super) const SERVERS_SECTION: &str = "mcp_servers";

impl AppServices {
    /// What the settings say of servers.
    pub(crate) fn mcp_settings(&self) -> Value {
        let path = KeyPath::from_names([SERVERS_SECTION]);
        path.and_then(|path| self.config.get(&path)).map_or(Value::Null, |(value, _)| value)
    }

    /// These servers, as `mcp_servers` describes them.
    pub(crate) fn mcp_servers(&self, entries: &Value) -> McpServers {
        let lookup = |name: &str| {
            let found = self.secrets.lookup(name).ok().flatten();
            found.map(|secret| secret.expose().to_owned())
        };
        let surroundings = std::env::vars_os();
        let surroundings = surroundings.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let osv = KeyPath::from_names(["mcp", "osv_url"]).and_then(|path| self.config.get(&path));
        let osv = osv.and_then(|(value, _)| value.as_str().map(str::to_owned));
        let deps = ClientDeps {
            engine: self.engine.clone(),
            cache: self.home.cache_dir(),
            state: self.home.root().to_owned(),
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

    /// What an entry holds that is secret is shown to nobody.
    fn learn_secrets(&self, name: &str, server: &ServerSettings) {
        let values = match &server.transport {
            ServerTransport::Stdio { env, .. } => env,
            ServerTransport::Http { headers, .. } => headers,
        };
        let password = server.oauth.as_ref().and_then(|it| it.client_secret.as_ref());
        let password = password.map(|value| ("client_secret", value));
        let values = values.iter().map(|(key, value)| (key.as_str(), value)).chain(password);
        for (key, value) in values.filter(|(key, value)| hermes::secrets::is_secret(key, value)) {
            // `Bearer` is none.
            let bare = value.rsplit(' ').next().unwrap_or(value);
            self.secrets.learn_secret(&format!("{SERVERS_SECTION}.{name}.{key}"), bare);
        }
    }
}

/// Does something with servers, and ends those that it has started.
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
        let found = ready.secrets.lookup(name).ok().flatten();
        found.map(|secret| secret.expose().to_owned())
    };
    let filled = McpClientSettings::read(&entries, &lookup);
    for problem in &filled.problems {
        app.terminal.warn(problem);
    }
    let redactor = ready.secrets.redactor();
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
        app.terminal.note("There are no servers; `hermes mcp add` sets one down.");
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

/// The entry of that name, without the others: they are not started for it.
fn single_entry(entries: &Value, name: &str) -> Result<Value, CommandError> {
    match entries.get(name) {
        Some(entry) => Ok(json!({ name: entry })),
        None => Err(CommandError::not_found(format!("There is no MCP server '{name}'"))
            .hint("`hermes mcp list` shows those that there are.")),
    }
}

/// Starts a server, and looks how it does.
pub(super) fn try_server(servers: McpServers, name: &str) -> Result<ServerTrial, CommandError> {
    let wanted = name.to_owned();
    let tried = with_servers(servers, |servers| async move {
        servers.start();
        servers.test_server(&wanted).await
    });
    tried.map_err(|failure| match failure.kind {
        // However it fails, it is not there to be used.
        ErrorKind::Network | ErrorKind::Timeout => {
            let kind = ErrorKind::Unavailable;
            CommandError { kind, exit: CliExitCode::Kind(kind), ..failure }
        }
        _ => failure,
    })
}

/// Tells what is wrong with the entry of that name.
fn warn_about_entry(app: &AppContext, servers: &McpServers, name: &str) {
    let about = format!("'{name}'");
    for problem in servers.problems().iter().filter(|problem| problem.contains(&about)) {
        app.terminal.warn(problem);
    }
}

/// What a trial has shown.
pub(super) fn show_trial(app: &AppContext, trial: &ServerTrial) -> Result<(), CommandError> {
    if app.json {
        let mut answer = json!({ "schema_version": 1 });
        if let (Some(answer), Ok(Value::Object(told))) =
            (answer.as_object_mut(), serde_json::to_value(trial))
        {
            answer.extend(told);
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
            status.program.as_deref().unwrap_or("a server without a name"),
        ),
        format!("protocol:  {}", status.protocol.as_deref().unwrap_or("unknown")),
        format!("ready:     {:.0} ms until its tools were known", trial.ready_ms),
        format!("answer:    {:.1} ms for a harmless request", trial.answer_ms),
        format!("tools:     {}, about {} tokens", trial.tools.len(), trial.schema_tokens),
    ];
    lines.extend(trial.tools.iter().map(|tool| format!("  {tool}")));
    for tool in &status.held_back {
        lines.push(format!(
            "held back: {tool}; `hermes mcp accept {} {tool}` takes it",
            status.name
        ));
        lines.extend(hold_reason(status, tool));
    }
    if !status.news.is_empty() {
        lines.push(format!(
            "new:       {}, added since the server was first used; `hermes mcp accept {}` ends \
             this notice",
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

/// Why a tool is held back, in lines below it.
fn hold_reason(status: &ServerStatus, tool: &str) -> Vec<String> {
    let reason = status.reasons.get(tool).map(String::as_str).unwrap_or_default();
    reason.lines().map(|line| format!("  {line}")).collect()
}

pub(super) fn accept(app: &AppContext, name: &str, tool: Option<&str>) -> CommandResult {
    let ready = app.services()?;
    let servers = ready.mcp_servers(&single_entry(&ready.mcp_settings(), name)?);
    let (wanted, which) = (name.to_owned(), tool.map(str::to_owned));
    // As they are now, which only the server knows.
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
        let mut lines = vec![format!("taken: {tool}")];
        lines.extend(hold_reason(&before, tool));
        app.terminal.print_line(&lines.join("\n"))?;
    }
    app.terminal.note(&format!("{accepted} taken as they are now."));
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

/// A person with a browser, here or elsewhere.
struct BrowserLogin {
    terminal: TerminalOutput,
}

impl LoginPrompter for BrowserLogin {
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            self.terminal.note(&format!("Open this address in a browser:\n{url}"));
            self.terminal.note(
                "If the browser is on another machine, paste the address that it ends up at here.",
            );
            read_pasted_line().await
        })
    }

    fn retry<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            self.terminal.warn(&format!("That is not the address that is meant: {why}."));
            self.terminal.note("Paste all of it, from the address bar of the browser.");
            read_pasted_line().await
        })
    }
}

/// A line from standard input. An empty one means that the user gives up; at
/// the end of what another program writes, the browser brings the answer.
async fn read_pasted_line() -> Option<String> {
    let (send, typed) = oneshot::channel();
    // A thread of its own: a login that is through must not wait for it.
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
    // An entry that cannot be used has left nothing to forget.
    let _ = with_servers(servers, |servers| async move { servers.forget_server(&wanted).await });
    edit_entry(app, &ready.home, name, edit::unset)?;
    if app.json {
        let answer = json!({ "schema_version": 1, "server": name, "removed": true });
        app.terminal.print_line(&answer.to_string())?;
    } else {
        app.terminal
            .note(&format!("{name} is no longer in {}", ready.home.config_file().display()));
    }
    Ok(CliExitCode::Ok)
}

/// Changes the entry of a server; comments and everything else stay.
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
