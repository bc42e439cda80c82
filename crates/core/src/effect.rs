//! Effects: what a call will do, declared before it runs. Permission rules
//! match on effects, and calls of one batch run concurrently only if their
//! effects do not conflict.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// `family:verb`, the class of effects that a permission is about.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Scope(Cow<'static, str>);

macro_rules! scopes {
    ($( $konst:ident = $name:literal; )+) => {
        #[allow(missing_docs)]
        impl Scope {
            $( pub const $konst: Scope = Scope(Cow::Borrowed($name)); )+
            /// Every scope that built-in tools use.
            pub const ALL: &'static [Scope] = &[ $( Scope::$konst, )+ ];
        }
    };
}

scopes! {
    FILE_READ = "file:read";
    FILE_WRITE = "file:write";
    FILE_DELETE = "file:delete";
    TERMINAL_EXECUTE = "terminal:execute";
    CODE_EXECUTE = "code:execute";
    PROCESS_MANAGE = "process:manage";
    SYSTEM_READ = "system:read";
    CLIPBOARD_READ = "clipboard:read";
    CLIPBOARD_WRITE = "clipboard:write";
    NOTIFICATION_SHOW = "notification:show";
    ENV_READ = "env:read";
    ENV_WRITE = "env:write";
    NETWORK_SEARCH = "network:search";
    NETWORK_FETCH = "network:fetch";
    NETWORK_SEND = "network:send";
    BROWSER_CONTROL = "browser:control";
    GIT_READ = "git:read";
    GIT_WRITE = "git:write";
    DOCKER_READ = "docker:read";
    DOCKER_RUN = "docker:run";
    DATABASE_READ = "database:read";
    DATABASE_WRITE = "database:write";
    CLOUD_READ = "cloud:read";
    CLOUD_WRITE = "cloud:write";
    EMAIL_SEND = "email:send";
    CALENDAR_READ = "calendar:read";
    CALENDAR_WRITE = "calendar:write";
    MESSAGE_SEND = "message:send";
    PLAN_READ = "plan:read";
    PLAN_WRITE = "plan:write";
    MEMORY_READ = "memory:read";
    MEMORY_WRITE = "memory:write";
    SKILL_READ = "skill:read";
    SKILL_WRITE = "skill:write";
    SCHEDULE_READ = "schedule:read";
    SCHEDULE_WRITE = "schedule:write";
    AGENT_DELEGATE = "agent:delegate";
    SECRET_USE = "secret:use";
}

impl Scope {
    /// Creates a scope that is not in the table, such as `mcp:github`.
    pub fn named(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// Returns the full name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the colon.
    pub fn family(&self) -> &str {
        match self.colon_position().and_then(|at| self.0.get(..at)) {
            // Servers are independent of each other.
            None | Some("mcp") => &self.0,
            Some(family) => family,
        }
    }

    /// Returns the part after the colon.
    pub fn verb(&self) -> &str {
        self.colon_position().and_then(|at| self.0.get(at + 1..)).unwrap_or("")
    }

    /// Called for every effect of every command: for such short names a byte
    /// loop is faster than a substring search.
    fn colon_position(&self) -> Option<usize> {
        self.0.bytes().position(|byte| byte == b':')
    }

    /// Whether two calls with this effect may touch the same resource
    /// concurrently.
    pub fn access(&self) -> AccessMode {
        match self.verb() {
            // The second part is a server name, not a verb.
            _ if self.is_mcp() => AccessMode::Exclusive,
            "read" | "search" | "fetch" => AccessMode::Shared,
            _ => AccessMode::Exclusive,
        }
    }

    /// Whether an MCP server has the effect, as in `mcp:github`.
    pub fn is_mcp(&self) -> bool {
        self.0.starts_with("mcp:")
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether an effect leaves its resource unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Any number of concurrent effects.
    Shared,
    /// No other concurrent effect on the same resource.
    Exclusive,
}

/// What an effect acts on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The whole family.
    Any,
    /// An absolute path. A directory includes everything below it.
    Path(PathBuf),
    /// A command for the session's shell.
    Command(String),
    /// Shell code with its own directory, input or options.
    Script(Box<ShellScript>),
    /// A host name or address.
    Host(String),
    /// An environment variable that is set for later commands.
    Variable(Box<EnvAssignment>),
    /// Anything else with a name: a table, a bucket, a server, a list.
    Name(String),
}

/// An environment variable and its new value. The value may be a secret, so only
/// the name is shown and compared.
#[derive(Clone)]
pub struct EnvAssignment {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

impl PartialEq for EnvAssignment {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for EnvAssignment {}

impl std::hash::Hash for EnvAssignment {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for EnvAssignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvAssignment({})", self.name)
    }
}

impl Resource {
    /// Whether two resources of one family can be the same.
    pub fn overlaps(&self, other: &Resource) -> bool {
        match (self, other) {
            (Resource::Any, _) | (_, Resource::Any) => true,
            (Resource::Path(a), Resource::Path(b)) => a.starts_with(b) || b.starts_with(a),
            (Resource::Variable(a), Resource::Name(b))
            | (Resource::Name(b), Resource::Variable(a)) => a.name == *b,
            (a, b) => a == b,
        }
    }

    /// Returns the resource as text.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Resource::Any => "*".into(),
            Resource::Path(path) => path.to_string_lossy(),
            Resource::Command(text) | Resource::Host(text) | Resource::Name(text) => text.into(),
            Resource::Script(script) => script.text.as_str().into(),
            Resource::Variable(variable) => variable.name.as_str().into(),
        }
    }

    /// Returns the path, if the resource is one.
    pub fn as_path(&self) -> Option<&Path> {
        match self {
            Resource::Path(path) => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_text())?;
        let Resource::Script(script) = self else { return Ok(()) };
        if let Some(dir) = &script.cwd {
            write!(f, " (in {})", dir.display())?;
        }
        match &script.stdin {
            Some(input) => write!(f, " (its input: {})", approval_excerpt(input)),
            None => Ok(()),
        }
    }
}

/// Returns the part of a text that an approval request shows.
pub fn approval_excerpt(text: &str) -> Cow<'_, str> {
    const MAX_EXCERPT_CHARS: usize = 2000;
    match text.char_indices().nth(MAX_EXCERPT_CHARS).and_then(|(end, _)| text.split_at_checked(end))
    {
        Some((begin, rest)) => format!("{begin}… and {} more bytes", rest.len()).into(),
        None => text.into(),
    }
}

/// Shell code, and what is known about how it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ShellScript {
    /// The code.
    pub text: String,
    /// Where it runs, if not in the session's directory.
    pub cwd: Option<PathBuf>,
    /// Its standard input, if given.
    pub stdin: Option<String>,
    /// Whether it runs in a separate shell, without the state that earlier
    /// commands left in the session's shell.
    pub fresh_shell: bool,
    /// Whether it is only started: the call returns while it runs.
    pub background: bool,
    /// Whether it outlives this process.
    pub detaches: bool,
    /// Whether the call does more than run it to its end: in the background, in a
    /// terminal, with open input.
    pub open_ended: bool,
}

impl Serialize for Resource {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.as_text())
    }
}

/// One action of a call on one resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Effect {
    /// The kind of action.
    pub scope: Scope,
    /// What it acts on.
    pub resource: Resource,
}

impl Effect {
    /// Creates an effect on a whole family.
    pub fn any(scope: Scope) -> Self {
        Self { scope, resource: Resource::Any }
    }

    /// Creates an effect on a path, which must be absolute.
    pub fn path(scope: Scope, path: impl Into<PathBuf>) -> Self {
        Self { scope, resource: Resource::Path(path.into()) }
    }

    /// Creates an effect on a named resource.
    pub fn name(scope: Scope, name: impl Into<String>) -> Self {
        Self { scope, resource: Resource::Name(name.into()) }
    }

    /// Whether the two must not happen concurrently. A write conflicts with
    /// anything that touches the same resource; reads never conflict.
    pub fn conflicts_with(&self, other: &Effect) -> bool {
        if self.reaches_anything() || other.reaches_anything() {
            return true;
        }
        let exclusive = self.scope.access() == AccessMode::Exclusive
            || other.scope.access() == AccessMode::Exclusive;
        // Paths are shared between families.
        let same_ground = self.scope.family() == other.scope.family()
            || (self.resource.as_path().is_some() && other.resource.as_path().is_some());
        exclusive && same_ground && self.touched_resource().overlaps(other.touched_resource())
    }

    /// Returns what the effect may touch. For an MCP server the resource is
    /// only the tool's name, so it may touch anything there.
    pub fn touched_resource(&self) -> &Resource {
        if self.scope.is_mcp() { &Resource::Any } else { &self.resource }
    }

    /// Whether it may touch any file, process or peer, as a shell command or a
    /// script can.
    fn reaches_anything(&self) -> bool {
        matches!(self.scope.as_str(), "terminal:execute" | "code:execute")
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.scope, self.resource)
    }
}
