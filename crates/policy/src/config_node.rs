//! Traversal of a permission file that keeps the position of every value.

use hermes_config::{ConfigDocument, FilePosition, KeyPath};
use serde_json::{Map, Value};

use crate::error::PolicyError;
use crate::level::PolicyAnswer;

/// A value of the file and its key path.
#[derive(Clone)]
pub(crate) struct ConfigNode<'d> {
    document: &'d ConfigDocument,
    path: Vec<String>,
    value: &'d Value,
    /// Whether the value is built into hermes and has no position in a file.
    builtin: bool,
}

impl<'d> ConfigNode<'d> {
    pub(crate) fn root(document: &'d ConfigDocument, builtin: bool) -> Self {
        Self { document, path: Vec::new(), value: document.value(), builtin }
    }

    fn child(&self, name: impl Into<String>, value: &'d Value) -> Self {
        let mut path = self.path.clone();
        path.push(name.into());
        Self { path, value, ..self.clone() }
    }

    pub(crate) fn place(&self) -> Option<FilePosition> {
        if self.builtin {
            return None;
        }
        self.document.position(&KeyPath::from_names(self.path.iter().cloned())?)
    }

    pub(crate) fn is_map(&self) -> bool {
        self.value.is_object()
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> PolicyError {
        let name = self.path.last().filter(|name| name.parse::<usize>().is_err());
        let message = message.into();
        let message = match name {
            Some(name) => format!("{name}: {message}"),
            None => message,
        };
        PolicyError::new(message).at(self.place())
    }

    /// Returns the entries of a mapping; null counts as an empty mapping.
    pub(crate) fn entries(&self) -> Result<Vec<(String, ConfigNode<'d>)>, PolicyError> {
        match self.value {
            Value::Object(map) => Ok(self.children(map)),
            Value::Null => Ok(Vec::new()),
            _ => Err(self.error("this must be a mapping of keys to values")),
        }
    }

    fn children(&self, map: &'d Map<String, Value>) -> Vec<(String, ConfigNode<'d>)> {
        map.iter().map(|(key, value)| (key.clone(), self.child(key.clone(), value))).collect()
    }

    /// Returns the error for an unknown key.
    pub(crate) fn unknown_key_error(&self, known: &[&str]) -> PolicyError {
        let key = self.path.last().map_or("", String::as_str);
        let near = hermes_core::similar::nearest(key, known.iter().copied(), 0.6);
        let hint = match near {
            Some(near) => format!("Did you mean '{near}'?"),
            None => format!("Known here: {}.", known.join(", ")),
        };
        PolicyError::new(format!("Unknown key '{key}'")).at(self.place()).hint(hint)
    }

    /// Returns the items of a list; a single value counts as a list of one.
    pub(crate) fn items(&self) -> Result<Vec<ConfigNode<'d>>, PolicyError> {
        match self.value {
            Value::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, item)| self.child(index.to_string(), item))
                .collect()),
            Value::Null => Ok(Vec::new()),
            Value::Object(_) => Err(self.error("this must be a list")),
            _ => Ok(vec![self.clone()]),
        }
    }

    /// Returns an error for a key without a value: the value may have been cut
    /// off.
    pub(crate) fn refuse_missing(&self) -> Result<(), PolicyError> {
        if self.value.is_null() {
            return Err(self
                .error("the key has no value")
                .hint("Set a value or remove the key; [] is an empty list."));
        }
        Ok(())
    }

    /// Returns an error for an empty list, where it would match anything.
    pub(crate) fn refuse_empty(&self) -> Result<(), PolicyError> {
        if self.items()?.is_empty() {
            return Err(self.error("this list is empty").hint(
                "List at least one value or remove the key; `deny` the scope to forbid it.",
            ));
        }
        Ok(())
    }

    pub(crate) fn text(&self) -> Result<&'d str, PolicyError> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.error(format!("this must be text, not {}", self.value))),
        }
    }

    /// Returns a scalar as text, whatever type YAML gave it.
    pub(crate) fn any_text(&self) -> Result<String, PolicyError> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(_) | Value::Bool(_) => Ok(self.value.to_string()),
            _ => Err(self.error("this must be text")),
        }
    }

    pub(crate) fn flag(&self) -> Result<bool, PolicyError> {
        self.value.as_bool().ok_or_else(|| self.error("this must be true or false"))
    }

    pub(crate) fn number(&self) -> Result<f64, PolicyError> {
        self.value.as_f64().ok_or_else(|| self.error("this must be a number"))
    }

    pub(crate) fn count(&self) -> Result<u64, PolicyError> {
        self.value.as_u64().ok_or_else(|| self.error("this must be a non-negative integer"))
    }

    /// Parses a number of bytes, such as 512M or 2G.
    pub(crate) fn size(&self) -> Result<u64, PolicyError> {
        if let Some(bytes) = self.value.as_u64() {
            return Ok(bytes);
        }
        let wrong = || self.error("this must be a size such as 512M or 2G");
        let text = self.value.as_str().ok_or_else(wrong)?.trim();
        let (digits, unit) =
            text.split_at(text.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
        let factor: u64 = match unit.trim().to_ascii_uppercase().trim_end_matches(['B', 'I']) {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            "T" => 1 << 40,
            _ => return Err(wrong()),
        };
        digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(wrong)
    }

    pub(crate) fn answer(&self) -> Result<PolicyAnswer, PolicyError> {
        match self.value.as_str() {
            Some("allow") => Ok(PolicyAnswer::Allow),
            Some("ask") => Ok(PolicyAnswer::Ask),
            Some("deny" | "refuse") => Ok(PolicyAnswer::Deny),
            _ => Err(self.error("this must be allow, ask or deny")),
        }
    }
}
