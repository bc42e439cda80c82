//! A parsed config.yaml: every key in its order, known or not, with its
//! position.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hermes_store::regular_file;
use serde_json::{Map, Value};

use crate::error::{ConfigDiagnostic, ConfigError, FilePosition};
use crate::expand::expand;
use crate::path::KeyPath;
use crate::scalar::resolve_plain;
use crate::source::{SourceText, SpannedProblem};
use crate::tree::{self, CommentMode, NodeId, YamlNodeKind, YamlTree};

/// Maximum size of a configuration file.
pub const MAX_CONFIG_BYTES: usize = 8 * 1024 * 1024;

/// A parsed configuration document; its top level is always a mapping.
///
/// `Debug` omits the contents: the file may hold keys and passwords.
pub struct ConfigDocument {
    source: SourceText,
    tree: YamlTree,
    value: Value,
}

impl ConfigDocument {
    /// Reads a file; a missing file is an empty document.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(path, read_text(path)?.unwrap_or_default())
    }

    /// Reads a file; `None` if it does not exist.
    pub(crate) fn load_existing(path: &Path) -> Result<Option<Self>, ConfigError> {
        read_text(path)?.map(|text| Self::parse(path, text)).transpose()
    }

    /// Parses a text; errors refer to it as `name`.
    pub fn parse(name: impl Into<PathBuf>, text: impl Into<String>) -> Result<Self, ConfigError> {
        let source = SourceText::new(name.into(), text.into());
        if source.text.len() > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge { path: source.name });
        }
        match parse_document(&source.text) {
            Ok((tree, value)) => Ok(Self { source, tree, value }),
            Err(problem) => Err(ConfigError::Syntax(Box::new(source.diagnose(problem)))),
        }
    }

    /// Returns the whole document, an object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the text it was parsed from.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// Returns the name it was read under.
    pub fn name(&self) -> &Path {
        &self.source.name
    }

    /// Returns the value at a path; a number addresses a list item.
    pub fn get(&self, path: &KeyPath) -> Option<&Value> {
        get(&self.value, path.names())
    }

    /// Returns the position of the value at a path.
    pub fn position(&self, path: &KeyPath) -> Option<FilePosition> {
        let (start, _) = self.find(path.names())?;
        Some(self.source.position(start))
    }

    /// Returns a diagnostic for the value at a path, with its line if it has
    /// one.
    pub(crate) fn diagnose(
        &self,
        names: &[String],
        message: String,
        hint: String,
    ) -> ConfigDiagnostic {
        match self.find(names) {
            Some((start, node)) => {
                let node = self.tree.node(node);
                let end = match node.kind {
                    YamlNodeKind::Scalar { .. } | YamlNodeKind::Alias(_) => node.end,
                    _ => start,
                };
                self.source.diagnose(SpannedProblem::new(start..end, message).hint(hint))
            }
            None => ConfigDiagnostic::without_position(message, hint),
        }
    }

    /// Returns the offset of an entry and the node of its value.
    fn find(&self, names: &[String]) -> Option<(usize, NodeId)> {
        let mut node = self.tree.root?;
        let mut start = self.tree.node(node).start;
        for name in names {
            (start, node) = descend(&self.tree, node, name, 0)?;
        }
        Some((start, node))
    }
}

impl fmt::Debug for ConfigDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigDocument")
            .field("name", &self.source.name)
            .field("bytes", &self.source.text.len())
            .finish_non_exhaustive()
    }
}

/// Resolves one path segment, through aliases and `<<`.
fn descend(tree: &YamlTree, node: NodeId, name: &str, depth: usize) -> Option<(usize, NodeId)> {
    match &tree.node(tree.target(node)).kind {
        YamlNodeKind::Map { entries, .. } => {
            let own = entries.iter().find(|entry| !entry.merge && entry.name == name);
            if let Some(entry) = own {
                return Some((tree.node(entry.key).start, entry.value));
            }
            if depth >= tree::MAX_DEPTH {
                return None;
            }
            let sources = tree.merge_sources(entries);
            sources.into_iter().find_map(|source| descend(tree, source, name, depth + 1))
        }
        YamlNodeKind::List { items, .. } => {
            let item = *items.get(name.parse::<usize>().ok()?)?;
            Some((tree.node(item).start, item))
        }
        YamlNodeKind::Scalar { .. } | YamlNodeKind::Alias(_) => None,
    }
}

/// Returns the value at a path below `value`.
pub(crate) fn get<'v>(value: &'v Value, names: &[String]) -> Option<&'v Value> {
    names.iter().try_fold(value, |value, name| match value {
        Value::Object(map) => map.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Parses a configuration; an empty text is an empty document.
pub(crate) fn parse_document(text: &str) -> Result<(YamlTree, Value), SpannedProblem> {
    parse_document_with(text, CommentMode::Skip)
}

pub(crate) fn parse_document_with(
    text: &str,
    comments: CommentMode,
) -> Result<(YamlTree, Value), SpannedProblem> {
    let tree = tree::parse(text, comments)?;
    let value = match tree.root {
        Some(root) => expand(&tree, root)?,
        None => Value::Null,
    };
    let value = match (value, tree.root) {
        (Value::Null, _) => Value::Object(Map::new()),
        (value @ Value::Object(_), _) => value,
        (value, root) => {
            let at = root.map_or(0..0, |root| tree.node(root).range());
            return Err(not_a_mapping(&value, at));
        }
    };
    Ok((tree, value))
}

fn not_a_mapping(value: &Value, at: std::ops::Range<usize>) -> SpannedProblem {
    let hint = match value {
        Value::String(text) if text.contains(':') => {
            "write `key: value`, with a space after the colon"
        }
        _ => "the top level must be `key: value` lines",
    };
    let found = describe(value);
    SpannedProblem::new(at, format!("the configuration must be a mapping, not {found}")).hint(hint)
}

/// Describes a value in words.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() > 40 => {
            let start: String = text.chars().take(37).collect();
            format!("the string {start:?}…")
        }
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

/// Reads a file and checks its size and encoding; `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let fail = |source| ConfigError::Read { path: path.to_owned(), source };
    let bytes = match regular_file::read_at_most(path, MAX_CONFIG_BYTES as u64 + 1) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(ConfigError::TooLarge { path: path.to_owned() });
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let (valid, rest) = error.as_bytes().split_at(offset);
        ConfigError::NotUtf8 {
            path: path.to_owned(),
            offset,
            byte: rest.first().copied().unwrap_or_default(),
            line: valid.iter().filter(|byte| **byte == b'\n').count() + 1,
        }
    })
}

/// Parses a command-line value: `true`, `3`, `2.5`, `[a, b]`, `{k: v}`, a
/// quoted string, or else the text itself.
pub fn parse_value(text: &str) -> Value {
    let trimmed = text.trim();
    let as_text = || Value::String(text.to_owned());
    match trimmed.chars().next() {
        None => as_text(),
        Some('[' | '{' | '"' | '\'') if trimmed.len() <= MAX_CONFIG_BYTES => {
            let parsed = tree::parse(trimmed, CommentMode::Skip);
            let value = parsed.and_then(|tree| match tree.root {
                Some(root) if is_bare_mapping(&tree.node(root).kind) => {
                    expand(&tree, root).map(Some)
                }
                _ => Ok(None),
            });
            value.ok().flatten().unwrap_or_else(as_text)
        }
        Some(_) => match resolve_plain(trimmed) {
            Value::String(_) => as_text(),
            value => value,
        },
    }
}

/// Whether a parsed value is complete in itself, not a mapping without braces.
/// `"a": b` starts like a quoted string and `[a]: b` like a list, but both are
/// such mappings.
fn is_bare_mapping(kind: &YamlNodeKind) -> bool {
    match kind {
        YamlNodeKind::Map { flow, .. } | YamlNodeKind::List { flow, .. } => *flow,
        YamlNodeKind::Scalar { .. } | YamlNodeKind::Alias(_) => true,
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
