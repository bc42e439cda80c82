//! One choice of a question, in any shape that models write.

use std::borrow::Cow;

use hermes_core::JsonSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

/// A string, or an object that contains one.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct LenientChoice(Value);

impl LenientChoice {
    /// Returns the text on one line; empty if there is none.
    pub(crate) fn into_text(self) -> String {
        let field = |name: &str| self.0.get(name).and_then(Value::as_str);
        let text = match &self.0 {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Number(number) => Cow::Owned(number.to_string()),
            Value::Bool(flag) => Cow::Borrowed(if *flag { "yes" } else { "no" }),
            Value::Object(_) => {
                let label = ["label", "text", "title", "value"].into_iter().find_map(field);
                match (label, field("description")) {
                    (Some(label), Some(more)) => Cow::Owned(format!("{label} ({more})")),
                    (Some(text), None) | (None, Some(text)) => Cow::Borrowed(text),
                    (None, None) => Cow::Borrowed(""),
                }
            }
            Value::Array(_) | Value::Null => Cow::Borrowed(""),
        };
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl JsonSchema for LenientChoice {
    fn schema_name() -> Cow<'static, str> {
        "Choice".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "object", "number", "boolean", "null"] })
    }
}
