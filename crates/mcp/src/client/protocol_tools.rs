//! Exposes the resources and prompts of a server as tools.

use hermes_core::{ToolContext, ToolError, ToolOutput};
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    PaginatedRequestParams, ServerResult,
};
use serde_json::{Map, Value, json};

use super::catalogue::ServerCatalogue;
use super::connection::{McpConnection, RequestTimeouts};
use super::content::{self, MediaStore};
use super::error::{McpRequestError, unexpected_response};
use super::sanitize::strip_hidden;
use super::settings::ToolFilter;

/// How many pages are read, and how many items are returned.
const MAX_PAGES: usize = 50;
const MAX_ITEMS: usize = 2_000;

/// A protocol operation exposed as a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolTool {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl ProtocolTool {
    /// Returns the operations that a server supports, with their tool names.
    pub(crate) fn for_server(
        catalogue: &ServerCatalogue,
        filter: &ToolFilter,
    ) -> Vec<(Self, &'static str)> {
        let mut extras = Vec::new();
        if catalogue.resources && filter.resources {
            extras.extend([Self::ListResources, Self::ReadResource]);
        }
        if catalogue.prompts && filter.prompts {
            extras.extend([Self::ListPrompts, Self::GetPrompt]);
        }
        let named = extras.into_iter().filter_map(|extra| Some((extra, extra.name(catalogue)?)));
        named.collect()
    }

    /// Returns the tool name: the usual one, or the protocol's if the server
    /// has a tool of that name.
    pub(crate) fn name(self, catalogue: &ServerCatalogue) -> Option<&'static str> {
        let names = match self {
            Self::ListResources => ["list_resources", "resources_list"],
            Self::ReadResource => ["read_resource", "resources_read"],
            Self::ListPrompts => ["list_prompts", "prompts_list"],
            Self::GetPrompt => ["get_prompt", "prompts_get"],
        };
        let is_taken =
            |name: &str| catalogue.tools.iter().any(|tool| super::pins::tool_name(tool) == name);
        names.into_iter().find(|name| !is_taken(name))
    }

    pub(crate) fn description(self, server: &str) -> String {
        match self {
            Self::ListResources => format!(
                "List the resources of the MCP server {server}, each with a `uri` to read. \
                 `templates` have placeholders in braces."
            ),
            Self::ReadResource => {
                format!("Read a resource of the MCP server {server} by its `uri`.")
            }
            Self::ListPrompts => {
                format!("List the prompts of the MCP server {server} and their arguments.")
            }
            Self::GetPrompt => format!(
                "Get a prompt of the MCP server {server} by `name`, with its `arguments` \
                 filled in."
            ),
        }
    }

    pub(crate) fn parameters(self) -> Value {
        match self {
            Self::ListResources | Self::ListPrompts => json!({"type": "object", "properties": {}}),
            Self::ReadResource => json!({
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "Its URI."}},
                "required": ["uri"],
            }),
            Self::GetPrompt => json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Its name."},
                    "arguments": {
                        "type": "object",
                        "description": "Its arguments, as strings.",
                        "additionalProperties": {"type": "string"},
                    },
                },
                "required": ["name"],
            }),
        }
    }

    pub(crate) async fn run(
        self,
        connection: &McpConnection,
        arguments: &Map<String, Value>,
        timeout: RequestTimeouts,
        cx: &ToolContext,
        media: &MediaStore,
        reader: Option<&str>,
    ) -> Result<Result<ToolOutput, ToolError>, McpRequestError> {
        let server = connection.name();
        let text = |name: &str| {
            arguments.get(name).and_then(Value::as_str).ok_or_else(|| {
                McpRequestError::Refused(ToolError::invalid(format!("`{name}` is missing")))
            })
        };
        match self {
            Self::ListResources => {
                let resources =
                    list_all(server, connection, ListKind::Resources, timeout, cx).await?;
                let templates =
                    list_all(server, connection, ListKind::Templates, timeout, cx).await;
                let mut object = Map::new();
                object.insert("resources".to_owned(), resources.into());
                // Many servers have no templates and reject the request.
                if let Ok(templates) = templates
                    && !templates.is_empty()
                {
                    object.insert("templates".to_owned(), templates.into());
                }
                Ok(Ok(ToolOutput::from(object)))
            }
            Self::ReadResource => {
                let result = connection.read_resource(text("uri")?, timeout, cx).await?;
                Ok(Ok(content::resource_output(&result, media)))
            }
            Self::ListPrompts => {
                let prompts = list_all(server, connection, ListKind::Prompts, timeout, cx).await?;
                let mut object = Map::new();
                object.insert("prompts".to_owned(), prompts.into());
                Ok(Ok(ToolOutput::from(object)))
            }
            Self::GetPrompt => {
                let given = arguments.get("arguments").and_then(Value::as_object);
                let given = given.cloned().unwrap_or_default();
                let result = connection.get_prompt(text("name")?, given, timeout, cx).await?;
                Ok(content::prompt_output(&result, media, reader))
            }
        }
    }
}

#[derive(Clone, Copy)]
enum ListKind {
    Resources,
    Templates,
    Prompts,
}

/// Lists all items of a kind, reduced to what a model needs.
async fn list_all(
    server: &str,
    connection: &McpConnection,
    what: ListKind,
    timeout: RequestTimeouts,
    cx: &ToolContext,
) -> Result<Vec<Value>, McpRequestError> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = match what {
            ListKind::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
            }
            ListKind::Templates => ClientRequest::ListResourceTemplatesRequest(
                ListResourceTemplatesRequest::with_param(params),
            ),
            ListKind::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
            }
        };
        let (items, next) = match connection.request(request, timeout, Some(cx)).await? {
            ServerResult::ListResourcesResult(page) => {
                (to_values(&page.resources), page.next_cursor)
            }
            ServerResult::ListResourceTemplatesResult(page) => {
                (to_values(&page.resource_templates), page.next_cursor)
            }
            ServerResult::ListPromptsResult(page) => (to_values(&page.prompts), page.next_cursor),
            _ => {
                return Err(McpRequestError::Refused(unexpected_response(
                    server,
                    "a list was expected",
                )));
            }
        };
        all.extend(items.into_iter().take(MAX_ITEMS - all.len()));
        if next.is_none() || next == cursor || all.len() >= MAX_ITEMS {
            break;
        }
        cursor = next;
    }
    Ok(all)
}

fn to_values(items: &[impl serde::Serialize]) -> Vec<Value> {
    let shown =
        ["uri", "uriTemplate", "name", "title", "description", "mimeType", "size", "arguments"];
    let trim = |value: Value| {
        let Value::Object(mut fields) = value else { return value };
        fields.retain(|key, _| shown.contains(&key.as_str()));
        for field in fields.values_mut() {
            if let Value::String(text) = field {
                *text = strip_hidden(text, 1_000);
            }
        }
        Value::Object(fields)
    };
    items.iter().filter_map(|item| serde_json::to_value(item).ok()).map(trim).collect()
}
