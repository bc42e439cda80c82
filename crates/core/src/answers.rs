//! JSON schemas of tool results, for programs that depend on their structure.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Returns the schema of a result: an object whose fields are all optional. A
/// long result is truncated, and each variant of an enum has only its own
/// fields.
///
/// `T` must not have a field `result`: that holds a hook's replacement of the
/// result.
pub fn answer_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip_formats(&mut schema);
    let mut properties = Map::new();
    let kinds = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    match kinds {
        Some(kinds) => kinds.iter().for_each(|kind| merge_properties(kind, &mut properties)),
        None => merge_properties(&schema, &mut properties),
    }
    let mut answer = json!({ "type": "object", "properties": properties });
    if let (Some(answer), Some(definitions)) = (answer.as_object_mut(), schema.get("$defs")) {
        answer.insert("$defs".to_owned(), definitions.clone());
    }
    answer
}

/// Adds the fields of one variant.
fn merge_properties(kind: &Value, into: &mut Map<String, Value>) {
    for (name, field) in kind.get("properties").and_then(Value::as_object).into_iter().flatten() {
        match into.get_mut(name) {
            None => {
                into.insert(name.clone(), field.clone());
            }
            Some(known) if known == field => {}
            Some(known) => {
                let either = match known.get_mut("anyOf").and_then(Value::as_array_mut) {
                    Some(either) if either.contains(field) => continue,
                    Some(either) => {
                        either.push(field.clone());
                        continue;
                    }
                    None => json!({ "anyOf": [known, field] }),
                };
                *known = either;
            }
        }
    }
}

/// Removes number formats: no JSON reader needs them, and some reject them.
fn strip_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, field| !(key == "format" && field.is_string()));
            fields.values_mut().for_each(strip_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_formats),
        _ => {}
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
