//! Validates arguments against a tool's schema, and explains violations in
//! actionable messages.

pub(crate) mod applicable;
mod compiled;
mod describe;
mod example;
mod explain;
mod nullable;
mod sample;
mod violation;

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::depth::{MAX_DEPTH, ValueSurvey};
use crate::pointer;

pub(crate) use compiled::{CompiledSchema, SchemaNode};
pub(crate) use explain::json_type_name;
pub(crate) use nullable::expand_nullable_owned;
pub use violation::SchemaViolation;

/// Maximum number of violations reported per call; a model fixes only a few at
/// a time.
pub const MAX_VIOLATIONS: usize = 5;

/// Above this weight, only the first violation is reported, since finding all
/// may take many times the memory of the value.
const MAX_FULL_REPORT_WEIGHT: usize = 20_000;

/// A JSON Schema, compiled on first use and cached.
///
/// Draft 7 unless `$schema` names another draft. `nullable: true` (from
/// OpenAPI) allows `null`. Formats are annotations. References to other
/// documents are never fetched: a schema with one does not compile.
#[derive(Debug)]
pub struct Schema {
    raw: Arc<Value>,
    compiled: OnceLock<Result<CompiledSchema, SchemaError>>,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Nested too deeply to be walked safely.
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Not a JSON Schema, or it contains a dangling reference.
    #[error("the schema is not usable at {}: {message}", pointer::to_dotted(path))]
    Invalid {
        /// JSON pointer into the schema.
        path: String,
        /// What is wrong there.
        message: String,
    },
}

impl Schema {
    /// Wraps the schema without compiling it.
    pub fn new(raw: Value) -> Self {
        Self { raw: Arc::new(raw), compiled: OnceLock::new() }
    }

    /// Returns the original schema.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// Returns the original schema by value.
    pub fn into_raw(self) -> Value {
        Arc::unwrap_or_clone(self.raw)
    }

    /// Compiles the schema, if it is not compiled yet.
    ///
    /// # Errors
    /// If it is not a usable JSON Schema.
    pub fn compile(&self) -> Result<(), &SchemaError> {
        self.compiled().map(|_| ())
    }

    /// Whether the arguments satisfy the schema. Nothing satisfies a schema
    /// that does not compile.
    pub fn is_valid(&self, args: &Value) -> bool {
        self.compiled().is_ok_and(|compiled| {
            !ValueSurvey::measure(args).too_deep && compiled.root().is_valid(args)
        })
    }

    /// Validates the arguments.
    ///
    /// # Errors
    /// The first few violations, or one that says why the schema itself is
    /// unusable.
    pub fn check(&self, args: &Value) -> Result<(), Vec<SchemaViolation>> {
        let compiled = match self.compiled() {
            Ok(compiled) => compiled,
            Err(error) => return Err(vec![SchemaViolation::for_schema(error)]),
        };
        let survey = ValueSurvey::measure(args);
        if survey.too_deep {
            return Err(vec![SchemaViolation::for_depth()]);
        }
        if compiled.root().is_valid(args) {
            return Ok(());
        }
        if compiled.has_too_many_branches(survey.depth) {
            return Err(vec![SchemaViolation::for_alternatives(args)]);
        }
        let mut violations = Vec::new();
        if survey.weight > MAX_FULL_REPORT_WEIGHT {
            if let Err(error) = compiled.root().validate(args) {
                explain::explain(compiled.document(), &error, &mut violations);
            }
        } else {
            for error in compiled.root().iter_errors(args) {
                explain::explain(compiled.document(), &error, &mut violations);
                if violations.len() >= MAX_VIOLATIONS {
                    break;
                }
            }
        }
        violations.truncate(MAX_VIOLATIONS);
        Err(violations)
    }

    /// Returns a corrected example of these arguments: valid parts are kept,
    /// invalid ones are replaced by plausible values, and missing required
    /// properties are added.
    ///
    /// It satisfies the schema whenever a valid value could be constructed.
    /// Long strings and lists are truncated where the schema allows, for
    /// readability.
    pub fn corrected_example(&self, args: &Value) -> Value {
        match self.compiled() {
            Ok(compiled) if !ValueSurvey::measure(args).too_deep => {
                example::make_example(compiled, args)
            }
            _ => args.clone(),
        }
    }

    pub(crate) fn compiled(&self) -> Result<&CompiledSchema, &SchemaError> {
        self.compiled.get_or_init(|| CompiledSchema::new(&self.raw)).as_ref()
    }
}

impl From<Value> for Schema {
    fn from(raw: Value) -> Self {
        Self::new(raw)
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
