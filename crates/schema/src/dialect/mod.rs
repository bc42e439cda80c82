//! Tool schemas in the dialects that model providers accept, and what each of them costs.
//!
//! Providers take different subsets of JSON Schema and refuse a request over anything else. A
//! translation keeps as much meaning as the target can express; every constraint that is dropped or
//! changed is reported as a [`Loss`]. Arguments are always checked against the original schema, so a
//! loss widens what a model may try, never what a tool gets to see.
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

/// Schemas inside each other, references written out. A level takes up to two levels of JSON, so the
/// result stays within the depth limit.
const MAX_LEVELS: usize = MAX_DEPTH / 2 - 4;

/// A dialect of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dialect {
    /// Draft 7 and nothing newer: what any tolerant consumer takes.
    #[serde(rename = "draft-07")]
    Draft07,
    /// The OpenAI chat and responses APIs and the many servers that imitate them.
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

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 5] =
        [Self::Draft07, Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// The name by which it is chosen.
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

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no dialect's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown schema dialect `{0}`; known: draft-07, openai, openai-strict, anthropic, gemini")]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// A schema in some dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// The schema; always an object schema at the top.
    pub schema: Value,
    /// What it does not express as the original did.
    pub losses: Vec<Loss>,
    /// Top-level properties that had to be renamed, as (name in the schema, original name): the
    /// list of aliases by which [`coerce`](crate::coerce()) renames them back.
    pub renamed: Vec<(String, String)>,
}

/// Something that a dialect cannot express.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// JSON pointer to the schema concerned.
    pub path: String,
    /// The keyword concerned.
    pub keyword: String,
    /// What was done about it.
    pub action: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", crate::dotted(&self.path), self.keyword, self.action)
    }
}

/// Puts a tool's parameter schema into a dialect.
pub fn translate(schema: &Value, dialect: Dialect) -> Translated {
    let mut report = Report::default();
    let document = prepare::prepare(schema, &mut report);
    let translated = match dialect {
        Dialect::Draft07 => draft07::translate(document, &mut report),
        Dialect::OpenAi => openai::translate(document, &mut report),
        Dialect::OpenAiStrict => strict::translate(document, &mut report),
        Dialect::Anthropic => anthropic::translate(document, &mut report),
        Dialect::Gemini => gemini::translate(document, &mut report),
    };
    // Newer keywords were not judged at the start and may have come out in an older one's place.
    let translated = prepare::drop_malformed(Value::Object(translated), &mut report);
    Translated { schema: Value::Object(translated), losses: report.losses, renamed: report.renamed }
}

/// What a translation has to tell besides its result.
#[derive(Debug, Default)]
struct Report {
    losses: Vec<Loss>,
    renamed: Vec<(String, String)>,
}

impl Report {
    fn lose(&mut self, path: &str, keyword: &str, action: impl Into<String>) {
        self.losses.push(Loss {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            action: action.into(),
        });
    }
}

/// The schema of a tool without parameters.
fn no_parameters() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))])
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
