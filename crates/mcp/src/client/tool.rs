//! A tool of an MCP server as a tool of the registry.

use std::sync::Arc;
use std::time::Instant;

use hermes_core::{
    Availability, BoundCall, BoxFuture, DynTool, Effect, ErrorKind, Scope, ToolAlias, ToolContext,
    ToolError, ToolOutput, ToolSpec, UserPrompter, WorkingDir,
};
use hermes_schema::Schema;
use serde_json::{Map, Value};

use super::connection::McpConnection;
use super::content;
use super::describe::{ToolDescription, describe_tool};
use super::error::McpRequestError;
use super::pins::{PinStatus, tool_name};
use super::prompter::UserPrompterAdapter;
use super::sanitize::excerpt;
use super::server::SupervisedServer;
use super::{names, protocol_tools};

/// What calling the tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RemoteAction {
    /// Calls the server's tool.
    CallTool,
    /// Runs a protocol operation on the server's resources or prompts.
    Protocol(protocol_tools::ProtocolTool),
}

/// A tool of an MCP server.
pub(crate) struct McpTool {
    server: Arc<SupervisedServer>,
    /// Its name on the server.
    tool: String,
    spec: ToolSpec,
    parameters: Value,
    action: RemoteAction,
    /// Whether the server declares that repeating a call is harmless.
    is_retryable: bool,
    /// Why it cannot be called before the user has reviewed it.
    held_back: Option<ToolError>,
    /// The schema of its structured results, as the server declares it.
    output_schema: Option<Arc<Schema>>,
    /// Findings of the scan of its description and schema.
    pub(crate) findings: Vec<String>,
    /// Whether it was added after the server's other tools.
    pub(crate) is_new: bool,
}

impl McpTool {
    /// Creates the tool from its definition. `usable` is the part of its
    /// parameters that is supported here, if not all of them are.
    pub(crate) fn new(
        server: &Arc<SupervisedServer>,
        definition: &Value,
        usable: Option<&Value>,
        standing: &PinStatus,
    ) -> Self {
        let name = tool_name(definition);
        let shown = &*names::printable_name(server.name(), name);
        // The new description of a changed tool is withheld until it is
        // accepted.
        let (mut reported, held_back) = match standing {
            PinStatus::Trusted => (describe_tool(server.name(), definition), None),
            PinStatus::Changed { was, difference } => (
                describe_tool(server.name(), was),
                Some(changed_error(server.name(), shown, difference)),
            ),
            PinStatus::ServerChanged { was, is } => (
                describe_tool(server.name(), definition),
                Some(server_changed_error(server.name(), shown, was, is)),
            ),
            PinStatus::Renamed { gone } => (
                withheld_description(server.name()),
                Some(renamed_error(server.name(), shown, gone)),
            ),
            PinStatus::Suspicious => {
                let found = describe_tool(server.name(), definition).findings;
                let reported =
                    ToolDescription { findings: found, ..withheld_description(server.name()) };
                let why = suspicious_error(server.name(), shown, &reported.findings);
                (reported, Some(why))
            }
        };
        if let (Some(usable), None) = (usable, &held_back) {
            reported.parameters = usable.clone();
        }
        let hint = |key: &str| {
            definition.get("annotations").and_then(|it| it.get(key)).and_then(Value::as_bool)
        };
        let looks_only = hint("readOnlyHint") == Some(true);
        let mut spec = tool_spec(server, name).description(reported.description);
        // Hints are not trusted: they affect only retries and the order of
        // calls on this server.
        spec.annotations.destructive = !looks_only && hint("destructiveHint").unwrap_or(true);
        let changes = !looks_only
            && (hint("readOnlyHint") == Some(false) || hint("destructiveHint") == Some(true));
        spec.unordered = server.settings().parallel.unwrap_or(!changes);
        Self {
            server: Arc::clone(server),
            tool: name.to_owned(),
            spec,
            parameters: reported.parameters,
            action: RemoteAction::CallTool,
            is_retryable: looks_only || hint("idempotentHint") == Some(true),
            held_back,
            output_schema: definition
                .get("outputSchema")
                .cloned()
                .map(|it| Arc::new(Schema::new(it))),
            findings: reported.findings,
            is_new: false,
        }
    }

    /// Creates a tool for a protocol operation on resources or prompts.
    pub(crate) fn for_protocol_tool(
        server: &Arc<SupervisedServer>,
        extra: protocol_tools::ProtocolTool,
        name: &str,
    ) -> Self {
        let mut spec = tool_spec(server, name).description(extra.description(server.name()));
        spec.unordered = server.settings().parallel.unwrap_or(true);
        Self {
            server: Arc::clone(server),
            tool: name.to_owned(),
            spec,
            parameters: extra.parameters(),
            action: RemoteAction::Protocol(extra),
            is_retryable: true,
            held_back: None,
            output_schema: None,
            findings: Vec::new(),
            is_new: false,
        }
    }

    pub(crate) fn add_alias(&mut self, name: String) {
        self.spec.aliases.push(ToolAlias { name: name.into(), preset_arguments: None });
    }

    pub(crate) fn without_aliases(&self) -> Self {
        let mut spec = self.spec.clone();
        spec.aliases.clear();
        Self {
            server: Arc::clone(&self.server),
            tool: self.tool.clone(),
            spec,
            parameters: self.parameters.clone(),
            action: self.action.clone(),
            is_retryable: self.is_retryable,
            held_back: self.held_back.clone(),
            output_schema: self.output_schema.clone(),
            findings: self.findings.clone(),
            is_new: self.is_new,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Its canonical name.
    pub(crate) fn canonical_name(&self) -> String {
        names::canonical(self.server.name(), &self.tool)
    }

    pub(crate) fn held_back(&self) -> Option<&ToolError> {
        self.held_back.as_ref()
    }

    /// A digest that changes with any visible property of the tool.
    pub(crate) fn fingerprint(&self) -> String {
        let parts = serde_json::json!([
            self.spec.description,
            self.parameters,
            self.is_retryable,
            self.spec.unordered,
            self.held_back.as_ref().map(ToolError::to_value),
            self.output_schema.as_ref().map(|form| form.raw()),
            self.tool,
            self.spec.aliases.iter().map(|alias| &*alias.name).collect::<Vec<_>>(),
        ]);
        super::digest::json_sha256(&parts)
    }

    fn effect(&self) -> Effect {
        Effect::name(Scope::named(format!("mcp:{}", self.server.name())), self.tool.clone())
    }

    /// Runs the call, and retries it once if that is harmless.
    async fn run(
        &self,
        arguments: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        if let Some(why) = &self.held_back {
            return Err(why.clone());
        }
        let effect = self.effect();
        cx.check_grant(&effect.scope, &effect.resource)?;
        let asker = cx
            .ports
            .get::<dyn UserPrompter>()
            .map(|clarify| Arc::new(UserPrompterAdapter(clarify)));
        let _asking = asker.map(|asker| self.server.client_handler().register_prompter(asker));
        let mut is_first = true;
        loop {
            let connection = self.server.connection(cx).await?;
            // The registry snapshot may be older than the connection.
            self.server.check_callable(self.name())?;
            let _busy = self.server.begin_call();
            let began = Instant::now();
            let done = self.try_once(&connection, arguments.clone(), cx).await;
            let fault = match done {
                Ok(output) => {
                    self.server.record_success();
                    return output;
                }
                Err(fault) => fault,
            };
            if fault.is_connection_failure() {
                self.server.record_failure(&connection, &fault, began);
            }
            let may_repeat = matches!(fault, McpRequestError::NotSent(_))
                || (self.is_retryable && matches!(fault, McpRequestError::Lost(_)));
            if !(is_first && may_repeat) {
                return Err(self.to_tool_error(fault, &connection).await);
            }
            is_first = false;
        }
    }

    async fn try_once(
        &self,
        connection: &McpConnection,
        arguments: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Result<ToolOutput, ToolError>, McpRequestError> {
        let (server, media) = (self.server.name(), self.server.media());
        let timeout = self.server.request_timeouts();
        let reader = self.server.resource_reader();
        let reader = reader.as_deref();
        match &self.action {
            RemoteAction::CallTool => {
                let result = connection.call_tool(&self.tool, arguments, timeout, cx).await?;
                let shown = names::printable_name(server, &self.tool);
                let form = self.output_schema.as_deref();
                let from =
                    content::ResultSource { server, tool: &shown, reader, output_schema: form };
                Ok(content::tool_output(&from, &result, media))
            }
            RemoteAction::Protocol(extra) => {
                extra.run(connection, &arguments, timeout, cx, media, reader).await
            }
        }
    }

    async fn to_tool_error(&self, fault: McpRequestError, connection: &McpConnection) -> ToolError {
        let server = self.server.name();
        let tool = names::printable_name(server, &self.tool);
        let failed = match fault {
            McpRequestError::Refused(error) | McpRequestError::Unreadable(error) => return error,
            McpRequestError::Cancelled => return ToolError::cancelled(),
            McpRequestError::AuthRequired(want) => {
                return super::oauth::auth_required_error(&self.server, &want);
            }
            McpRequestError::UrlElicitation(_) => {
                return ToolError::denied(format!(
                    "The MCP server '{server}' requires the user to open a URL first"
                ));
            }
            McpRequestError::NotSent(why) => ToolError::new(
                ErrorKind::Network,
                format!("The MCP server '{server}' cannot be reached: {why}"),
            )
            .with_hint("The call was not made. Retry later, or continue without it."),
            McpRequestError::Lost(why) => ToolError::new(
                ErrorKind::Network,
                format!(
                    "The connection to the MCP server '{server}' was lost while {tool} ran \
                     ({why}); the outcome of the call is unknown"
                ),
            )
            .with("effect_disposition", "unknown")
            .with_hint("Check whether the call took effect before repeating it."),
            McpRequestError::IdleTimeout(after) => ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "The MCP server '{server}' sent nothing for {} s while {tool} ran; the \
                     call was cancelled and its outcome is unknown",
                    after.as_secs_f64()
                ),
            )
            .with("effect_disposition", "unknown")
            .with_hint(
                "Check whether the call took effect before repeating it; the server \
                setting `timeout` allows more time.",
            ),
            McpRequestError::TotalTimeout(after) => ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "The MCP server '{server}' did not finish {tool} within {} s; the call was \
                     cancelled and its outcome is unknown",
                    after.as_secs_f64()
                ),
            )
            .with("effect_disposition", "unknown")
            .with_hint(
                "Check whether the call took effect before repeating it; the server \
                setting `max_total_timeout` allows more time.",
            ),
        };
        self.server.with_stderr(failed, connection).await
    }
}

fn tool_spec(server: &SupervisedServer, tool: &str) -> ToolSpec {
    let mut spec =
        ToolSpec::new(names::model_name(server.name(), tool), names::toolset(server.name()))
            .emoji("🔌")
            .keyword(names::canonical(server.name(), tool))
            .keyword("mcp")
            // Results are untrusted text and are labelled as such for the
            // model.
            .open_world();
    spec.timeout = Some(server.max_call_time());
    spec
}

/// Placeholder description for a tool that the user has not reviewed.
fn withheld_description(server: &str) -> ToolDescription {
    ToolDescription {
        description: format!(
            "A new tool of the MCP server {server}, not yet reviewed by the user."
        ),
        parameters: serde_json::json!({"type": "object"}),
        findings: Vec::new(),
    }
}

fn suspicious_error(server: &str, tool: &str, findings: &[String]) -> ToolError {
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!(
            "The tool {tool} of the MCP server '{server}' was added after the server was first \
             used, and its description contains instructions to the model ({})",
            findings.join(", ")
        ),
    )
    .with_hint(format!(
        "Ask the user; `hermes mcp accept {server} {tool}` accepts the current \
        version."
    ))
}

fn changed_error(server: &str, tool: &str, difference: &str) -> ToolError {
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!("The tool {tool} of the MCP server '{server}' has changed since it was first used"),
    )
    .with("difference", difference)
    .with_hint(format!(
        "Show the user the difference; `hermes mcp accept {server} {tool}` accepts the current \
         version."
    ))
}

fn server_changed_error(server: &str, tool: &str, was: &str, is: &str) -> ToolError {
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!(
            "The MCP server '{server}' has changed since {tool} was first used: it was {} and \
             is now {}",
            excerpt(was, 300),
            excerpt(is, 300)
        ),
    )
    .with_hint(format!("Ask the user; `hermes mcp accept {server}` accepts the current server."))
}

fn renamed_error(server: &str, tool: &str, gone: &[String]) -> ToolError {
    let gone =
        gone.iter().take(10).map(|tool| names::printable_name(server, tool)).collect::<Vec<_>>();
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!(
            "The tool {tool} of the MCP server '{server}' is new, and {} is gone: it may have \
             been renamed",
            gone.join(", ")
        ),
    )
    .with_hint(format!(
        "Ask the user; `hermes mcp accept {server} {tool}` accepts the current \
        version."
    ))
}

impl DynTool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        self.bind_owned(arguments.clone())
    }

    fn bind_owned(self: Arc<Self>, arguments: Value) -> Result<Box<dyn BoundCall>, ToolError> {
        match arguments {
            Value::Object(arguments) => Ok(Box::new(BoundRemoteCall { tool: self, arguments })),
            Value::Null => Ok(Box::new(BoundRemoteCall { tool: self, arguments: Map::new() })),
            _ => Err(ToolError::invalid("The arguments must be an object")),
        }
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        // An unreachable server is reported by the call, with the reason.
        Box::pin(async { Availability::Ready })
    }
}

struct BoundRemoteCall {
    tool: Arc<McpTool>,
    arguments: Map<String, Value>,
}

impl BoundCall for BoundRemoteCall {
    fn effects(&self, _at: &WorkingDir) -> Vec<Effect> {
        vec![self.tool.effect()]
    }

    fn run(self: Box<Self>, cx: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let BoundRemoteCall { tool, arguments } = *self;
        Box::pin(async move { tool.run(arguments, &cx).await })
    }
}
