//! Checking arguments against a tool's schema, and saying what is wrong in words to act on.

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

/// Violations named for one set of arguments; a model mends a handful at a time.
pub const MAX_VIOLATIONS: usize = 5;

/// Above this weight only the first violation of a value is looked for, since finding all of
/// them may take many times the memory of the value.
const MAX_FULL_REPORT_WEIGHT: usize = 20_000;

/// A JSON Schema, compiled when it is first needed and then kept.
///
/// Draft 7 unless `$schema` names another draft. `nullable: true` (from OpenAPI) admits `null`.
/// Formats are annotations. References to other documents are never fetched: a schema that has one
/// does not compile.
#[derive(Debug)]
pub struct Schema {
    raw: Arc<Value>,
    compiled: OnceLock<Result<CompiledSchema, SchemaError>>,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Nested too deep to be walked safely.
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Not a JSON Schema, or a reference in it leads nowhere.
    #[error("the schema is not usable at {}: {message}", pointer::to_dotted(path))]
    Invalid {
        /// JSON pointer into the schema.
        path: String,
        /// What is wrong there.
        message: String,
    },
}

impl Schema {
    /// Takes the schema as it is; nothing is compiled yet.
    pub fn new(raw: Value) -> Self {
        Self { raw: Arc::new(raw), compiled: OnceLock::new() }
    }

    /// The schema as it was given.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// The schema as it was given, for others.
    pub fn into_raw(self) -> Value {
        Arc::unwrap_or_clone(self.raw)
    }

    /// Compiles the schema now, if it was not yet.
    ///
    /// # Errors
    /// When it is no usable JSON Schema.
    pub fn compile(&self) -> Result<(), &SchemaError> {
        self.compiled().map(|_| ())
    }

    /// Whether the arguments satisfy the schema. A schema that does not compile is satisfied by
    /// nothing.
    pub fn is_valid(&self, args: &Value) -> bool {
        self.compiled().is_ok_and(|compiled| {
            !ValueSurvey::measure(args).too_deep && compiled.root().is_valid(args)
        })
    }

    /// Checks the arguments.
    ///
    /// # Errors
    /// The first few violations, or one that tells why the schema itself cannot be used.
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

    /// A corrected example of these arguments: what is valid in them is kept, the rest is replaced
    /// by plausible values, and missing required properties are filled in.
    ///
    /// It satisfies the schema whenever a satisfying value could be constructed. Long strings and
    /// lists are shortened where the schema allows, for it is meant to be read.
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
