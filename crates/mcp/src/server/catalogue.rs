//! The tool list as the protocol shows it: sorted by name, in pages.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use hermes_engine::toolsets::ToolsetError;
use hermes_engine::{
    DeferMode, DeferralSettings, ToolDefinitions, ToolEntry, ToolOwner, is_valid_tool_name,
};
use hermes_schema::Schema;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::ServerShared;

/// How long clients may cache a list. Changes in between are announced.
pub(super) const LIST_TTL_MS: u64 = 30_000;

/// Prefix of a cursor; the name of the last item on the page follows.
pub(super) const CURSOR_PREFIX: &str = "after:";

/// Maximum nesting of a schema that is processed.
const MAX_SCHEMA_DEPTH: usize = 64;

/// The types of JSON Schema.
const JSON_TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Cache of the latest list.
#[derive(Debug, Default)]
pub(crate) struct ToolCatalogue {
    latest: Mutex<Option<Arc<ToolListing>>>,
    /// The definitions of the first list.
    first: OnceLock<Arc<str>>,
}

impl ToolCatalogue {
    /// Returns the definitions that clients got first, if any has asked.
    pub(crate) fn first_definitions(&self) -> Option<&Arc<str>> {
        self.first.get()
    }
}

/// The tools at one moment.
#[derive(Debug)]
pub(crate) struct ToolListing {
    pub(crate) definitions: Arc<ToolDefinitions>,
    pub(crate) tools: Vec<Tool>,
    /// The result schemas of the tools that declare one, by name.
    pub(crate) output_schemas: HashMap<String, Schema>,
}

impl ServerShared {
    /// Returns the tools that are offered now.
    pub(crate) async fn listing(&self) -> Result<Arc<ToolListing>, ToolsetError> {
        // Clients do their own tool search.
        let deferral = DeferralSettings { mode: DeferMode::Off, ..DeferralSettings::default() };
        let definitions = self.engine.definitions(&self.selection(), deferral).await?;
        let mut latest = self.catalogue.latest.lock();
        if let Some(kept) = latest.as_ref().filter(|l| Arc::ptr_eq(&l.definitions, &definitions)) {
            return Ok(Arc::clone(kept));
        }
        self.catalogue.first.get_or_init(|| Arc::clone(&definitions.json));
        let tools: Vec<Tool> = definitions.scope.entries().iter().map(tool_from_entry).collect();
        let answers = tools.iter().filter_map(|tool| {
            let schema = Value::Object(tool.output_schema.as_deref()?.clone());
            Some((tool.name.to_string(), Schema::new(schema)))
        });
        let answers = answers.collect();
        let made = Arc::new(ToolListing { definitions, tools, output_schemas: answers });
        *latest = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Returns a tool by name, if a list has been made.
    pub(crate) fn listed_tool(&self, name: &str) -> Option<Tool> {
        let latest = self.catalogue.latest.lock();
        let tools = &latest.as_ref()?.tools;
        let at = tools.binary_search_by(|tool| (*tool.name).cmp(name)).ok()?;
        tools.get(at).cloned()
    }
}

impl ToolListing {
    /// Returns the page after the tool named by the cursor, or the first page.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<ListToolsResult, ErrorData> {
        let after = cursor
            .map(|cursor| cursor.strip_prefix(CURSOR_PREFIX).filter(|it| is_valid_tool_name(it)));
        let start = match after {
            None => 0,
            Some(Some(name)) => self.tools.partition_point(|tool| &*tool.name <= name),
            Some(None) => {
                return Err(ErrorData::invalid_params("Invalid cursor", None));
            }
        };
        let rest = self.tools.get(start..).unwrap_or_default();
        let (page, more) = rest.split_at(size.max(1).min(rest.len()));
        let mut result = ListToolsResult::with_all_items(page.to_vec());
        if !more.is_empty() {
            result.next_cursor = page.last().map(|tool| format!("{CURSOR_PREFIX}{}", tool.name));
        }
        result.ttl_ms = Some(LIST_TTL_MS);
        result.cache_scope = Some(rmcp::model::CacheScope::Private);
        Ok(result)
    }
}

fn tool_from_entry(entry: &Arc<ToolEntry>) -> Tool {
    let spec = entry.spec();
    let function = entry.function_json();
    let field = |key: &str| function.get(key).cloned().unwrap_or_default();
    // Built-in schemas are normalized for models; others are passed on
    // unchanged.
    let schema = if *entry.owner() == ToolOwner::builtin() {
        let mut schema = field("parameters");
        split_type_unions(&mut schema, MAX_SCHEMA_DEPTH);
        schema
    } else {
        entry.tool().parameters()
    };
    let description = match field("description") {
        Value::String(text) => text,
        _ => spec.description.to_string(),
    };
    let like = spec.annotations;
    let mut tool = Tool::new(spec.name.to_string(), description, object_schema(schema))
        .with_annotations(
            ToolAnnotations::new()
                .read_only(like.read_only)
                .destructive(like.destructive)
                .idempotent(like.idempotent)
                .open_world(like.open_world),
        );
    // Results of open-world tools are wrapped, so their schema would not match.
    let answer = entry.tool().output_schema().filter(|_| !like.open_world);
    let answer = answer.map(|mut schema| {
        split_type_unions(&mut schema, MAX_SCHEMA_DEPTH);
        schema
    });
    tool.output_schema = answer.map(|schema| Arc::new(object_schema(schema)));
    tool
}

/// Rewrites a list of types as `anyOf` branches with one type each, which is
/// equivalent and supported by more clients.
fn split_type_unions(schema: &mut Value, depth: usize) {
    let below = match (depth.checked_sub(1), &mut *schema) {
        (Some(below), Value::Array(parts)) => {
            parts.iter_mut().for_each(|part| split_type_unions(part, below));
            return;
        }
        (Some(below), Value::Object(_)) => below,
        _ => return,
    };
    let Value::Object(fields) = schema else { return };
    // Values are not schemas, whatever they look like.
    let values = ["default", "examples", "enum", "const"];
    let parts = fields.iter_mut().filter(|(key, _)| !values.contains(&key.as_str()));
    parts.for_each(|(_, part)| split_type_unions(part, below));
    let Some(Value::Array(types)) = fields.get("type") else { return };
    let is_name = |it: &Value| it.as_str().is_some_and(|name| JSON_TYPES.contains(&name));
    if fields.contains_key("anyOf") || types.is_empty() || !types.iter().all(is_name) {
        return;
    }
    let types = types.clone();
    // With only one type besides null, its keywords move to its branch;
    // otherwise they stay where they are.
    let mut own = Map::new();
    if types.iter().filter(|it| *it != "null").count() == 1 {
        let shared = ["type", "title", "description", "default", "examples", "enum", "const"];
        for key in fields.keys().cloned().collect::<Vec<_>>() {
            if !shared.contains(&&*key)
                && let Some(value) = fields.shift_remove(&key)
            {
                own.insert(key, value);
            }
        }
    }
    let branches = types.into_iter().map(|name| {
        let mut branch = if name == "null" { Map::new() } else { own.clone() };
        branch.shift_insert(0, "type".to_owned(), name);
        Value::Object(branch)
    });
    let branches = branches.collect();
    fields.shift_remove("type");
    fields.insert("anyOf".to_owned(), branches);
}

/// Returns the schema as the protocol requires it: an object of type `object`.
fn object_schema(schema: Value) -> JsonObject {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    if schema.get("type").is_none() {
        schema.insert("type".to_owned(), json!("object"));
    }
    schema
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
