//! A violation of a schema.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::SchemaError;
use crate::depth::MAX_DEPTH;
use crate::pointer;

/// One violation in the arguments, worded so a model can act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaViolation {
    /// JSON pointer to the value, `""` for the whole. For a missing or unknown
    /// property it points to the property, not to its object.
    pub path: String,
    /// What the schema expects there.
    pub expected: String,
    /// What was given, truncated.
    pub received: String,
    /// The message for the model, without the path.
    pub message: String,
}

impl SchemaViolation {
    /// Returns the path as `$.a[0].b`.
    pub fn location(&self) -> String {
        pointer::to_dotted(&self.path)
    }

    pub(super) fn for_schema(error: &SchemaError) -> Self {
        Self {
            path: String::new(),
            expected: "a usable schema".to_owned(),
            received: "a broken schema".to_owned(),
            message: format!("the tool cannot be called because its definition is broken: {error}"),
        }
    }

    pub(super) fn for_alternatives(args: &Value) -> Self {
        Self {
            path: String::new(),
            expected: "one of the alternatives of the schema".to_owned(),
            received: crate::excerpt::excerpt_value(args, crate::excerpt::DEFAULT_EXCERPT_CHARS),
            message: "the arguments match none of the schema's alternatives, which are nested \
                      too deeply to locate the error; send a simpler value"
                .to_owned(),
        }
    }

    pub(super) fn for_depth() -> Self {
        let expected = format!("at most {MAX_DEPTH} levels of nesting");
        Self {
            path: String::new(),
            message: format!("the arguments must have {expected}"),
            received: "deeper nesting".to_owned(),
            expected,
        }
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.message)
    }
}
