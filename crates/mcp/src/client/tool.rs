//! A server's tool as one of ours.

use std::sync::Arc;
use std::time::Instant;

use hermes_core::{
    ToolAlias, Availability, BoundCall, BoxFuture, UserPrompter, DynTool, Effect, ErrorKind, Scope,
    ToolContext, ToolError, ToolOutput, ToolSpec, WorkingDir,
};
use hermes_schema::Schema;
use serde_json::{Map, Value};

use super::asker::ByClarify;
use super::connection::Connection;
use super::content;
use super::describe::{Described, describe};
use super::fault::Fault;
use super::pins::{Standing, name_of};
use super::plain::excerpt;
use super::server::Server;
use super::{extras, names};

/// What a call of the tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Calls the server's tool.
    Call,
    /// One of the things that every server with resources or prompts can do.
    Extra(extras::Extra),
}

/// A tool of a server.
pub(crate) struct RemoteTool {
    server: Arc<Server>,
    /// Its name at the server.
    tool: String,
    spec: ToolSpec,
    parameters: Value,
    deed: Deed,
    /// Whether the server says that it can be called twice.
    repeatable: bool,
    /// Why it cannot be called before somebody has looked at it.
    held_back: Option<ToolError>,
    /// The form that its structured answers have, by the server's own word.
    form: Option<Arc<Schema>>,
    /// What the scan of its texts has found.
    pub(crate) findings: Vec<String>,
    /// Whether it came later than the others of its server.
    pub(crate) is_news: bool,
}

impl RemoteTool {
    /// The tool of that definition. `usable` are its parameters as far as they
    /// can be used here, if that is not all of them.
    pub(crate) fn new(
        server: &Arc<Server>,
        definition: &Value,
        usable: Option<&Value>,
        standing: &Standing,
    ) -> Self {
        let name = name_of(definition);
        let shown = &*names::safe(server.name(), name);
        // What a changed tool says of itself is not told before it is accepted.
        let (mut told, held_back) = match standing {
            Standing::Good => (describe(server.name(), definition), None),
            Standing::Changed { was, difference } => {
                (describe(server.name(), was), Some(changed(server.name(), shown, difference)))
            }
            Standing::Moved { was, is } => {
                (describe(server.name(), definition), Some(moved(server.name(), shown, was, is)))
            }
            Standing::Renamed { gone } => {
                (unseen(server.name()), Some(renamed(server.name(), shown, gone)))
            }
            Standing::Suspect => {
                let found = describe(server.name(), definition).findings;
                let told = Described { findings: found, ..unseen(server.name()) };
                let why = suspect(server.name(), shown, &told.findings);
                (told, Some(why))
            }
        };
        if let (Some(usable), None) = (usable, &held_back) {
            told.parameters = usable.clone();
        }
        let hint = |key: &str| {
            definition.get("annotations").and_then(|it| it.get(key)).and_then(Value::as_bool)
        };
        let looks_only = hint("readOnlyHint") == Some(true);
        let mut spec = spec(server, name).description(told.description);
        // A hint is no promise: it decides what is tried again and what waits
        // for what at this server, and nothing that needs trust.
        spec.annotations.destructive = !looks_only && hint("destructiveHint").unwrap_or(true);
        let changes = !looks_only
            && (hint("readOnlyHint") == Some(false) || hint("destructiveHint") == Some(true));
        spec.unordered = server.settings().parallel.unwrap_or(!changes);
        Self {
            server: Arc::clone(server),
            tool: name.to_owned(),
            spec,
            parameters: told.parameters,
            deed: Deed::Call,
            repeatable: looks_only || hint("idempotentHint") == Some(true),
            held_back,
            form: definition.get("outputSchema").cloned().map(|it| Arc::new(Schema::new(it))),
            findings: told.findings,
            is_news: false,
        }
    }

    /// One of the things that every server with resources or prompts can do.
    pub(crate) fn extra(server: &Arc<Server>, extra: extras::Extra, name: &str) -> Self {
        let mut spec = spec(server, name).description(extra.description(server.name()));
        spec.unordered = server.settings().parallel.unwrap_or(true);
        Self {
            server: Arc::clone(server),
            tool: name.to_owned(),
            spec,
            parameters: extra.parameters(),
            deed: Deed::Extra(extra),
            repeatable: true,
            held_back: None,
            form: None,
            findings: Vec::new(),
            is_news: false,
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
            deed: self.deed.clone(),
            repeatable: self.repeatable,
            held_back: self.held_back.clone(),
            form: self.form.clone(),
            findings: self.findings.clone(),
            is_news: self.is_news,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Its exact name.
    pub(crate) fn id(&self) -> String {
        names::canonical(self.server.name(), &self.tool)
    }

    pub(crate) fn held_back(&self) -> Option<&ToolError> {
        self.held_back.as_ref()
    }

    /// What tells one form of it from another.
    pub(crate) fn print(&self) -> String {
        let parts = serde_json::json!([
            self.spec.description,
            self.parameters,
            self.repeatable,
            self.spec.unordered,
            self.held_back.as_ref().map(ToolError::to_value),
            self.form.as_ref().map(|form| form.raw()),
            self.tool,
            self.spec.aliases.iter().map(|alias| &*alias.name).collect::<Vec<_>>(),
        ]);
        super::digest::of_json(&parts)
    }

    fn effect(&self) -> Effect {
        Effect::name(Scope::named(format!("mcp:{}", self.server.name())), self.tool.clone())
    }

    /// Does it, once more if that can do no harm.
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
        let asker = cx.ports.get::<dyn UserPrompter>().map(|clarify| Arc::new(ByClarify(clarify)));
        let _asking = asker.map(|asker| self.server.host().ask_through(asker));
        let mut is_first = true;
        loop {
            let connection = self.server.connection(cx).await?;
            // What was found in the registry may be older than the connection.
            self.server.vouch(self.name())?;
            let _busy = self.server.busy();
            let began = Instant::now();
            let done = self.try_once(&connection, arguments.clone(), cx).await;
            let fault = match done {
                Ok(output) => {
                    self.server.went_well();
                    return output;
                }
                Err(fault) => fault,
            };
            if fault.is_breakdown() {
                self.server.went_badly(&connection, &fault, began);
            }
            let may_repeat = matches!(fault, Fault::NotSent(_))
                || (self.repeatable && matches!(fault, Fault::Lost(_)));
            if !(is_first && may_repeat) {
                return Err(self.explain(fault, &connection).await);
            }
            is_first = false;
        }
    }

    async fn try_once(
        &self,
        connection: &Connection,
        arguments: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<Result<ToolOutput, ToolError>, Fault> {
        let (server, media) = (self.server.name(), self.server.media());
        let patience = self.server.patience();
        let reader = self.server.reader();
        let reader = reader.as_deref();
        match &self.deed {
            Deed::Call => {
                let result = connection.call_tool(&self.tool, arguments, patience, cx).await?;
                let shown = names::safe(server, &self.tool);
                let form = self.form.as_deref();
                let from = content::Source { server, tool: &shown, reader, form };
                Ok(content::of_call(&from, &result, media))
            }
            Deed::Extra(extra) => {
                extra.run(connection, &arguments, patience, cx, media, reader).await
            }
        }
    }

    async fn explain(&self, fault: Fault, connection: &Connection) -> ToolError {
        let server = self.server.name();
        let tool = names::safe(server, &self.tool);
        let failed = match fault {
            Fault::Refused(error) | Fault::Unread(error) => return error,
            Fault::Cancelled => return ToolError::cancelled(),
            Fault::Login(want) => return super::login::wanted(&self.server, &want),
            Fault::Visit(_) => {
                return ToolError::denied(format!(
                    "The MCP server '{server}' wants the user to go somewhere first"
                ));
            }
            Fault::NotSent(why) => ToolError::new(
                ErrorKind::Network,
                format!("The MCP server '{server}' cannot be reached: {why}"),
            )
            .with_hint("The call was not made. Try again later, or go on without it."),
            Fault::Lost(why) => ToolError::new(
                ErrorKind::Network,
                format!(
                    "The MCP server '{server}' was lost while {tool} ran ({why}); whether it was \
                     done is unknown"
                ),
            )
            .with("effect_disposition", "unknown")
            .with_hint("Look at what has happened before you call it again."),
            Fault::Late(after) => ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "The MCP server '{server}' said nothing for {} s while {tool} ran, and was told \
                     to stop; whether it was done is unknown",
                    after.as_secs_f64()
                ),
            )
            .with("effect_disposition", "unknown")
            .with_hint("Look at what has happened before you call it again; `timeout` of the server allows more time."),
            Fault::Long(after) => ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "The MCP server '{server}' had not finished {tool} after {} s, and was told to \
                     stop; whether it was done is unknown",
                    after.as_secs_f64()
                ),
            )
            .with("effect_disposition", "unknown")
            .with_hint("Look at what has happened before you call it again; `max_total_timeout` of the server allows more time."),
        };
        self.server.with_last_words(failed, connection).await
    }
}

fn spec(server: &Server, tool: &str) -> ToolSpec {
    let mut spec = ToolSpec::new(names::wire(server.name(), tool), names::toolset(server.name()))
        .emoji("🔌")
        .keyword(names::canonical(server.name(), tool))
        .keyword("mcp")
        // Somebody else's text: it is labelled as such on its way to a model.
        .open_world();
    spec.timeout = Some(server.longest());
    spec
}

/// What is told of a tool that nobody has looked at.
fn unseen(server: &str) -> Described {
    Described {
        description: format!(
            "A new tool of the MCP server {server}, which nobody has looked at yet."
        ),
        parameters: serde_json::json!({"type": "object"}),
        findings: Vec::new(),
    }
}

fn suspect(server: &str, tool: &str, findings: &[String]) -> ToolError {
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!(
            "The tool {tool} of the MCP server '{server}' has been added since the server was \
             first used, and its description gives orders to its reader ({})",
            findings.join(", ")
        ),
    )
    .with_hint(format!("Ask the user; `hermes mcp accept {server} {tool}` takes it as it is now."))
}

fn changed(server: &str, tool: &str, difference: &str) -> ToolError {
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!("The tool {tool} of the MCP server '{server}' has changed since it was first used"),
    )
    .with("difference", difference)
    .with_hint(format!(
        "Show the user the difference; `hermes mcp accept {server} {tool}` takes it as it is now."
    ))
}

fn moved(server: &str, tool: &str, was: &str, is: &str) -> ToolError {
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!(
            "The MCP server '{server}' is another one than {tool} was first used at: it was {}, \
             and is {}",
            excerpt(was, 300),
            excerpt(is, 300)
        ),
    )
    .with_hint(format!("Ask the user; `hermes mcp accept {server}` takes it as it is now."))
}

fn renamed(server: &str, tool: &str, gone: &[String]) -> ToolError {
    let gone = gone.iter().take(10).map(|tool| names::safe(server, tool)).collect::<Vec<_>>();
    ToolError::new(
        ErrorKind::ApprovalRequired,
        format!(
            "The tool {tool} of the MCP server '{server}' is new, while {} is gone: it may be the \
             same one by another name",
            gone.join(", ")
        ),
    )
    .with_hint(format!("Ask the user; `hermes mcp accept {server} {tool}` takes it as it is now."))
}

impl DynTool for RemoteTool {
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
            Value::Object(arguments) => Ok(Box::new(Bound { tool: self, arguments })),
            Value::Null => Ok(Box::new(Bound { tool: self, arguments: Map::new() })),
            _ => Err(ToolError::invalid("The arguments are not an object")),
        }
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        // A server that is not there is told of by the call, with the reason.
        Box::pin(async { Availability::Ready })
    }
}

struct Bound {
    tool: Arc<RemoteTool>,
    arguments: Map<String, Value>,
}

impl BoundCall for Bound {
    fn effects(&self, _at: &WorkingDir) -> Vec<Effect> {
        vec![self.tool.effect()]
    }

    fn run(self: Box<Self>, cx: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let Bound { tool, arguments } = *self;
        Box::pin(async move { tool.run(arguments, &cx).await })
    }
}
