//! Reads and writes the document with custom toolsets. Unknown fields are
//! preserved.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{CustomToolset, ToolsetError, custom};

const DOCUMENT_VERSION: u64 = 1;

/// The custom toolsets, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomToolsets {
    toolsets: BTreeMap<String, CustomToolset>,
    extra: Map<String, Value>,
}

impl CustomToolsets {
    /// Parses
    /// `{"version":1,"toolsets":{NAME:{"description","tools","includes"}}}`.
    /// Blank text is an empty document.
    ///
    /// # Errors
    /// When the text is not such a document; the error names the place.
    pub fn parse(text: &str) -> Result<Self, ToolsetError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|error| document_error("not valid JSON", error.to_string()))?;
        let mut document = Self::default();
        for (key, value) in read_object(value, "the document")? {
            match key.as_str() {
                "version" => check_version(&value)?,
                "toolsets" => {
                    for (name, value) in read_object(value, "toolsets")? {
                        custom::check_name(&name)?;
                        let toolset = read_toolset(name, value)?;
                        document.insert(toolset);
                    }
                }
                _ => {
                    document.extra.insert(key, value);
                }
            }
        }
        Ok(document)
    }

    /// Serializes the document: indented, sorted by name, with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut toolsets = Map::new();
        for toolset in self.iter() {
            let mut fields = Map::new();
            fields.insert("description".to_owned(), json!(toolset.description));
            fields.insert("tools".to_owned(), json!(toolset.tools));
            fields.insert("includes".to_owned(), json!(toolset.includes));
            fields.extend(toolset.extra.clone());
            toolsets.insert(toolset.name.clone(), Value::Object(fields));
        }
        let mut document = Map::new();
        document.insert("version".to_owned(), json!(DOCUMENT_VERSION));
        document.insert("toolsets".to_owned(), Value::Object(toolsets));
        document.extend(self.extra.clone());
        format!("{:#}\n", Value::Object(document))
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&CustomToolset> {
        self.toolsets.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &CustomToolset> {
        self.toolsets.values()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.toolsets.is_empty()
    }

    pub(super) fn insert(&mut self, toolset: CustomToolset) {
        self.toolsets.insert(toolset.name.clone(), toolset);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<CustomToolset> {
        self.toolsets.remove(name)
    }
}

fn read_toolset(name: String, value: Value) -> Result<CustomToolset, ToolsetError> {
    let place = format!("toolsets.{name}");
    let mut toolset = CustomToolset::new(name);
    for (key, value) in read_object(value, &place)? {
        match key.as_str() {
            "description" => {
                toolset.description = read_string(value, || format!("{place}.description"))?;
            }
            "tools" => toolset.tools = read_strings(value, &format!("{place}.tools"))?,
            "includes" => toolset.includes = read_strings(value, &format!("{place}.includes"))?,
            _ => {
                toolset.extra.insert(key, value);
            }
        }
    }
    Ok(toolset)
}

fn check_version(value: &Value) -> Result<(), ToolsetError> {
    if value.as_u64() == Some(DOCUMENT_VERSION) {
        return Ok(());
    }
    let found = match value {
        Value::Number(number) => number.to_string(),
        other => value_kind(other).to_owned(),
    };
    Err(document_error("version", format!("expected {DOCUMENT_VERSION}, found {found}")))
}

fn read_object(value: Value, place: &str) -> Result<Map<String, Value>, ToolsetError> {
    match value {
        Value::Object(fields) => Ok(fields),
        other => {
            Err(document_error(place, format!("expected an object, found {}", value_kind(&other))))
        }
    }
}

fn read_strings(value: Value, place: &str) -> Result<Vec<String>, ToolsetError> {
    match value {
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(position, item)| read_string(item, || format!("{place}[{position}]")))
            .collect(),
        other => Err(document_error(
            place,
            format!("expected a list of names, found {}", value_kind(&other)),
        )),
    }
}

fn read_string(value: Value, place: impl FnOnce() -> String) -> Result<String, ToolsetError> {
    match value {
        Value::String(text) => Ok(text),
        other => {
            Err(document_error(place(), format!("expected a string, found {}", value_kind(&other))))
        }
    }
}

fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn document_error(place: impl Into<String>, problem: String) -> ToolsetError {
    ToolsetError::Document { place: place.into(), problem }
}
