//! One thing wrong with the arguments.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::SchemaError;
use crate::depth::MAX_DEPTH;
use crate::pointer;

/// One thing wrong with the arguments, in words a model can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaViolation {
    /// JSON pointer to the value, `""` for the whole. A missing or unknown property is pointed at
    /// itself, not at its object.
    pub path: String,
    /// What the schema wants there.
    pub expected: String,
    /// What was given, shortened.
    pub received: String,
    /// The sentence for the model, without the path.
    pub message: String,
}

impl SchemaViolation {
    /// The path as `$.a[0].b`.
    pub fn location(&self) -> String {
        pointer::to_dotted(&self.path)
    }

    pub(super) fn for_schema(error: &SchemaError) -> Self {
        Self {
            path: String::new(),
            expected: "a usable schema".to_owned(),
            received: "a broken schema".to_owned(),
            message: format!("the tool cannot be called, its own definition is broken: {error}"),
        }
    }

    pub(super) fn for_alternatives(args: &Value) -> Self {
        Self {
            path: String::new(),
            expected: "one of the alternatives of the schema".to_owned(),
            received: crate::excerpt::excerpt_value(args, crate::excerpt::DEFAULT_EXCERPT_CHARS),
            message: "the arguments fit none of the schema's alternatives, which nest too deep to \
                      say where; send a simpler value"
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
