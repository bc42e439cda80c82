//! Pins the tool definitions of a server at first use. A changed definition may
//! have another purpose, so the tool is held back until the user has reviewed
//! the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hermes_store::atomic::write_atomic;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::sanitize::excerpt;
use super::{digest, names};

/// Maximum length of a displayed difference, in lines and characters per line.
const MAX_DIFF_LINES: usize = 40;
const MAX_LINE_CHARS: usize = 400;

/// Maximum size of a pin file.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Accepted tools of a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ToolPins {
    /// The server: its program and arguments, or its URL.
    #[serde(default)]
    identity: String,
    #[serde(default)]
    tools: BTreeMap<String, ToolPin>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ToolPin {
    sha256: String,
    definition: Value,
    /// The server that the tool was accepted from, if not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// Added after the first use and not yet reviewed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_news: bool,
}

/// Status of a tool compared to its pin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PinStatus {
    /// Unchanged, or new without concerns.
    Trusted,
    /// The definition has changed.
    Changed {
        /// The pinned definition.
        was: Box<Value>,
        /// The difference, in lines.
        difference: String,
    },
    /// New, while other tools are missing: possibly a renamed one.
    Renamed {
        /// The missing tools.
        gone: Vec<String>,
    },
    /// The server itself has changed.
    ServerChanged {
        /// The previous server.
        was: String,
        /// The current server.
        is: String,
    },
    /// New since the first use, with texts that give orders to their reader.
    Suspicious,
}

impl ToolPins {
    pub(crate) fn pins_path(dir: &Path, server: &str) -> PathBuf {
        dir.join(format!("{}.json", names::file_stem(server)))
    }

    /// Loads the pins of a server. An unreadable file is an error: treating it
    /// as empty would accept everything.
    pub(crate) fn load(dir: &Path, server: &str) -> Result<Option<Self>, String> {
        let path = Self::pins_path(dir, server);
        let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(shown(&error)),
            Ok(found) if found.len() > MAX_FILE_BYTES => {
                return Err(shown(&"the file is too large"));
            }
            Ok(_) => {}
        }
        let bytes = std::fs::read(&path).map_err(|error| shown(&error))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| shown(&error))
    }

    pub(crate) fn save(&self, dir: &Path, server: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        write_atomic(&Self::pins_path(dir, server), &serde_json::to_vec_pretty(self)?, 0o600)
    }

    /// Returns the status of each tool, and whether the pins changed. New tools
    /// without concerns are pinned. After the first use, `suspicious` ones are
    /// not: the user reviews the tools only when adding the server.
    pub(crate) fn check_tools(
        &mut self,
        identity: &str,
        tools: &[Value],
        suspicious: impl Fn(&Value) -> bool,
    ) -> (Vec<PinStatus>, bool) {
        let is_first = self.tools.is_empty();
        let mut has_news = is_first && self.identity != identity;
        if is_first {
            identity.clone_into(&mut self.identity);
        }
        let moved =
            |was: &str| PinStatus::ServerChanged { was: was.to_owned(), is: identity.to_owned() };
        let today: Vec<&str> = tools.iter().map(tool_name).collect();
        let gone: Vec<String> =
            self.tools.keys().filter(|name| !today.contains(&name.as_str())).cloned().collect();
        let mut standings = Vec::new();
        for (tool, name) in tools.iter().zip(today) {
            let sha256 = digest::json_sha256(tool);
            let standing = match self.tools.get(name) {
                Some(pin) if pin.sha256 != sha256 => PinStatus::Changed {
                    was: Box::new(pin.definition.clone()),
                    difference: diff_definitions(&pin.definition, tool),
                },
                Some(pin) => match pin.identity.as_deref().unwrap_or(&self.identity) {
                    was if was == identity => PinStatus::Trusted,
                    was => moved(was),
                },
                None if self.identity != identity => moved(&self.identity),
                None if !is_first && !gone.is_empty() => PinStatus::Renamed { gone: gone.clone() },
                None if !is_first && suspicious(tool) => PinStatus::Suspicious,
                None => {
                    has_news = true;
                    let definition = tool.clone();
                    let pin = ToolPin { sha256, definition, identity: None, is_news: !is_first };
                    self.tools.insert(name.to_owned(), pin);
                    PinStatus::Trusted
                }
            };
            standings.push(standing);
        }
        (standings, has_news)
    }

    /// Whether a tool was added after the first use and not yet reviewed.
    pub(crate) fn is_new_tool(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|pin| pin.is_news)
    }

    /// Pins the named tool, or all, as they are now. Forgets missing tools.
    /// Returns how many were new or changed.
    pub(crate) fn accept(&mut self, identity: &str, tools: &[Value], only: Option<&str>) -> usize {
        let mut accepted = 0;
        let before = std::mem::take(&mut self.identity);
        let own = Some(identity.to_owned()).filter(|it| only.is_some() && *it != before);
        self.identity = if only.is_none() { identity.to_owned() } else { before.clone() };
        for tool in tools {
            let name = tool_name(tool);
            if only.is_some_and(|only| only != name) {
                continue;
            }
            let sha256 = digest::json_sha256(tool);
            let definition = tool.clone();
            let pin = ToolPin { sha256, definition, identity: own.clone(), is_news: false };
            let old = self.tools.insert(name.to_owned(), pin);
            let is_new = |old: ToolPin| {
                let place = old.identity.as_deref().unwrap_or(&before);
                old.is_news || old.definition != *tool || place != identity
            };
            accepted += usize::from(old.is_none_or(is_new));
        }
        let today: Vec<&str> = tools.iter().map(tool_name).collect();
        // While other new tools are not accepted, missing ones are remembered,
        // so those stay held back as possibly renamed.
        let is_settled = today.iter().all(|name| self.tools.contains_key(*name));
        if only.is_none() || is_settled {
            self.tools.retain(|name, _| today.contains(&name.as_str()));
        }
        accepted
    }
}

pub(crate) fn tool_name(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the difference, one line per value: `-` before, `+` after.
fn diff_definitions(was: &Value, is: &Value) -> String {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    flatten(was, String::new(), 12, &mut before);
    flatten(is, String::new(), 12, &mut after);
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut lines = Vec::new();
    for key in keys {
        let (old, new) = (before.get(key), after.get(key));
        if old == new {
            continue;
        }
        let line =
            |sign: char, text: &String| format!("{sign} {key}: {}", excerpt(text, MAX_LINE_CHARS));
        lines.extend(old.map(|text| line('-', text)));
        lines.extend(new.map(|text| line('+', text)));
    }
    if lines.len() > MAX_DIFF_LINES {
        let more = lines.len() - MAX_DIFF_LINES;
        lines.truncate(MAX_DIFF_LINES);
        lines.push(format!("… and {more} more lines"));
    }
    lines.join("\n")
}

fn flatten(value: &Value, path: String, levels: usize, into: &mut BTreeMap<String, String>) {
    let fields: Map<String, Value> = match value {
        Value::Object(fields) if levels > 0 && !fields.is_empty() => fields.clone(),
        other => {
            into.insert(path, other.to_string());
            return;
        }
    };
    for (key, field) in fields {
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        flatten(&field, path, levels - 1, into);
    }
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
