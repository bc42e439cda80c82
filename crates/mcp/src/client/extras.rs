//! Resources and prompts of a server, as tools.

use hermes_core::{ToolContext, ToolError, ToolOutput};
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    PaginatedRequestParams, ServerResult,
};
use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::connection::{Connection, Patience};
use super::content::{self, Media};
use super::fault::{Fault, odd};
use super::plain::strip_hidden;
use super::settings::ToolFilter;

/// How many pages are read, and how much is taken.
const PAGES: usize = 50;
const MOST: usize = 2_000;

/// What can be done with a server beside calling its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Extra {
    /// Those that a server of this kind has, with their names.
    pub(crate) fn of(catalogue: &Catalogue, filter: &ToolFilter) -> Vec<(Self, &'static str)> {
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

    /// What it is called beside the server's own tools: the usual name, or what
    /// the protocol calls it where a tool of the server has that name.
    pub(crate) fn name(self, catalogue: &Catalogue) -> Option<&'static str> {
        let names = match self {
            Self::ListResources => ["list_resources", "resources_list"],
            Self::ReadResource => ["read_resource", "resources_read"],
            Self::ListPrompts => ["list_prompts", "prompts_list"],
            Self::GetPrompt => ["get_prompt", "prompts_get"],
        };
        let is_taken =
            |name: &str| catalogue.tools.iter().any(|tool| super::pins::name_of(tool) == name);
        names.into_iter().find(|name| !is_taken(name))
    }

    pub(crate) fn description(self, server: &str) -> String {
        match self {
            Self::ListResources => format!(
                "List the resources of the MCP server {server}: each has a `uri` to read it by. \
                 `templates` have parts in braces to be filled in."
            ),
            Self::ReadResource => {
                format!("Read a resource of the MCP server {server} by its `uri`.")
            }
            Self::ListPrompts => {
                format!("List the prompts of the MCP server {server} and their arguments.")
            }
            Self::GetPrompt => format!(
                "Get a prompt of the MCP server {server} by its `name`, with its `arguments` put in."
            ),
        }
    }

    pub(crate) fn parameters(self) -> Value {
        match self {
            Self::ListResources | Self::ListPrompts => json!({"type": "object", "properties": {}}),
            Self::ReadResource => json!({
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "Its address."}},
                "required": ["uri"],
            }),
            Self::GetPrompt => json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Its name."},
                    "arguments": {
                        "type": "object",
                        "description": "Its arguments, each a text.",
                        "additionalProperties": {"type": "string"},
                    },
                },
                "required": ["name"],
            }),
        }
    }

    pub(crate) async fn run(
        self,
        connection: &Connection,
        arguments: &Map<String, Value>,
        patience: Patience,
        cx: &ToolContext,
        media: &Media,
        reader: Option<&str>,
    ) -> Result<Result<ToolOutput, ToolError>, Fault> {
        let server = connection.name();
        let text = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .ok_or_else(|| Fault::Refused(ToolError::invalid(format!("`{name}` is missing"))))
        };
        match self {
            Self::ListResources => {
                let resources = list(server, connection, Listed::Resources, patience, cx).await?;
                let templates = list(server, connection, Listed::Templates, patience, cx).await;
                let mut object = Map::new();
                object.insert("resources".to_owned(), resources.into());
                // Many servers have none and do not know the question.
                if let Ok(templates) = templates
                    && !templates.is_empty()
                {
                    object.insert("templates".to_owned(), templates.into());
                }
                Ok(Ok(ToolOutput::from(object)))
            }
            Self::ReadResource => {
                let result = connection.read_resource(text("uri")?, patience, cx).await?;
                Ok(Ok(content::of_resource(&result, media)))
            }
            Self::ListPrompts => {
                let prompts = list(server, connection, Listed::Prompts, patience, cx).await?;
                let mut object = Map::new();
                object.insert("prompts".to_owned(), prompts.into());
                Ok(Ok(ToolOutput::from(object)))
            }
            Self::GetPrompt => {
                let given = arguments.get("arguments").and_then(Value::as_object);
                let given = given.cloned().unwrap_or_default();
                let result = connection.get_prompt(text("name")?, given, patience, cx).await?;
                Ok(content::of_prompt(&result, media, reader))
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Listed {
    Resources,
    Templates,
    Prompts,
}

/// All of a kind, page by page: what a model needs to know of each.
async fn list(
    server: &str,
    connection: &Connection,
    what: Listed,
    patience: Patience,
    cx: &ToolContext,
) -> Result<Vec<Value>, Fault> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = match what {
            Listed::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
            }
            Listed::Templates => ClientRequest::ListResourceTemplatesRequest(
                ListResourceTemplatesRequest::with_param(params),
            ),
            Listed::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
            }
        };
        let (items, next) = match connection.request(request, patience, Some(cx)).await? {
            ServerResult::ListResourcesResult(page) => (values(&page.resources), page.next_cursor),
            ServerResult::ListResourceTemplatesResult(page) => {
                (values(&page.resource_templates), page.next_cursor)
            }
            ServerResult::ListPromptsResult(page) => (values(&page.prompts), page.next_cursor),
            _ => return Err(Fault::Refused(odd(server, "a list was wanted"))),
        };
        all.extend(items.into_iter().take(MOST - all.len()));
        if next.is_none() || next == cursor || all.len() >= MOST {
            break;
        }
        cursor = next;
    }
    Ok(all)
}

fn values(items: &[impl serde::Serialize]) -> Vec<Value> {
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
