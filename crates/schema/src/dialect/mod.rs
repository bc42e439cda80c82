//! Translates tool schemas to the dialects that model providers accept, and
//! reports the losses.
//!
//! Providers accept different subsets of JSON Schema and refuse a request that
//! contains anything else. A translation keeps as much meaning as the target
//! can express. Every constraint that is dropped or changed is reported as a
//! [`TranslationLoss`]. Arguments are always validated against the original
//! schema, so a loss widens what a model may try, never what a tool receives.
//!
//! Translation is deterministic: the same schema gives the same bytes.

mod anthropic;
mod draft07;
mod gemini;
mod inline;
mod merge;
mod openai;
mod prepare;
mod root;
mod strict;
mod types;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::depth::MAX_DEPTH;

/// Maximum nesting of schemas with references expanded. A schema takes up to
/// two levels of JSON, so the result stays within the depth limit.
const MAX_SCHEMA_LEVELS: usize = MAX_DEPTH / 2 - 4;

/// A dialect of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SchemaDialect {
    /// Draft 7 and nothing newer, which any tolerant consumer accepts.
    #[serde(rename = "draft-07")]
    Draft07,
    /// The OpenAI chat and responses APIs, and compatible servers.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI's structured outputs: closed objects, every property required.
    #[serde(rename = "openai-strict")]
    OpenAiStrict,
    /// The Anthropic messages API.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Gemini function declarations.
    #[serde(rename = "gemini")]
    Gemini,
}

impl SchemaDialect {
    /// All dialects.
    pub const ALL: [Self; 5] =
        [Self::Draft07, Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// Returns the name of the dialect in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Draft07 => "draft-07",
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for SchemaDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown schema dialect `{0}`; known: draft-07, openai, openai-strict, anthropic, gemini")]
pub struct UnknownDialect(pub String);

impl FromStr for SchemaDialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// A schema translated to a dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct TranslatedSchema {
    /// The schema; the top level is always an object schema.
    pub schema: Value,
    /// Constraints of the original that were dropped or changed.
    pub losses: Vec<TranslationLoss>,
    /// Renamed top-level properties, as (name in the schema, original name).
    /// Pass them as aliases to [`coerce_arguments`](crate::coerce_arguments),
    /// which renames them back.
    pub renamed: Vec<(String, String)>,
}

/// A constraint that a dialect cannot express.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranslationLoss {
    /// JSON pointer to the affected schema.
    pub path: String,
    /// The affected keyword.
    pub keyword: String,
    /// What the translation did instead.
    pub action: String,
}

impl fmt::Display for TranslationLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", crate::to_dotted(&self.path), self.keyword, self.action)
    }
}

/// Translates a tool's parameter schema to a dialect.
pub fn translate(schema: &Value, dialect: SchemaDialect) -> TranslatedSchema {
    let mut report = TranslationReport::default();
    let document = prepare::prepare(schema, &mut report);
    let translated = match dialect {
        SchemaDialect::Draft07 => draft07::translate(document, &mut report),
        SchemaDialect::OpenAi => openai::translate(document, &mut report),
        SchemaDialect::OpenAiStrict => strict::translate(document, &mut report),
        SchemaDialect::Anthropic => anthropic::translate(document, &mut report),
        SchemaDialect::Gemini => gemini::translate(document, &mut report),
    };
    // Newer keywords were not validated by `prepare`, and may have become older
    // ones.
    let translated = prepare::drop_malformed(Value::Object(translated), &mut report);
    TranslatedSchema {
        schema: Value::Object(translated),
        losses: report.losses,
        renamed: report.renamed,
    }
}

/// Side results of a translation.
#[derive(Debug, Default)]
struct TranslationReport {
    losses: Vec<TranslationLoss>,
    renamed: Vec<(String, String)>,
}

impl TranslationReport {
    fn record_loss(&mut self, path: &str, keyword: &str, action: impl Into<String>) {
        self.losses.push(TranslationLoss {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            action: action.into(),
        });
    }
}

/// Returns the schema of a tool without parameters.
fn empty_object_schema() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))])
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
