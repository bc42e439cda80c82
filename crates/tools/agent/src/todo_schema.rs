//! Schemas of the task list: the strict one shown to models, and the lenient
//! one that calls are validated against.

use std::borrow::Cow;

use hermes_core::JsonSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::todo_patch::TodoRequest;

pub(crate) const TODOS_DESCRIPTION: &str =
    "All items by priority, or with merge only those that change. Leave out to read.";
pub(crate) const MERGE_DESCRIPTION: &str =
    "Update items by id and append new ones, instead of replacing the list.";
const ID_DESCRIPTION: &str = "Unique";
const CONTENT_DESCRIPTION: &str = "What to do";

/// The parameters as shown to models.
pub(crate) fn strict_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "description": TODOS_DESCRIPTION,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string", "description": ID_DESCRIPTION },
                        "content": { "type": "string", "description": CONTENT_DESCRIPTION },
                        "status": {
                            "type": "string",
                            "enum": ["pending", "in_progress", "completed", "cancelled"]
                        }
                    },
                    "required": ["id", "content", "status"]
                }
            },
            "merge": { "type": "boolean", "description": MERGE_DESCRIPTION }
        },
        "additionalProperties": false
    })
}

/// Without `type` or `enum`: items are parsed leniently here, and a value that
/// is not a list must arrive unchanged. Coerced to a stricter schema, a stray
/// word or a single item would become a list and replace the tasks.
impl JsonSchema for TodoRequest {
    fn schema_name() -> Cow<'static, str> {
        "Items".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "items": {
                "properties": {
                    "id": { "description": ID_DESCRIPTION },
                    "content": { "description": CONTENT_DESCRIPTION },
                    "status": { "description": "pending, in_progress, completed or cancelled" }
                }
            }
        })
    }
}
