//! The bridge tools: search, describe and call tools whose definitions are not
//! in the prompt.

use std::sync::Arc;

use hermes_core::{
    Availability, BoundCall, BoxFuture, DynTool, Effect, JsonSchema, Tool, ToolContext, ToolError,
    ToolExample, ToolMatch, ToolSpec, WorkingDir, erase,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::registry::BRIDGE_TOOLSET;

/// Returns the three bridge tools.
pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        erase(ToolSearchBridge),
        erase(ToolDescribeBridge),
        Arc::new(ToolCallStub { spec: ToolCallStub::spec() }),
    ]
}

#[derive(Debug)]
struct ToolSearchBridge;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// What the tool should do, in a few words.
    query: String,
    /// Max matches.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[derive(Debug, Serialize)]
struct SearchOutput {
    query: String,
    total_available: usize,
    matches: Vec<ToolMatch>,
}

impl Tool for ToolSearchBridge {
    type Args = SearchArgs;
    type Output = SearchOutput;

    fn spec() -> ToolSpec {
        ToolSpec::new("tool_search", BRIDGE_TOOLSET)
            .emoji("🔎")
            .description("Find tools beyond those listed here by what they do.")
            .read_only()
            .example(
                ToolExample::new("Search for a tool", r#"{"query":"wait a while"}"#)
                    .expects(r#"{"query":"wait a while"}"#),
            )
    }

    fn effects(&self, _: &SearchArgs, _: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: SearchArgs, cx: &ToolContext) -> Result<SearchOutput, ToolError> {
        let host = cx.engine.as_ref().ok_or_else(missing_host_error)?;
        let (matches, total_available) = host.search_tools(&args.query, args.limit);
        Ok(SearchOutput { query: args.query, total_available, matches })
    }
}

#[derive(Debug)]
struct ToolDescribeBridge;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DescribeArgs {
    /// The tool's name.
    name: String,
}

impl Tool for ToolDescribeBridge {
    type Args = DescribeArgs;
    type Output = Value;

    fn spec() -> ToolSpec {
        ToolSpec::new("tool_describe", BRIDGE_TOOLSET)
            .emoji("📘")
            .description("Show a tool's parameters before calling it with tool_call.")
            .read_only()
            .example(
                ToolExample::new("Describe a tool", r#"{"name":"tool_search"}"#)
                    .expects(r#"{"name":"tool_search"}"#),
            )
    }

    fn effects(&self, _: &DescribeArgs, _: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: DescribeArgs, cx: &ToolContext) -> Result<Value, ToolError> {
        let host = cx.engine.as_ref().ok_or_else(missing_host_error)?;
        host.describe_tool(&args.name).ok_or_else(|| {
            let near = host.similar_names(&args.name);
            ToolError::not_found(format!("No tool '{}'", args.name))
                .with_hint("Use tool_search to find the tool's name.")
                .with("similar", near)
        })
    }
}

fn missing_host_error() -> ToolError {
    ToolError::internal("The tool was called outside an engine")
}

/// The `tool_call` definition. It never runs: the pipeline replaces it with the
/// call it carries, so every stage sees the actual tool.
struct ToolCallStub {
    spec: ToolSpec,
}

impl ToolCallStub {
    fn spec() -> ToolSpec {
        ToolSpec::new("tool_call", BRIDGE_TOOLSET)
            .emoji("📞")
            .description("Call a tool found with tool_search.")
            .example(ToolExample::new(
                "Call a tool by name",
                r#"{"name":"tool_search","arguments":{"query":"x"}}"#,
            ))
    }
}

impl DynTool for ToolCallStub {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The tool's name." },
                "arguments": { "type": "object", "description": "Its arguments." }
            },
            "required": ["name"],
            "additionalProperties": false
        })
    }

    fn bind(self: Arc<Self>, _: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        Err(ToolError::invalid("tool_call requires the name of another tool"))
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        Box::pin(async { Availability::Ready })
    }
}
