//! The JSON Schema that the answer of a sub-agent must match.

use hermes_core::ToolError;
use hermes_schema::Schema;
use serde_json::{Map, Value};

/// Maximum size of a schema, which is a part of the sub-agent's prompt.
const MAX_SCHEMA_BYTES: usize = 20_000;

/// A schema that has been compiled.
#[derive(Debug)]
pub(crate) struct OutputSchema {
    schema: Schema,
    text: String,
}

impl OutputSchema {
    /// Fails if the schema is too large or unusable.
    pub(crate) fn new(schema: &Map<String, Value>) -> Result<Self, ToolError> {
        let raw = Value::Object(schema.clone());
        let text = raw.to_string();
        if text.len() > MAX_SCHEMA_BYTES {
            let size = text.len();
            return Err(ToolError::limit(format!(
                "`output_schema` has {size} bytes; at most {MAX_SCHEMA_BYTES} are allowed"
            )));
        }
        let schema = Schema::new(raw);
        if let Err(error) = schema.compile() {
            return Err(ToolError::invalid(format!("`output_schema` cannot be used: {error}")));
        }
        Ok(Self { schema, text })
    }

    /// The correction that the sub-agent gets for its last answer.
    pub(crate) fn instruction(&self) -> String {
        format!(
            "\n\nYour last message must be one JSON value and nothing else. It must match this \
             JSON Schema: {}",
            self.text
        )
    }

    /// Parses an answer; the error says what is wrong with it.
    pub(crate) fn parse(&self, answer: &str) -> Result<Value, String> {
        let value: Value = serde_json::from_str(unfenced(answer))
            .map_err(|error| format!("it is not JSON: {error}"))?;
        match self.schema.check(&value) {
            Ok(()) => Ok(value),
            Err(violations) => {
                let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
                Err(said.join("; "))
            }
        }
    }
}

/// Asks the sub-agent for another answer.
pub(crate) fn repair_message(why: &str) -> String {
    format!(
        "Your last message does not match the required schema: {why}. Write it again: one JSON \
         value that matches, and nothing else."
    )
}

/// Returns the text inside a code fence, if the whole answer is one.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inner) = inner else { return answer };
    // The first line names the language.
    inner.split_once('\n').map_or(inner, |(_, body)| body).trim()
}

#[cfg(test)]
#[path = "output_schema_tests.rs"]
mod tests;
