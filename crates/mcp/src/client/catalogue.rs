//! Catalogue of what a server offers, cached on disk so its tools are available
//! before it starts.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_store::atomic::write_atomic;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connection::{McpConnection, ProtocolEra, RequestTimeouts};
use super::describe::describe_tool;
use super::error::{McpRequestError, unexpected_response};
use super::{digest, names, nesting};

/// Version of the cache format. Files of other versions are ignored.
const CACHE_VERSION: u32 = 1;

/// How many pages are read, and how many tools are loaded.
const MAX_PAGES: usize = 200;
const MAX_TOOLS: usize = 2_000;

/// Maximum size of one tool definition, and of all together, in bytes.
const MAX_DEFINITION_BYTES: usize = 1024 * 1024;
const MAX_TOTAL_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of a cache file.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Catalogue of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerCatalogue {
    version: u32,
    /// How to connect to the server.
    pub era: ProtocolEra,
    /// The protocol version.
    pub protocol: String,
    /// The server's name and version.
    pub program: Option<(String, String)>,
    /// Whether the server has resources.
    pub resources: bool,
    /// Whether the server has prompts.
    pub prompts: bool,
    /// The tool definitions of the server, unchanged.
    pub tools: Vec<Value>,
    /// Problems of omitted tools, one sentence each.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Reduced parameter schemas of tools whose schema is only partly
    /// supported; the server checks the rest. Cached, since checking a schema
    /// is slow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usable: BTreeMap<String, Value>,
    /// Notes that are not problems, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl ServerCatalogue {
    /// Fetches the catalogue from a server.
    pub(crate) async fn fetch(
        connection: &McpConnection,
        timeout: Duration,
    ) -> Result<Self, McpRequestError> {
        let info = &connection.info;
        let mut it = Self {
            version: CACHE_VERSION,
            era: connection.next_era(),
            protocol: info.protocol_version.to_string(),
            program: info.server_info.as_ref().map(|it| (it.name.clone(), it.version.clone())),
            resources: info.capabilities.resources.is_some(),
            prompts: info.capabilities.prompts.is_some(),
            tools: Vec::new(),
            problems: Vec::new(),
            usable: BTreeMap::new(),
            notes: Vec::new(),
        };
        if info.capabilities.tools.is_some() {
            it.fetch_tools(connection, timeout).await?;
        }
        Ok(it)
    }

    async fn fetch_tools(
        &mut self,
        connection: &McpConnection,
        timeout: Duration,
    ) -> Result<(), McpRequestError> {
        let timeout = RequestTimeouts { idle: timeout, total: timeout };
        let mut cursor: Option<String> = None;
        let mut known = HashSet::new();
        let mut room = MAX_TOTAL_BYTES;
        let (mut left_out, mut next_page) = (0, None);
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let request = ListToolsRequest::with_param(params);
            let request = ClientRequest::ListToolsRequest(request);
            let (tools, next): (Vec<Value>, _) =
                match connection.request(request, timeout, None).await? {
                    ServerResult::ListToolsResult(page) => {
                        let tools = page.tools.iter().map(serde_json::to_value);
                        (tools.filter_map(Result::ok).collect(), page.next_cursor)
                    }
                    // One invalid tool makes the whole list deserialize as
                    // another result type.
                    other => {
                        let page = serde_json::to_value(&other).unwrap_or_default();
                        let Some(tools) = page.get("tools").and_then(Value::as_array) else {
                            let text = super::sanitize::excerpt(&page.to_string(), 200);
                            return Err(McpRequestError::Refused(unexpected_response(
                                connection.name(),
                                &text,
                            )));
                        };
                        let next =
                            page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
                        (tools.clone(), next)
                    }
                };
            for tool in tools {
                left_out += usize::from(!self.try_add_tool(tool, &mut known, &mut room));
            }
            if next.is_none() || next == cursor {
                next_page = None;
                break;
            }
            next_page = next.clone();
            if self.tools.len() >= MAX_TOOLS {
                break;
            }
            cursor = next;
        }
        self.report_omitted(left_out, next_page.is_some());
        Ok(())
    }

    /// Reports that tools were omitted. Inserted first, since only the first of
    /// many problems are shown.
    fn report_omitted(&mut self, left_out: usize, has_more_pages: bool) {
        let which = match (left_out, has_more_pages) {
            (0, false) => return,
            (0, true) => "Tools on later pages".to_owned(),
            (count, false) => format!("{count} more tools"),
            (count, true) => format!("More than {count} tools"),
        };
        let taken = self.tools.len();
        let bound = match taken + self.problems.len() < MAX_TOOLS {
            true => format!("at most {MAX_PAGES} pages are read"),
            false => format!("at most {MAX_TOOLS} are allowed"),
        };
        let text = format!("{which} are omitted: {taken} are loaded, and {bound}");
        self.problems.insert(0, text);
    }

    /// Adds a tool, or records why not. Returns false if the catalogue is full.
    fn try_add_tool(
        &mut self,
        definition: Value,
        known: &mut HashSet<String>,
        room: &mut usize,
    ) -> bool {
        if self.tools.len() >= MAX_TOOLS || self.problems.len() >= MAX_TOOLS {
            return false;
        }
        self.add_tool(definition, known, room);
        true
    }

    fn add_tool(&mut self, definition: Value, known: &mut HashSet<String>, room: &mut usize) {
        let text = definition.to_string();
        let length = text.len();
        if text.contains(nesting::TOO_DEEP_MARKER) {
            let name = definition.get("name").and_then(Value::as_str).unwrap_or("?");
            let name = super::sanitize::excerpt(name, 100);
            self.problems
                .push(format!("The tool '{name}' is omitted: its definition is nested too deeply"));
            return;
        }
        if length > MAX_DEFINITION_BYTES.min(*room) {
            let name = definition.get("name").and_then(Value::as_str).unwrap_or("?");
            let name = super::sanitize::excerpt(name, 100);
            self.problems
                .push(format!("The tool '{name}' is omitted: its definition is too large"));
            return;
        }
        *room -= length;
        let tool = match serde_json::from_value::<Tool>(definition.clone()) {
            Ok(tool) => tool,
            Err(error) => {
                let name = definition.get("name").and_then(Value::as_str).unwrap_or("?");
                let name = super::sanitize::excerpt(name, 100);
                self.problems.push(format!("The tool '{name}' is omitted: {error}"));
                return;
            }
        };
        let takes = tool.input_schema.get("type").filter(|kind| !accepts_objects(kind));
        if let Some(kind) = takes {
            let name = super::sanitize::excerpt(&tool.name, 100);
            let kind = super::sanitize::excerpt(&kind.to_string(), 100);
            self.problems.push(format!(
                "The tool '{name}' is omitted: the type of its inputSchema must be object, not \
                 {kind}"
            ));
            return;
        }
        if tool.name.is_empty() {
            self.problems.push("A tool without a name is omitted".to_owned());
        } else if !known.insert(tool.name.to_string()) {
            let name = super::sanitize::excerpt(&tool.name, 100);
            self.problems.push(format!("A duplicate tool named '{name}' is omitted"));
        } else if let Ok(definition) = serde_json::to_value(&tool) {
            self.note_unusable(&tool.name, &definition);
            self.tools.push(definition);
        }
    }

    /// Records the parts of a tool's parameter schema that are not supported.
    fn note_unusable(&mut self, name: &str, definition: &Value) {
        let parameters = describe_tool("", definition).parameters;
        let (usable, dropped) = hermes_schema::drop_unusable(parameters);
        let Some(first) = dropped.first() else { return };
        let more = match dropped.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.notes.push(format!(
            "The parameter schema of the tool '{}' has parts that cannot be checked here and \
             are left to the server: {}{more}",
            super::sanitize::excerpt(name, 100),
            super::sanitize::excerpt(&hermes_schema::to_dotted(first), 200)
        ));
        self.usable.insert(name.to_owned(), usable);
    }

    /// Returns the cache file of a server with these settings.
    fn cache_path(dir: &Path, server: &str, written: &Value) -> PathBuf {
        let hash = digest::json_sha256(written);
        dir.join(format!("{}.{}.json", names::file_stem(server), &hash[..16]))
    }

    /// Loads the cached catalogue of a server with these settings.
    pub(crate) fn load(dir: &Path, server: &str, written: &Value) -> Option<Self> {
        let path = Self::cache_path(dir, server, written);
        if path.metadata().ok()?.len() > MAX_FILE_BYTES {
            return None;
        }
        let it: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (it.version == CACHE_VERSION).then_some(it)
    }

    /// Writes the catalogue to the cache, unless it is unchanged.
    pub(crate) fn save(&self, dir: &Path, server: &str, written: &Value) -> std::io::Result<()> {
        let path = Self::cache_path(dir, server, written);
        let bytes = serde_json::to_vec(self)?;
        if std::fs::read(&path).is_ok_and(|kept| kept == bytes) {
            return Ok(());
        }
        std::fs::create_dir_all(dir)?;
        write_atomic(&path, &bytes, 0o600)
    }

    /// Removes all cached catalogues of a server, whatever its settings.
    pub(crate) fn forget(dir: &Path, server: &str) {
        let prefix = format!("{}.", names::file_stem(server));
        let Ok(files) = std::fs::read_dir(dir) else { return };
        for file in files.flatten() {
            if file.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}

/// Whether a schema of this type accepts objects; arguments always are one.
fn accepts_objects(kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        kind => kind == "object",
    }
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
