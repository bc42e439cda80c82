//! A program that uses the servers of the official conformance suite as any
//! program of ours would: their tools come into a registry, and calls go
//! through the engine. The suite looks at what reaches its side.
//!
//! ```text
//! conformance_client URL     the suite says in MCP_CONFORMANCE_SCENARIO and
//!                            MCP_CONFORMANCE_CONTEXT what it is about
//! ```

use std::path::Path;
use std::sync::Arc;

use hermes_core::{BoxFuture, ToolCall, ToolError, ToolResult};
use hermes_engine::{Caller, Engine};
use hermes_mcp::client::{
    ClientDeps, ElicitationAnswer, ElicitationPrompter, LoginPrompter, McpClientSettings,
    McpServers, ServerQuestion,
};
use serde_json::{Map, Value, json};

/// What the server is called here.
const NAME: &str = "suite";

/// A document about us that servers may read, as the suite knows it.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// How often a login is tried before the server is given up.
const LOGINS: usize = 3;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let scenario = variable("MCP_CONFORMANCE_SCENARIO");
    let context = serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let dir = std::env::temp_dir().join(format!("hermes-suite-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let done = Guest::new(&url, &scenario, context, &dir)?.visit().await;
    std::fs::remove_dir_all(&dir)?;
    Ok(done?)
}

/// Whoever uses the suite's server.
struct Guest {
    engine: Engine,
    servers: McpServers,
    context: Value,
    logs_in: bool,
}

impl Guest {
    fn new(
        url: &str,
        scenario: &str,
        context: Value,
        dir: &Path,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let engine = Engine::builder().build()?;
        let logs_in = scenario.starts_with("auth/");
        let mut entry = json!({"url": url, "connect_timeout": 20, "timeout": 20, "pin": false});
        if logs_in && let Some(entry) = entry.as_object_mut() {
            entry.insert("auth".to_owned(), json!("oauth"));
            entry.insert("oauth".to_owned(), oauth(scenario, &context));
        }
        let settings = McpClientSettings::read(&json!({ NAME: entry }), &|_| None);
        let deps = ClientDeps {
            engine: engine.clone(),
            cache: dir.join("cache"),
            state: dir.join("state"),
            roots: Vec::new(),
            prompter: Some(Arc::new(Agreeable)),
            models: None,
            own_env: Vec::new(),
            osv: None,
        };
        Ok(Self { engine, servers: McpServers::new(settings, deps), context, logs_in })
    }

    async fn visit(&self) -> Result<(), ToolError> {
        let used = self.use_server().await;
        self.servers.stop().await;
        used
    }

    async fn use_server(&self) -> Result<(), ToolError> {
        let mut logins = 0;
        if self.logs_in {
            self.servers.login(NAME, &Browser).await?;
            logins += 1;
        }
        self.servers.start();
        while let Err(error) = self.servers.test_server(NAME).await {
            self.log_in_again(&error.to_json(), &mut logins).await?.ok_or(error)?;
        }
        for (tool, arguments) in self.calls() {
            loop {
                let result = self.call(&tool, arguments.clone()).await;
                if self.log_in_again(&result.content, &mut logins).await?.is_none() {
                    break;
                }
            }
        }
        self.read_along().await;
        Ok(())
    }

    /// Logs in again if that is what an answer wants, and not for ever.
    async fn log_in_again(
        &self,
        answer: &str,
        logins: &mut usize,
    ) -> Result<Option<()>, ToolError> {
        if !(self.logs_in && *logins < LOGINS && answer.contains("needs_reauth")) {
            return Ok(None);
        }
        *logins += 1;
        self.servers.login(NAME, &Browser).await.map(Some)
    }

    /// The calls that the suite wants, or one of every tool.
    fn calls(&self) -> Vec<(String, Value)> {
        let wire = |tool: &str| format!("mcp__{NAME}__{tool}");
        if let Some(wanted) = self.context.get("toolCalls").and_then(Value::as_array) {
            let call = |call: &Value| {
                Some((wire(call.get("name")?.as_str()?), call.get("arguments")?.clone()))
            };
            return wanted.iter().filter_map(call).collect();
        }
        let snapshot = self.engine.snapshot();
        let own = ["list_resources", "read_resource", "list_prompts", "get_prompt"].map(wire);
        let tools = snapshot.entries().into_iter().filter(|entry| {
            entry.name().starts_with("mcp__") && !own.iter().any(|name| name == entry.name())
        });
        // A tool that wants a schema is shown the other tool's.
        let schemas: Vec<Value> = tools.clone().map(|entry| entry.tool().parameters()).collect();
        let rich = schemas.iter().max_by_key(|schema| schema.to_string().len()).cloned();
        tools
            .map(|entry| {
                let mut arguments = entry.schema().corrected_example(&json!({}));
                if let (Some(schema), Some(Value::Object(arguments)), true) = (
                    &rich,
                    Some(&mut arguments),
                    entry.tool().parameters().pointer("/properties/schema").is_some(),
                ) {
                    arguments.insert("schema".to_owned(), schema.clone());
                }
                (entry.name().to_owned(), arguments)
            })
            .collect()
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let caller = Caller::new(std::env::temp_dir());
        self.engine.call(ToolCall::new("1", tool, arguments), &caller).await
    }

    /// Reads what else the server has, if it has anything.
    async fn read_along(&self) {
        let snapshot = self.engine.snapshot();
        let wire = |tool: &str| format!("mcp__{NAME}__{tool}");
        let ways = [
            ("list_resources", "/resources/0/uri", "read_resource", "uri"),
            ("list_prompts", "/prompts/0/name", "get_prompt", "name"),
        ];
        for (list, first, get, argument) in ways {
            if snapshot.get(&wire(list)).is_none() {
                continue;
            }
            let listed = self.call(&wire(list), json!({})).await;
            let listed: Value = serde_json::from_str(&listed.content).unwrap_or_default();
            if let Some(found) = listed.pointer(first) {
                let arguments = Map::from_iter([(argument.to_owned(), found.clone())]);
                self.call(&wire(get), Value::Object(arguments)).await;
            }
        }
    }
}

/// What the settings of a login would say in this scenario.
fn oauth(scenario: &str, context: &Value) -> Value {
    let mut oauth = json!({"timeout": 20});
    let Some(fields) = oauth.as_object_mut() else { return oauth };
    for key in ["client_id", "client_secret"] {
        if let Some(value) = context.get(key) {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    if scenario.starts_with("auth/client-credentials") {
        fields.insert("grant_type".to_owned(), json!("client_credentials"));
    }
    if scenario == "auth/basic-cimd" {
        fields.insert("client_id".to_owned(), json!(DOCUMENT));
    }
    oauth
}

/// Says yes, and fills in what was proposed.
struct Agreeable;

impl ElicitationPrompter for Agreeable {
    fn ask<'a>(
        &'a self,
        _server: &'a str,
        question: &'a ServerQuestion,
    ) -> BoxFuture<'a, ElicitationAnswer> {
        Box::pin(async move {
            match question {
                ServerQuestion::Form { fields, .. } => {
                    let filled = fields
                        .iter()
                        .filter_map(|field| Some((field.name.clone(), field.default.clone()?)));
                    ElicitationAnswer::AcceptedForm(filled.collect())
                }
                _ => ElicitationAnswer::Accepted,
            }
        })
    }
}

/// Goes where the server's login sends it, without a person.
struct Browser;

impl LoginPrompter for Browser {
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let client = reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .ok()?;
            let answer = client.get(url).send().await.ok()?;
            let place = answer.headers().get("location")?.to_str().ok()?;
            Some(place.to_owned())
        })
    }
}
