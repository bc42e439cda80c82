//! Parses `key=value` arguments by the schema of the tool.

use std::io::Read as _;

use serde_json::{Map, Value};

use crate::command_error::CommandError;

const ARGUMENT_FORMS_HINT: &str = "Pass key=value pairs, or one quoted JSON object.";

/// Known parameters of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolParameters<'a> {
    /// The schema; null for an unknown tool.
    pub(crate) schema: &'a Value,
    /// Aliases of parameters, each with the name in the schema.
    pub(crate) aliases: Vec<(&'a str, &'a str)>,
}

impl ToolParameters<'_> {
    /// Returns the schema of a parameter, by name or alias.
    fn find(&self, key: &str) -> Option<&Value> {
        let properties = self.schema.get("properties")?;
        properties.get(key).or_else(|| {
            let (_, name) = self.aliases.iter().find(|(alias, _)| *alias == key)?;
            properties.get(name)
        })
    }

    /// Returns the parameter that a single bare value is most likely meant for.
    fn only_required(&self) -> Option<&str> {
        match self.schema.get("required")?.as_array()?.as_slice() {
            [name] => name.as_str(),
            _ => None,
        }
    }
}

/// Reads the arguments of `hermes call`: one JSON object, or pairs.
pub(crate) fn read_arguments(
    words: &[String],
    parameters: &ToolParameters<'_>,
) -> Result<Value, CommandError> {
    match words {
        [] => Ok(Value::Object(Map::new())),
        // The pipeline parses the text and repairs it if possible.
        [one] if one == "-" => Ok(Value::String(read_stdin()?)),
        [one] if one.trim_start().starts_with(['{', '[', '"']) || one.trim().is_empty() => {
            Ok(Value::String(one.clone()))
        }
        pairs => read_pairs(pairs, parameters),
    }
}

/// Reads standard input, which must be UTF-8.
pub(crate) fn read_stdin() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|e| CommandError::usage(format!("Standard input cannot be read: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        CommandError::usage(format!("Standard input is not UTF-8: invalid byte at offset {at}"))
            .hint("Encode it as UTF-8; write other bytes as \\u escapes or base64.")
    })
}

fn read_pairs(pairs: &[String], parameters: &ToolParameters<'_>) -> Result<Value, CommandError> {
    let mut fields = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(not_a_pair_error(pair, pairs.len() == 1, parameters));
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, parse_literal(key, text)?),
            None => (key, parse_by_schema(parameters, key, text)?),
        };
        if key.is_empty() {
            return Err(CommandError::usage(format!("'{pair}' has no key before '='"))
                .hint(ARGUMENT_FORMS_HINT));
        }
        insert_or_append(&mut fields, key, value);
    }
    Ok(Value::Object(fields))
}

fn not_a_pair_error(word: &str, alone: bool, parameters: &ToolParameters<'_>) -> CommandError {
    let hint = match parameters.only_required().filter(|_| alone) {
        Some(name) => format!("Pass {name}={word}, or one quoted JSON object."),
        None => ARGUMENT_FORMS_HINT.to_owned(),
    };
    CommandError::usage(format!("'{word}' is neither a key=value pair nor a JSON object"))
        .hint(hint)
}

/// Inserts a value; a repeated key becomes a list.
fn insert_or_append(fields: &mut Map<String, Value>, key: &str, value: Value) {
    match (fields.get_mut(key), value) {
        (None, value) => {
            fields.insert(key.to_owned(), value);
        }
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (Some(Value::Array(items)), one) => items.push(one),
        (Some(first), second) => *first = Value::Array(vec![first.take(), second]),
    }
}

fn parse_literal(key: &str, text: &str) -> Result<Value, CommandError> {
    serde_json::from_str(text).map_err(|e| {
        CommandError::usage(format!("{key}:= must be followed by JSON: {e}"))
            .hint(format!("For text, write {key}=VALUE."))
    })
}

fn parse_by_schema(
    parameters: &ToolParameters<'_>,
    key: &str,
    text: &str,
) -> Result<Value, CommandError> {
    let text = match text.strip_prefix('@') {
        Some(file) if !file.is_empty() => std::fs::read_to_string(file).map_err(|e| {
            let missing = e.kind() == std::io::ErrorKind::NotFound;
            let message = format!("{key}=@{file}: {e}");
            let failure = if missing {
                CommandError::not_found(message)
            } else {
                CommandError::usage(message)
            };
            failure.hint(format!("For text that begins with '@', write {key}:='\"@…\"'."))
        })?,
        _ => text.to_owned(),
    };
    let property = parameters.find(key);
    Ok(property.map_or_else(|| Value::String(text.clone()), |p| parse_typed(p, &text)))
}

/// Parses the text as the type in the schema, if possible; otherwise the
/// pipeline reports the error.
fn parse_typed(property: &Value, text: &str) -> Value {
    let kinds: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let plain = || Value::String(text.to_owned());
    if kinds.contains(&"string") {
        return plain();
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return value;
    }
    if kinds.contains(&"array") {
        let items = property.get("items").cloned().unwrap_or_default();
        return text.split(',').map(|part| parse_typed(&items, part.trim())).collect();
    }
    plain()
}

#[cfg(test)]
#[path = "call_arguments_tests.rs"]
mod tests;
