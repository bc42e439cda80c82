//! Changes one value in a YAML text and keeps every other byte.
//!
//! The node is located in the text and replaced there. The result is parsed
//! again and must equal the old document with exactly that change; anything
//! else is refused, so a text this module does not fully understand is never
//! damaged.

use serde_json::{Map, Value};

use crate::document::{describe, get, parse_document, parse_document_with};
use crate::error::ConfigDiagnostic;
use crate::path::KeyPath;
use crate::source::{SourceText, SpannedProblem};
use crate::tree::{CommentMode, MAX_DEPTH, NodeId, YamlNodeKind};

mod layout;
mod plan;
mod position;
mod render;

use layout::TextLayout;
use plan::SplicePlanner;
use position::ValuePosition;

/// Reason why a text was not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not a valid configuration.
    #[error("the file must be repaired before it can be edited\n{0}")]
    Broken(Box<ConfigDiagnostic>),
    /// A value on the path has no keys.
    #[error(
        "`{path}` on line {line} is {found}, which has no key `{key}`\nhint: set `{path}` itself, or remove it first"
    )]
    NotAMapping {
        /// Path of that value.
        path: KeyPath,
        /// Line of that value.
        line: usize,
        /// Description of that value.
        found: String,
        /// The key that was looked up in it.
        key: String,
    },
    /// A list has no such item.
    #[error(
        "`{path}` has {count} items and no item `{key}`\nhint: items count from 0; set the whole list to add one"
    )]
    NoSuchItem {
        /// Path of the list.
        path: KeyPath,
        /// Number of items.
        count: usize,
        /// The item that was looked up.
        key: String,
    },
    /// The value to remove is not set.
    #[error("`{path}` is not set")]
    NotSet {
        /// The path.
        path: KeyPath,
    },
    /// The value is nested too deeply.
    #[error("the value for `{path}` is nested more than {MAX_DEPTH} levels deep")]
    TooDeep {
        /// The path.
        path: KeyPath,
    },
    /// The change would affect something else.
    #[error("`{path}` was not changed: {reason}\nhint: edit the file by hand")]
    Refused {
        /// The path.
        path: KeyPath,
        /// Why the change is not possible.
        reason: String,
    },
}

/// Returns the text with the value at `path` set. Missing sections are added in
/// the style of the file.
pub fn set(text: &str, path: &KeyPath, value: &Value) -> Result<String, EditError> {
    if depth_of(value) + path.names().len() > MAX_DEPTH {
        return Err(EditError::TooDeep { path: path.clone() });
    }
    let edit = ValueEdit::begin(text, path)?;
    let mut wanted = edit.old.clone();
    edit.apply_to(&mut wanted, value)?;
    if get(&edit.old, path.names()) == Some(value) {
        return Ok(text.to_owned());
    }
    let plan = SplicePlanner::new(&edit.layout);
    let result = match edit.locate()? {
        PathMatch::Value(spot, node) => {
            let old = get(&edit.old, path.names()).unwrap_or(&Value::Null);
            // Changing only the items that differ preserves the comments of the
            // others.
            let small = plan.diff(&spot, node, old, value);
            let whole = || plan.replace(&spot, node, value).map(|splice| vec![splice]);
            match edit.finish(small, &wanted) {
                Ok(text) => return Ok(text),
                Err(_) => edit.finish(whole(), &wanted),
            }
        }
        PathMatch::EmptyValue(spot, node, depth) => {
            let section = path.names().get(..depth).unwrap_or_default();
            let value = get(&wanted, section).unwrap_or(&Value::Null);
            let splice = plan.replace(&spot, node, value);
            edit.finish(splice.map(|splice| vec![splice]), &wanted)
        }
        PathMatch::Mapping(node, depth) => {
            let (name, value) = edit.missing_entry(&wanted, depth);
            let splice = plan.insert_entries(node, None, &[(name, value)]);
            edit.finish(splice.map(|splice| vec![splice]), &wanted)
        }
        PathMatch::EmptyDocument => {
            let (name, value) = edit.missing_entry(&wanted, 0);
            let splice = plan.append(name, value);
            edit.finish(splice.map(|splice| vec![splice]), &wanted)
        }
    };
    result.map_err(|reason| edit.refuse(reason))
}

/// Returns the text without the entry at `path`. A section that becomes empty
/// remains as `{}`.
pub fn unset(text: &str, path: &KeyPath) -> Result<String, EditError> {
    let edit = ValueEdit::begin(text, path)?;
    let not_set = || EditError::NotSet { path: path.clone() };
    if get(&edit.old, path.names()).is_none() {
        return Err(not_set());
    }
    let (last, section) = path.names().split_last().ok_or_else(not_set)?;
    let mut wanted = edit.old.clone();
    match get_mut(&mut wanted, section) {
        Some(Value::Object(map)) => map.shift_remove(last),
        _ => return Err(edit.refuse("a list item can be set, but not removed".to_owned())),
    };
    let plan = SplicePlanner::new(&edit.layout);
    let splices = edit.entry(section, last).and_then(|(spot, map, index)| {
        let only = match &edit.layout.tree.node(map).kind {
            YamlNodeKind::Map { flow, entries } => !flow && entries.len() == 1,
            _ => false,
        };
        match spot {
            Some(spot) if only => plan.replace(&spot, map, &Value::Object(Map::new())),
            _ => plan.delete_entry(map, index),
        }
    });
    let result = edit.finish(splices.map(|splice| vec![splice]), &wanted);
    result.map_err(|reason| edit.refuse(reason))
}

struct ValueEdit<'a> {
    layout: TextLayout<'a>,
    old: Value,
    path: &'a KeyPath,
}

/// How far a path resolves.
enum PathMatch {
    /// The whole path resolves to a value.
    Value(ValuePosition, NodeId),
    /// An empty value that can become a mapping, after this many names.
    EmptyValue(ValuePosition, NodeId, usize),
    /// A mapping without the next name, after this many names.
    Mapping(NodeId, usize),
    /// The document is empty.
    EmptyDocument,
}

impl<'a> ValueEdit<'a> {
    fn begin(text: &'a str, path: &'a KeyPath) -> Result<Self, EditError> {
        let broken = |problem: SpannedProblem| {
            let source = SourceText::new("config.yaml".into(), text.to_owned());
            EditError::Broken(Box::new(source.diagnose(problem)))
        };
        let (tree, old) = parse_document_with(text, CommentMode::Keep).map_err(broken)?;
        let layout = TextLayout::new(text, tree);
        Ok(Self { layout, old, path })
    }

    /// Sets the value in the parsed document, which the edited text must match.
    fn apply_to(&self, document: &mut Value, value: &Value) -> Result<(), EditError> {
        let mut at = document;
        for (depth, name) in self.path.names().iter().enumerate() {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            at = match at {
                Value::Object(map) => map.entry(name.clone()).or_insert(Value::Null),
                Value::Array(items) => {
                    let count = items.len();
                    let index = name.parse::<usize>().unwrap_or(usize::MAX);
                    items.get_mut(index).ok_or_else(|| EditError::NoSuchItem {
                        path: self.path.prefix(depth),
                        count,
                        key: name.clone(),
                    })?
                }
                other => {
                    let path = self.path.prefix(depth);
                    return Err(EditError::NotAMapping {
                        line: self.layout.line_of(path.names()).unwrap_or(1),
                        found: describe(other),
                        key: name.clone(),
                        path,
                    });
                }
            };
        }
        *at = value.clone();
        Ok(())
    }

    fn locate(&self) -> Result<PathMatch, EditError> {
        let tree = &self.layout.tree;
        let names = self.path.names();
        let Some(mut node) = tree.root else {
            return Ok(PathMatch::EmptyDocument);
        };
        let mut spot: Option<ValuePosition> = None;
        for (depth, name) in names.iter().enumerate() {
            let refuse = |reason| self.refuse(reason);
            match &tree.node(node).kind {
                YamlNodeKind::Map { flow, entries } => {
                    let found = entries.iter().position(|e| !e.merge && e.name == *name);
                    if let Some(index) = found {
                        spot = Some(self.layout.entry_position(node, index).map_err(refuse)?);
                        node = entries[index].value;
                    } else if let Some(spot) =
                        spot.filter(|s| *flow && entries.is_empty() && !s.in_flow())
                    {
                        return Ok(PathMatch::EmptyValue(spot, node, depth));
                    } else {
                        return Ok(PathMatch::Mapping(node, depth));
                    }
                }
                YamlNodeKind::List { items, .. } => {
                    let index = name.parse::<usize>().unwrap_or(usize::MAX);
                    let Some(item) = items.get(index) else {
                        return Err(self.refuse("the list has no such item".to_owned()));
                    };
                    spot = Some(self.layout.item_position(node, index).map_err(refuse)?);
                    node = *item;
                }
                YamlNodeKind::Alias(_) => {
                    let path = self.path.prefix(depth);
                    return Err(self.refuse(format!("`{path}` is an alias of another value")));
                }
                YamlNodeKind::Scalar { .. } => {
                    return Ok(match spot {
                        Some(spot) => PathMatch::EmptyValue(spot, node, depth),
                        None => PathMatch::EmptyDocument,
                    });
                }
            }
        }
        spot.map(|spot| PathMatch::Value(spot, node))
            .ok_or_else(|| self.refuse("the path does not exist".to_owned()))
    }

    /// Returns the position of an entry's mapping, the mapping, and the entry's
    /// index in it.
    fn entry(
        &self,
        section: &[String],
        last: &str,
    ) -> Result<(Option<ValuePosition>, NodeId, usize), String> {
        let tree = &self.layout.tree;
        let mut node = tree.root.ok_or("the document is empty")?;
        let mut spot = None;
        for (depth, name) in section.iter().map(String::as_str).chain([last]).enumerate() {
            match &tree.node(node).kind {
                YamlNodeKind::Map { entries, .. } => {
                    let found = entries.iter().position(|e| !e.merge && e.name == name);
                    let index = found.ok_or("it is merged from another mapping with `<<`")?;
                    if depth == section.len() {
                        return Ok((spot, node, index));
                    }
                    spot = Some(self.layout.entry_position(node, index)?);
                    node = entries[index].value;
                }
                YamlNodeKind::List { items, .. } => {
                    let index = name.parse::<usize>().unwrap_or(usize::MAX);
                    spot = Some(self.layout.item_position(node, index)?);
                    node = *items.get(index).ok_or("the list has no such item")?;
                }
                YamlNodeKind::Alias(_) => {
                    return Err("it is part of an alias of another value".to_owned());
                }
                YamlNodeKind::Scalar { .. } => break,
            }
        }
        Err("the path does not exist".to_owned())
    }

    /// Returns the entry to add to the mapping at `depth` names.
    fn missing_entry<'v>(&'v self, wanted: &'v Value, depth: usize) -> (&'v str, &'v Value) {
        let names = self.path.names();
        let name = names.get(depth).map_or("", String::as_str);
        let path = names.get(..=depth).unwrap_or_default();
        (name, get(wanted, path).unwrap_or(&Value::Null))
    }

    /// Applies the splices, and returns the text if it parses as the wanted
    /// document.
    fn finish(
        &self,
        splices: Result<Vec<plan::TextSplice>, String>,
        wanted: &Value,
    ) -> Result<String, String> {
        let text = plan::apply_splices(self.layout.text, splices?)?;
        match parse_document(&text) {
            Ok((_, value)) if value == *wanted => Ok(text),
            Ok(_) => {
                Err("other values would change, or the new value would not be kept".to_owned())
            }
            Err(problem) => Err(format!("the result would be invalid ({})", problem.message)),
        }
    }

    fn refuse(&self, reason: String) -> EditError {
        EditError::Refused { path: self.path.clone(), reason }
    }
}

fn get_mut<'v>(value: &'v mut Value, names: &[String]) -> Option<&'v mut Value> {
    names.iter().try_fold(value, |value, name| match value {
        Value::Object(map) => map.get_mut(name),
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns the nesting depth of a value, without recursion because the depth is
/// not limited yet.
fn depth_of(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;

#[cfg(test)]
mod property_tests;
