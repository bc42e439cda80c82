//! JSON Schema at work: repair argument text, coerce, validate, translate to provider dialects.
//!
//! The way of one call's arguments:
//!
//! 1. [`parse_arguments`] turns the model's text into a JSON value and says what it had to mend;
//! 2. [`coerce()`] brings the value in line with the tool's [`Schema`] where only one reading is
//!    possible, and lists what it changed;
//! 3. [`Schema::check`] names what is still wrong, in words a model can act on, and
//!    [`Schema::example`] shows a corrected call.
//!
//! The other direction, from tool to model: [`tidy_schema`] trims a generated schema, [`translate`] puts
//! it into the [`SchemaDialect`] that a provider accepts and reports what was lost.
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
//! let parsed = parse_arguments(r#"{path: 'a.txt', "limit": "20",}"#).expect("mendable");
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

pub use coerce::{CoercedArguments, CoercionChange, coerce_arguments};
pub use depth::MAX_DEPTH;
pub use dialect::{SchemaDialect, TranslatedSchema, TranslationLoss, UnknownDialect, translate};
pub use drop_unusable::drop_unusable;
pub use pointer::to_dotted;
pub use repair::{ParsedArguments, RepairError, RepairKind, TextRepair, parse_arguments};
pub use tidy::{tidy_foreign_schema, tidy_schema};
pub use validate::{Schema, SchemaError, SchemaViolation};
