//! JSON Schema support: repair argument text, coerce, validate, translate to
//! provider dialects.
//!
//! The arguments of a call pass three steps:
//!
//! 1. [`parse_arguments`] parses the model's text and reports what it repaired;
//! 2. [`coerce_arguments`] fits the value to the tool's [`Schema`] and lists the changes;
//! 3. [`Schema::check`] reports violations; [`Schema::corrected_example`] shows a valid call.
//!
//! In the other direction, from tool to model, [`tidy_schema`] trims a
//! generated schema, and [`translate`] converts it to the [`SchemaDialect`]
//! that a provider accepts and reports the losses.
//!
//! ```
//! use hermes_schema::{Schema, coerce_arguments, parse_arguments};
//! use serde_json::json;
//!
//! let schema = Schema::new(json!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
//!     "required": ["path"],
//! }));
//! let parsed = parse_arguments(r#"{path: 'a.txt', "limit": "20",}"#).expect("repairable");
//! let coerced = coerce_arguments(&schema, parsed.value, &[]);
//! assert_eq!(coerced.value, json!({"path": "a.txt", "limit": 20}));
//! assert!(schema.check(&coerced.value).is_ok());
//! ```

pub mod coerce;
mod depth;
pub mod dialect;
mod drop_unusable;
pub mod excerpt;
mod pointer;
pub mod repair;
mod subschemas;
mod tidy;
mod type_set;
pub mod validate;

pub use coerce::{CoercedArguments, CoercionChange, coerce_arguments, unwrap_arguments};
pub use depth::MAX_DEPTH;
pub use dialect::{SchemaDialect, TranslatedSchema, TranslationLoss, UnknownDialect, translate};
pub use drop_unusable::drop_unusable;
pub use pointer::to_dotted;
pub use repair::{ParsedArguments, RepairError, RepairKind, TextRepair, parse_arguments};
pub use tidy::{tidy_foreign_schema, tidy_schema};
pub use validate::{Schema, SchemaError, SchemaViolation};
