//! Converts errors of the validator to [`SchemaViolation`]s.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, paths::Location};
use serde_json::Value;

use super::describe::{describe, describe_with_note, list_values};
use super::{MAX_VIOLATIONS, SchemaViolation};
use crate::excerpt::{self, excerpt_value};
use hermes_core::similar;
use hermes_core::text::excerpt;

use crate::pointer;

/// Minimum similarity of a suggested value.
const MIN_SUGGESTION_RATIO: f64 = 0.6;

/// Minimum similarity of a suggested property. Property names share endings and
/// short words, so less similar ones are mostly unrelated: `end_line` is not
/// `encoding`.
pub(super) const MIN_PROPERTY_RATIO: f64 = 0.65;

/// Maximum number of property names listed.
const MAX_LISTED_NAMES: usize = 32;

/// Returns the JSON Schema type of a value.
pub(crate) fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Adds one or more violations that explain the error.
pub(super) fn explain(
    document: &Value,
    error: &ValidationError<'_>,
    violations: &mut Vec<SchemaViolation>,
) {
    if violations.len() >= MAX_VIOLATIONS {
        return;
    }
    let scene = ErrorContext { document, error };
    match error.kind() {
        Kind::Required { property } => violations.push(scene.missing_property(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = unexpected.iter().take(MAX_VIOLATIONS);
            violations.extend(names.map(|name| scene.unknown_property(name)));
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            match intended_branch(error.instance_path(), context) {
                Some(branch) => {
                    for inner in branch {
                        explain(document, inner, violations);
                    }
                }
                None => violations.push(
                    scene.no_alternative_given(context).unwrap_or_else(|| scene.no_alternative()),
                ),
            }
        }
        kind => {
            let hint = match kind {
                Kind::Enum { options } => scene.nearest_choice(options.as_array()),
                _ => None,
            };
            violations.push(scene.violation(&scene.describe_expected(kind), hint));
        }
    }
}

/// Returns the branch of a union that the value is meant for: the only one
/// whose errors all concern the inside of the value, or anything but its type.
fn intended_branch<'b, 'e>(
    at: &Location,
    branches: &'b [Vec<ValidationError<'e>>],
) -> Option<&'b [ValidationError<'e>]> {
    let fits = |branch: &&Vec<ValidationError<'e>>| {
        !branch.is_empty()
            && branch.iter().all(|error| {
                let here = error.instance_path().as_str().len() == at.as_str().len();
                !(here && matches!(error.kind(), Kind::Type { .. } | Kind::FalseSchema))
            })
    };
    let mut fitting = branches.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// An error and the document it comes from.
struct ErrorContext<'e> {
    document: &'e Value,
    error: &'e ValidationError<'e>,
}

impl ErrorContext<'_> {
    fn path(&self) -> &str {
        self.error.instance_path().as_str()
    }

    /// Returns the schema whose keyword failed, if its path resolves.
    fn schema(&self) -> Option<&Value> {
        let keyword = self.error.schema_path().as_str();
        self.document.pointer(&keyword[..keyword.rfind('/')?])
    }

    fn property_names(&self) -> impl Iterator<Item = &str> {
        self.schema()
            .and_then(|schema| schema.get("properties")?.as_object())
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
    }

    fn received(&self) -> String {
        let value = self.error.instance();
        format!(
            "{} {}",
            json_type_name(value),
            excerpt_value(value, excerpt::DEFAULT_EXCERPT_CHARS)
        )
    }

    /// Builds the usual message: `expected X, received Y`, and a hint.
    fn violation(&self, expected: &str, hint: Option<String>) -> SchemaViolation {
        let received = self.received();
        let mut message = format!("expected {expected}, received {received}");
        if let Some(hint) = hint {
            message.push_str("; ");
            message.push_str(&hint);
        }
        SchemaViolation {
            path: self.path().to_owned(),
            expected: expected.to_owned(),
            received,
            message,
        }
    }

    fn missing_property(&self, property: &Value) -> SchemaViolation {
        let name = property.as_str().unwrap_or_default();
        let schema = self.schema().and_then(|schema| schema.get("properties")?.get(name));
        let expected = schema.map_or_else(
            || "a value".to_owned(),
            |schema| describe_with_note(self.document, schema),
        );
        let known: Vec<&str> = self.property_names().collect();
        let strays = self
            .error
            .instance()
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str).filter(|key| !known.contains(key)));
        let hint = similar::nearest(name, strays, MIN_PROPERTY_RATIO)
            .map(|stray| format!("; `{stray}` was given, use `{name}` instead"));
        SchemaViolation {
            path: pointer::join(self.path(), name),
            message: format!(
                "required property `{name}` is missing ({expected}){}",
                hint.unwrap_or_default()
            ),
            expected,
            received: "nothing".to_owned(),
        }
    }

    fn unknown_property(&self, name: &str) -> SchemaViolation {
        let mut known: Vec<&str> = self.property_names().collect();
        let hint = match similar::nearest(name, known.iter().copied(), MIN_PROPERTY_RATIO) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "no properties are allowed here".to_owned(),
            None => {
                known.truncate(MAX_LISTED_NAMES);
                format!("known properties: {}", known.join(", "))
            }
        };
        let shown = excerpt(name, excerpt::DEFAULT_EXCERPT_CHARS);
        let value = self.error.instance().get(name).cloned().unwrap_or_default();
        SchemaViolation {
            path: pointer::join(self.path(), name),
            expected: "no such property".to_owned(),
            received: format!(
                "{} {}",
                json_type_name(&value),
                excerpt_value(&value, excerpt::DEFAULT_EXCERPT_CHARS)
            ),
            message: format!("unknown property `{shown}`; {hint}"),
        }
    }

    /// Explains an object that only lacks the required properties of every
    /// alternative.
    fn no_alternative_given(
        &self,
        branches: &[Vec<ValidationError<'_>>],
    ) -> Option<SchemaViolation> {
        let mut wanted = Vec::new();
        for branch in branches {
            let names = branch.iter().map(|error| match error.kind() {
                Kind::Required { property }
                    if error.instance_path() == self.error.instance_path() =>
                {
                    Some(format!("`{}`", property.as_str()?))
                }
                _ => None,
            });
            wanted.push(names.collect::<Option<Vec<String>>>()?.join(" and "));
        }
        wanted.dedup();
        wanted.truncate(MAX_LISTED_NAMES);
        (!wanted.is_empty())
            .then(|| self.violation(&format!("an object with {}", wanted.join(", or with ")), None))
    }

    fn no_alternative(&self) -> SchemaViolation {
        let expected = match self.schema() {
            Some(schema) => describe(self.document, schema),
            None => "one of the alternatives".to_owned(),
        };
        self.violation(&expected, self.nearest_choice(Some(&self.choices())))
    }

    /// Returns the values that a union of constants allows.
    fn choices(&self) -> Vec<Value> {
        let branches = self
            .schema()
            .and_then(|schema| schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array());
        branches.into_iter().flatten().filter_map(|branch| branch.get("const").cloned()).collect()
    }

    fn nearest_choice(&self, choices: Option<&Vec<Value>>) -> Option<String> {
        let given = self.error.instance().as_str().filter(|text| text.len() < 256)?;
        let near = similar::nearest(
            given,
            choices?.iter().filter_map(Value::as_str),
            MIN_SUGGESTION_RATIO,
        )?;
        Some(format!("did you mean {}?", Value::from(near)))
    }

    /// Describes what a plain keyword expects.
    fn describe_expected(&self, kind: &Kind) -> String {
        match kind {
            Kind::Type { kind } => self.expected_type(kind),
            Kind::Enum { options } => {
                let options = options.as_array().map_or(&[][..], Vec::as_slice);
                format!("one of {}", list_values(options))
            }
            Kind::Constant { expected_value } => {
                format!("exactly {}", excerpt_value(expected_value, excerpt::DEFAULT_EXCERPT_CHARS))
            }
            Kind::Minimum { limit } => format!("a number of at least {limit}"),
            Kind::Maximum { limit } => format!("a number of at most {limit}"),
            Kind::ExclusiveMinimum { limit } => format!("a number greater than {limit}"),
            Kind::ExclusiveMaximum { limit } => format!("a number less than {limit}"),
            Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
            Kind::MinLength { limit } => format!("a string of at least {limit} characters"),
            Kind::MaxLength { limit } => format!("a string of at most {limit} characters"),
            Kind::Pattern { pattern } => {
                format!(
                    "a string matching the pattern `{}`",
                    excerpt(pattern, excerpt::DEFAULT_EXCERPT_CHARS)
                )
            }
            Kind::Format { format } => format!("a string in the format `{format}`"),
            Kind::MinItems { limit } => format!("an array of at least {limit} items"),
            Kind::MaxItems { limit } => format!("an array of at most {limit} items"),
            Kind::AdditionalItems { limit } => format!("an array of at most {limit} items"),
            Kind::UniqueItems => "an array without repeated items".to_owned(),
            Kind::Contains => "an array that contains a certain item".to_owned(),
            Kind::MinProperties { limit } => format!("an object with at least {limit} properties"),
            Kind::MaxProperties { limit } => format!("an object with at most {limit} properties"),
            Kind::FalseSchema => "nothing here".to_owned(),
            Kind::Not { schema } => {
                format!("anything but {}", describe(self.document, schema))
            }
            Kind::OneOfMultipleValid { .. } => {
                "a value that matches exactly one of the alternatives, this one matches several"
                    .to_owned()
            }
            Kind::PropertyNames { error } => {
                format!(
                    "valid property names ({})",
                    excerpt(&error.to_string(), excerpt::DEFAULT_EXCERPT_CHARS)
                )
            }
            // Masked, because the full text would repeat the whole value.
            _ => {
                let text = self.error.masked_with("it").to_string();
                format!("a valid value ({})", excerpt(&text, 2 * excerpt::DEFAULT_EXCERPT_CHARS))
            }
        }
    }

    fn expected_type(&self, kind: &TypeKind) -> String {
        let described = self.schema().map(|schema| describe(self.document, schema));
        if let Some(text) = described.filter(|text| text != "any value") {
            return text;
        }
        match kind {
            TypeKind::Single(one) => one.to_string(),
            TypeKind::Multiple(several) => {
                let names: Vec<String> = several.iter().map(|one| one.to_string()).collect();
                names.join(" or ")
            }
        }
    }
}
