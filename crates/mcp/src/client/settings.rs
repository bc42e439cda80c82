//! Settings of MCP servers: `mcp_servers` in `config.yaml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use hermes_core::ToolError;
use serde_json::{Map, Value};

use super::config_reader::ConfigReader;
use super::tls::TlsSettings;

/// How long to wait for the protocol probe.
const DEFAULT_PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings that are durations.
const DURATION_KEYS: [&str; 7] = [
    "timeout",
    "max_total_timeout",
    "connect_timeout",
    "probe_timeout",
    "keepalive_interval",
    "idle_timeout_seconds",
    "max_lifetime_seconds",
];

/// Settings of all servers.
#[derive(Debug, Clone, Default)]
pub struct McpClientSettings {
    /// Servers with a valid entry, by name.
    pub servers: BTreeMap<String, ServerSettings>,
    /// Problems of invalid entries and ignored settings, one sentence each.
    pub problems: Vec<String>,
    /// Invalid entries, by name.
    pub invalid_entries: BTreeMap<String, InvalidServerEntry>,
}

/// An invalid entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidServerEntry {
    /// What is wrong, as a sentence.
    pub problem: String,
    /// Whether startup fails without the server.
    pub required: bool,
}

/// How to reach a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program with MCP on its stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables in addition to the harmless ones.
        env: BTreeMap<String, String>,
        /// Its working directory; ours by default.
        cwd: Option<PathBuf>,
    },
    /// A server on the network.
    Http {
        /// Its URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Whether it speaks the older HTTP+SSE transport.
        sse: bool,
    },
}

/// Settings of one server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// How to reach the server.
    pub transport: ServerTransport,
    /// Whether the server is used.
    pub enabled: bool,
    /// Whether startup fails without the server.
    pub required: bool,
    /// How long a call may be silent.
    pub timeout: Duration,
    /// How long a call may take in total, despite progress.
    pub total_timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long to wait for the protocol probe.
    pub probe_timeout: Duration,
    /// Interval of liveness checks.
    pub keepalive: Duration,
    /// How long a program may be idle before it is stopped.
    pub idle_timeout: Option<Duration>,
    /// How long a program may run before it is restarted.
    pub max_lifetime: Option<Duration>,
    /// Which of its tools are used.
    pub tools: ToolFilter,
    /// Whether and how it may use our model.
    pub sampling: SamplingSettings,
    /// Whether and how it may ask the user.
    pub elicitation: ElicitationSettings,
    /// OAuth settings, if it requires a login.
    pub oauth: Option<OAuthSettings>,
    /// Whether changed tools are held back.
    pub pin: bool,
    /// TLS settings for its connections.
    pub tls: TlsSettings,
    /// Which directories are offered as roots.
    pub roots: RootsMode,
    /// Whether its calls run in parallel; by default each tool's annotations
    /// decide.
    pub parallel: Option<bool>,
    /// The entry as written, without variable expansion; the cache key for what
    /// is known about the server.
    pub raw_entry: Value,
}

/// Directories offered to a server as roots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootsMode {
    /// The workspace directories.
    Workspace,
    /// No directories.
    Disabled,
    /// The listed directories.
    Explicit(Vec<PathBuf>),
}

/// Which tools of a server are used.
#[derive(Debug, Clone)]
pub struct ToolFilter {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    /// Whether its resources can be listed and read.
    pub resources: bool,
    /// Whether its prompts can be listed and read.
    pub prompts: bool,
}

impl ToolFilter {
    /// Whether a tool, by its server name, is used. `include` overrides
    /// `exclude`.
    pub fn accepts(&self, tool: &str) -> bool {
        match (&self.include, &self.exclude) {
            (Some(include), _) => include.is_match(tool),
            (None, Some(exclude)) => !exclude.is_match(tool),
            (None, None) => true,
        }
    }
}

/// Limits on a server's use of our model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingSettings {
    /// Whether sampling is allowed.
    pub enabled: bool,
    /// Maximum requests per minute.
    pub max_rpm: u32,
    /// Timeout of a request.
    pub timeout: Duration,
    /// Maximum tokens of a reply.
    pub max_tokens: u32,
    /// Maximum tool rounds of one conversation.
    pub max_tool_rounds: u32,
    /// The model, regardless of the server's preferences.
    pub model: Option<String>,
    /// Allowed models; empty means any.
    pub allowed_models: Vec<String>,
    /// Whether the user is asked each time.
    pub ask: bool,
}

/// Whether and how a server may ask the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElicitationSettings {
    /// Whether elicitation is allowed.
    pub enabled: bool,
    /// How long to wait for the user.
    pub timeout: Duration,
}

/// OAuth settings of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// Our client id, if registered in advance; an `https` URL is a client
    /// metadata document.
    pub client_id: Option<String>,
    /// The client secret for it.
    pub client_secret: Option<String>,
    /// Whether to log in with the client credentials grant, without a user.
    pub uses_client_credentials: bool,
    /// Scopes to request.
    pub scopes: Vec<String>,
    /// Port of the callback listener; any free port by default.
    pub redirect_port: Option<u16>,
    /// Host name of this machine in the redirect URI.
    pub redirect_host: Option<String>,
    /// The full redirect URI, if it is not the listener's.
    pub redirect_uri: Option<String>,
    /// Our client name.
    pub client_name: Option<String>,
    /// How long to wait for the user.
    pub timeout: Option<Duration>,
}

impl InvalidServerEntry {
    pub(crate) fn to_error(&self) -> ToolError {
        ToolError::unavailable(self.problem.clone())
            .with_hint("Correct its entry of `mcp_servers` in config.yaml.")
    }
}

impl McpClientSettings {
    /// Reads `mcp_servers`. `lookup` returns the values of `${NAME}`.
    pub fn read(servers: &Value, lookup: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut settings = Self::default();
        let entries = match servers {
            Value::Object(entries) => entries,
            Value::Null => return settings,
            _ => {
                settings.problems.push("`mcp_servers` is not a map of names to servers".to_owned());
                return settings;
            }
        };
        for (name, entry) in entries {
            match ServerSettings::read(entry, lookup) {
                Ok(server) => {
                    let unread = ignored_keys(&server.raw_entry).into_iter();
                    let shown = unread.map(|problem| format!("MCP server '{name}': {problem}"));
                    settings.problems.extend(shown);
                    settings.servers.insert(name.clone(), server);
                }
                Err(problem) => {
                    let problem = format!("MCP server '{name}': {problem}");
                    settings.problems.push(problem.clone());
                    let fields = entry.as_object();
                    let required =
                        fields.is_some_and(|it| ConfigReader(it).flag("required", false));
                    settings
                        .invalid_entries
                        .insert(name.clone(), InvalidServerEntry { problem, required });
                }
            }
        }
        settings
    }
}

impl ServerSettings {
    /// Reads one entry. The error is a sentence.
    pub fn read(entry: &Value, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let Value::Object(written) = entry else {
            return Err("it is not a map of settings".to_owned());
        };
        let (filled, unknown) = ConfigReader::expand_variables(written, lookup);
        let it = ConfigReader(&filled);
        if let (Some(name), true) = (unknown.first(), it.flag("enabled", true)) {
            return Err(format!(
                "${{{name}}} is not set; set it in the environment or in .env, or with `hermes \
                 secrets set {name}`"
            ));
        }
        let link = read_transport(&it)?;
        let roots = read_roots(&it, &link)?;
        let lifecycle = it.map("lifecycle");
        let longest = |name: &str| {
            let set = it.seconds(name).or_else(|| ConfigReader(&lifecycle).seconds(name));
            set.filter(|it| !it.is_zero())
        };
        let connect_timeout = it.seconds("connect_timeout").unwrap_or(Duration::from_secs(60));
        let timeout = it.seconds("timeout").unwrap_or(Duration::from_secs(300));
        let total = it.seconds("max_total_timeout").unwrap_or(Duration::from_secs(3600));
        let keepalive = it.seconds("keepalive_interval").unwrap_or(Duration::from_secs(180));
        Ok(Self {
            transport: link,
            enabled: it.flag("enabled", true),
            required: it.flag("required", false),
            timeout,
            total_timeout: total.max(timeout),
            connect_timeout,
            // A program that is slow to start must not be mistaken for one that
            // does not know the probe.
            probe_timeout: it
                .seconds("probe_timeout")
                .unwrap_or(DEFAULT_PROBE_TIMEOUT)
                .min(connect_timeout / 2),
            keepalive: keepalive.max(Duration::from_secs(5)),
            idle_timeout: longest("idle_timeout_seconds"),
            max_lifetime: longest("max_lifetime_seconds"),
            tools: read_filter(&it.map("tools"))?,
            sampling: read_sampling(&it.map("sampling")),
            elicitation: read_elicitation(&it.map("elicitation")),
            oauth: read_oauth(&it)?,
            pin: it.flag("pin", true),
            tls: TlsSettings::read(&filled)?,
            roots,
            parallel: it
                .0
                .contains_key("supports_parallel_tool_calls")
                .then(|| it.flag("supports_parallel_tool_calls", true)),
            raw_entry: entry.clone(),
        })
    }

    /// `stdio`, `http` or `sse`.
    pub fn transport_name(&self) -> &'static str {
        match &self.transport {
            ServerTransport::Stdio { .. } => "stdio",
            ServerTransport::Http { sse: true, .. } => "sse",
            ServerTransport::Http { .. } => "http",
        }
    }
}

/// Returns the settings that are ignored because their value is invalid.
fn ignored_keys(entry: &Value) -> Vec<String> {
    let Value::Object(written) = entry else { return Vec::new() };
    let it = ConfigReader(written);
    let is_set = |name: &&&str| written.get(**name).is_some_and(|value| !value.is_null());
    let is_filled_in = |name: &str| it.string(name).is_some_and(|text| text.contains("${"));
    let mut problems = Vec::new();
    for name in DURATION_KEYS.iter().filter(is_set) {
        if it.seconds(name).is_none() && !is_filled_in(name) {
            problems.push(format!("`{name}` is not a number of seconds and is ignored"));
        }
    }
    for name in
        ["env", "headers", "tools", "sampling", "elicitation", "oauth"].iter().filter(is_set)
    {
        if !written.get(*name).is_some_and(Value::is_object) {
            problems.push(format!("`{name}` is not a map of names to values and is ignored"));
        }
    }
    if written.get("args").is_some_and(Value::is_object) {
        problems.push("`args` is not a list and is ignored".to_owned());
    }
    problems
}

fn read_transport(it: &ConfigReader<'_>) -> Result<ServerTransport, String> {
    if let Some(url) = it.string("url") {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("`url` is not an http URL: {url}"));
        }
        let sse = it.string("transport").is_some_and(|it| it == "sse");
        return Ok(ServerTransport::Http { url, headers: it.string_map("headers"), sse });
    }
    let Some(command) = it.string("command").filter(|it| !it.trim().is_empty()) else {
        return Err("it has neither `command` nor `url`".to_owned());
    };
    let args = it.string_list("args");
    if let Some(why) = super::command_screen::screen_command(&command, &args) {
        return Err(why);
    }
    Ok(ServerTransport::Stdio {
        command,
        args,
        env: it.string_map("env"),
        cwd: it.string("cwd").map(PathBuf::from),
    })
}

fn read_roots(it: &ConfigReader<'_>, link: &ServerTransport) -> Result<RootsMode, String> {
    match it.0.get("roots") {
        Some(Value::Array(_)) => {
            let dirs: Vec<PathBuf> =
                it.string_list("roots").iter().map(|it| expand_home(it)).collect();
            match dirs.iter().find(|dir| !dir.is_absolute()) {
                Some(dir) => Err(format!("`roots`: {} is not an absolute path", dir.display())),
                None if dirs.is_empty() => Ok(RootsMode::Disabled),
                None => Ok(RootsMode::Explicit(dirs)),
            }
        }
        None | Some(Value::Null) if !names_directory(link) => Ok(RootsMode::Workspace),
        _ if it.flag("roots", false) => Ok(RootsMode::Workspace),
        _ => Ok(RootsMode::Disabled),
    }
}

fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// Whether the arguments of a program name its directories. Some servers let
/// the client's roots replace those.
fn names_directory(link: &ServerTransport) -> bool {
    let ServerTransport::Stdio { args, cwd, .. } = link else { return false };
    let is_folder = |text: &str| {
        let path = PathBuf::from(text);
        !text.is_empty() && cwd.as_ref().map_or(path.clone(), |cwd| cwd.join(&path)).is_dir()
    };
    args.iter().any(|arg| is_folder(arg) || arg.split_once('=').is_some_and(|it| is_folder(it.1)))
}

fn read_filter(tools: &Map<String, Value>) -> Result<ToolFilter, String> {
    let it = ConfigReader(tools);
    let globs = |name: &str| -> Result<Option<GlobSet>, String> {
        let written = it.string_list(name);
        if written.is_empty() {
            return Ok(None);
        }
        let mut set = GlobSetBuilder::new();
        for pattern in &written {
            set.add(Glob::new(pattern).map_err(|e| format!("`tools.{name}`: {e}"))?);
        }
        set.build().map(Some).map_err(|e| format!("`tools.{name}`: {e}"))
    };
    Ok(ToolFilter {
        include: globs("include")?,
        exclude: globs("exclude")?,
        resources: it.flag("resources", true),
        prompts: it.flag("prompts", true),
    })
}

fn read_sampling(sampling: &Map<String, Value>) -> SamplingSettings {
    let it = ConfigReader(sampling);
    let count = |name: &str, default: u32| {
        it.number(name).map_or(default, |set| set.clamp(1.0, f64::from(u32::MAX)) as u32)
    };
    SamplingSettings {
        enabled: it.flag("enabled", true),
        max_rpm: count("max_rpm", 10),
        timeout: it.seconds("timeout").unwrap_or(Duration::from_secs(30)),
        max_tokens: count("max_tokens_cap", 4096),
        // Here zero is valid.
        max_tool_rounds: match it.number("max_tool_rounds") {
            Some(set) if set < 1.0 => 0,
            _ => count("max_tool_rounds", 5),
        },
        model: it.string("model"),
        allowed_models: it.string_list("allowed_models"),
        ask: it.flag("ask", true),
    }
}

fn read_elicitation(elicitation: &Map<String, Value>) -> ElicitationSettings {
    let it = ConfigReader(elicitation);
    ElicitationSettings {
        enabled: it.flag("enabled", true),
        timeout: it.seconds("timeout").unwrap_or(Duration::from_secs(300)),
    }
}

fn read_oauth(it: &ConfigReader<'_>) -> Result<Option<OAuthSettings>, String> {
    match it.string("auth").as_deref() {
        None | Some("header" | "none" | "") => return Ok(None),
        Some("oauth") => {}
        Some(other) => return Err(format!("`auth` must be 'oauth' or 'header', not '{other}'")),
    }
    let map = it.map("oauth");
    let it = ConfigReader(&map);
    let signs = ["private_key", "private_key_file", "private_key_path", "private_key_passphrase"];
    if let Some(key) = signs.iter().find(|name| it.string(name).is_some()) {
        return Err(format!(
            "`oauth.{key}`: client authentication with a private key is not supported; set \
             `client_secret`"
        ));
    }
    let scopes =
        it.string("scope").map(|scope| scope.split_whitespace().map(str::to_owned).collect());
    let (client_id, client_secret) = (it.string("client_id"), it.string("client_secret"));
    let is_machine = match it.string("grant_type").as_deref() {
        None | Some("" | "authorization_code") => false,
        Some("client_credentials") if client_id.is_some() && client_secret.is_some() => true,
        Some("client_credentials") => {
            return Err(
                "`grant_type: client_credentials` requires `client_id` and `client_secret`"
                    .to_owned(),
            );
        }
        Some(other) => {
            return Err(format!(
                "`grant_type` must be 'authorization_code' or 'client_credentials', not '{other}'"
            ));
        }
    };
    Ok(Some(OAuthSettings {
        client_id,
        client_secret,
        uses_client_credentials: is_machine,
        scopes: scopes.unwrap_or_default(),
        redirect_port: read_redirect_port(&it)?,
        redirect_host: it.string("redirect_host").filter(|it| !it.trim().is_empty()),
        redirect_uri: it.string("redirect_uri"),
        client_name: it.string("client_name"),
        timeout: it.seconds("timeout"),
    }))
}

/// Returns the port of the callback; `None` for any free one.
fn read_redirect_port(it: &ConfigReader<'_>) -> Result<Option<u16>, String> {
    let Some(written) = it.string("redirect_port").filter(|port| !port.trim().is_empty()) else {
        return Ok(None);
    };
    match written.trim().parse::<u16>() {
        Ok(port) => Ok(Some(port).filter(|port| *port != 0)),
        Err(_) => Err(format!(
            "`oauth.redirect_port` must be a whole number from 0 to 65535, not '{written}'"
        )),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
