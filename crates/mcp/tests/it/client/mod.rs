//! Other people's servers, used by us.

mod changes;
mod crowd;
mod exact;
mod faults;
mod guarded;
mod http;
mod lives;
mod logins;
mod questions;
mod real;
mod sdk;
mod secured;
mod tasks;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use hermes_core::{ToolCall, ToolResult};
use hermes_engine::{Caller, Engine};
use hermes_mcp::client::{
    ClientDeps, ElicitationPrompter, McpClientSettings, McpServers, SamplingModels,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use std::sync::Arc;

/// An engine without tools, and a home for what servers leave.
pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) engine: Engine,
    pub(crate) asker: Option<Arc<dyn ElicitationPrompter>>,
    pub(crate) models: Option<Arc<dyn SamplingModels>>,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) osv: Option<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let engine = Engine::builder().spill_to(home.path().join("spill")).build().unwrap();
        Self { home, engine, asker: None, models: None, roots: Vec::new(), osv: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The servers of these settings, started.
    pub(crate) fn start(&self, servers: &Value) -> McpServers {
        let servers = self.prepare(servers);
        servers.start();
        servers
    }

    /// The servers of these settings.
    pub(crate) fn prepare(&self, servers: &Value) -> McpServers {
        let settings = McpClientSettings::read(servers, &|_| None);
        let deps = ClientDeps {
            engine: self.engine.clone(),
            cache: self.path("cache"),
            state: self.path("state"),
            roots: self.roots.clone(),
            prompter: self.asker.clone(),
            models: self.models.clone(),
            own_env: std::env::vars().collect(),
            osv: self.osv.clone(),
        };
        McpServers::new(settings, deps)
    }

    /// The same, and waits until their tools are there.
    pub(crate) async fn ready(&self, servers: &Value) -> McpServers {
        let servers = self.start(servers);
        servers.wait_settled(Duration::from_secs(30)).await;
        servers
    }

    pub(crate) async fn result(&self, tool: &str, arguments: Value) -> ToolResult {
        let caller = caller(self.home.path());
        self.engine.call(ToolCall::new("1", tool, arguments), &caller).await
    }

    /// What a tool answers, whether well or not.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        content(&self.result(tool, arguments).await)
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        let entries = self.engine.snapshot().entries();
        let names = entries.iter().filter(|it| it.toolset().starts_with("mcp-"));
        names.map(|it| it.name().to_owned()).collect()
    }
}

/// A caller that does not want untrusted text wrapped.
pub(crate) fn caller(cwd: &Path) -> Caller {
    let mut caller = Caller::new(cwd);
    caller.label_untrusted = false;
    caller
}

/// The answer without the mark that it came from outside.
pub(crate) fn content(result: &ToolResult) -> Value {
    let value: Value = serde_json::from_str(&result.content).unwrap();
    // A failure is marked where it stands; an answer is put under the mark.
    let is_answer = result.untrusted && result.is_success();
    if is_answer { value["content"].clone() } else { value }
}

pub(crate) fn servers_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers")
}

/// The Python of the system, past any wrapper.
pub(crate) fn python() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let asked = std::process::Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .expect("python3 is there");
        String::from_utf8(asked.stdout).unwrap().trim().to_owned()
    })
}

/// A server that can do everything wrong.
pub(crate) fn odd(modes: &[&str]) -> Value {
    let mut args = vec!["-S".to_owned(), "-E".to_owned()];
    args.push(servers_folder().join("odd.py").display().to_string());
    args.extend(modes.iter().map(|mode| (*mode).to_owned()));
    json!({"command": python(), "args": args, "connect_timeout": 20})
}

/// With other settings on top.
pub(crate) fn with(mut entry: Value, more: Value) -> Value {
    let (Value::Object(entry_map), Value::Object(more)) = (&mut entry, more) else {
        panic!("maps")
    };
    entry_map.extend(more);
    entry
}

/// The Python that has the official SDK, if it is installed.
pub(crate) fn sdk_python() -> Option<PathBuf> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/components/mcp/venv");
    let venv = std::env::var_os("HERMES_TEST_MCP_PYTHON").map_or(kept, PathBuf::from);
    let python = venv.join("bin/python");
    if python.is_file() {
        return Some(python);
    }
    println!("skipped: no Python SDK (scripts/components/mcp.sh start DIR)");
    None
}

pub(crate) fn sdk_script() -> String {
    servers_folder().join("sdk.py").display().to_string()
}

/// A server from npm, if it is installed.
pub(crate) fn npm(package: &str) -> Option<String> {
    let kept =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/components/mcp/node/node_modules");
    let modules = std::env::var_os("HERMES_TEST_MCP_NODE").map_or(kept, PathBuf::from);
    let script = modules.join("@modelcontextprotocol").join(package).join("dist/index.js");
    if script.is_file() {
        return Some(script.display().to_string());
    }
    println!("skipped: {package} is not installed (scripts/components/mcp.sh start DIR)");
    None
}

/// Whether a process is there and no zombie.
pub(crate) fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
    })
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
