//! Questions of servers to the user.

use std::sync::Arc;

use hermes_core::{BoxFuture, UserPrompter};
use hermes_schema::Schema;
use serde_json::{Map, Value};

use super::format;
use super::plain::excerpt;

/// What a server wants of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// To use our model.
    Sample {
        /// The model.
        model: String,
        /// What it would be asked, shortened.
        prompt: String,
        /// How long the answer may be.
        max_tokens: u32,
    },
    /// Something filled in.
    Form {
        /// What for.
        message: String,
        /// What is to be filled in.
        fields: Vec<Field>,
    },
    /// Something done at another place, in a browser.
    Visit {
        /// What for.
        message: String,
        /// Where.
        url: String,
    },
}

/// What the user says to it.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes.
    Agreed,
    /// Yes, with what was filled in.
    Filled(Map<String, Value>),
    /// No.
    Refused,
    /// Nothing: nobody was there, or turned away.
    Nobody,
}

/// Somebody who can be asked.
pub trait Asker: Send + Sync {
    /// Asks for a server, and waits for the answer.
    fn ask<'a>(&'a self, server: &'a str, question: &'a Question) -> BoxFuture<'a, Answer>;
}

/// Something to be filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name of the value.
    pub name: String,
    /// What it is called, if that is another name.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it cannot be left out.
    pub required: bool,
    /// What it is.
    pub kind: FieldKind,
    /// What it is if nothing is said.
    pub default: Option<Value>,
    /// What the server says of it, with the bounds of its value.
    pub schema: Value,
}

/// What kind of value is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// Text.
    Text,
    /// A number.
    Number {
        /// Whether it is a whole one.
        whole: bool,
    },
    /// Yes or no.
    Flag,
    /// One or some of these: the value, and what it is called.
    Choice {
        /// The values and their names.
        options: Vec<(String, String)>,
        /// Whether several can be chosen.
        many: bool,
    },
}

/// As many fields as anybody would fill in, and options of one.
const MOST_FIELDS: usize = 50;
const MOST_OPTIONS: usize = 200;

impl Field {
    /// The fields of a form, from the schema that the server sends.
    pub fn of_schema(schema: &Value) -> Vec<Self> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let read = |(name, property): (&String, &Value)| {
            let text = |key: &str| {
                property.get(key).and_then(Value::as_str).map(|text| excerpt(text, 500))
            };
            Self {
                name: name.clone(),
                title: text("title"),
                description: text("description"),
                required: required.contains(&name.as_str()),
                kind: FieldKind::of(property),
                default: property.get("default").cloned(),
                schema: property.clone(),
            }
        };
        properties.iter().take(MOST_FIELDS).map(read).collect()
    }

    /// The value that a person's words mean; if there is none, what is wanted.
    pub fn read(&self, words: &str) -> Result<Value, String> {
        let value = self.mean(words.trim())?;
        let schema = Schema::new(self.schema.clone());
        // Bounds that nobody can read are for the server to judge.
        if schema.compile().is_ok()
            && let Err(violations) = schema.check(&value)
            && let Some(first) = violations.into_iter().next()
        {
            return Err(first.expected);
        }
        let format = self.schema.get("format").and_then(Value::as_str);
        match format.zip(value.as_str()).and_then(|(format, text)| format::wanted(format, text)) {
            Some(wanted) => Err(wanted.to_owned()),
            None => Ok(value),
        }
    }

    fn mean(&self, words: &str) -> Result<Value, String> {
        match &self.kind {
            FieldKind::Text => Ok(words.into()),
            FieldKind::Number { whole: true } => {
                words.parse::<i64>().map(Value::from).map_err(|_| "a whole number".to_owned())
            }
            FieldKind::Number { whole: false } => {
                let number = words.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Value::from).ok_or_else(|| "a number".to_owned())
            }
            FieldKind::Flag => match words.to_lowercase().as_str() {
                "yes" | "y" | "true" | "on" | "1" => Ok(true.into()),
                "no" | "n" | "false" | "off" | "0" => Ok(false.into()),
                _ => Err("yes or no".to_owned()),
            },
            FieldKind::Choice { options, many: false } => {
                choose(options, words).map(Value::from).ok_or_else(|| "one of the choices".into())
            }
            FieldKind::Choice { options, many: true } => {
                let chosen: Option<Vec<Value>> = words
                    .split(',')
                    .filter(|word| !word.trim().is_empty())
                    .map(|word| choose(options, word.trim()).map(Value::from))
                    .collect();
                chosen.map(Value::from).ok_or_else(|| "some of the choices, with commas".into())
            }
        }
    }

    fn question(&self, message: &str) -> String {
        let name = self.title.as_deref().unwrap_or(&self.name);
        let mut text = format!("{message}\n{name}");
        if let Some(description) = &self.description {
            text.push_str(&format!(": {description}"));
        }
        if let Some(default) = &self.default {
            text.push_str(&format!(" (if left empty: {default})"));
        } else if !self.required {
            text.push_str(" (may be left empty)");
        }
        text
    }
}

fn choose(options: &[(String, String)], word: &str) -> Option<String> {
    let is_it = |(value, name): &&(String, String)| value == word || name == word;
    options.iter().find(is_it).map(|it| it.0.clone())
}

impl FieldKind {
    fn of(property: &Value) -> Self {
        let kind = property.get("type").and_then(Value::as_str);
        let items = property.get("items").filter(|_| kind == Some("array"));
        if let Some(options) = options_of(items.unwrap_or(property)) {
            return Self::Choice { options, many: items.is_some() };
        }
        match kind {
            Some("integer") => Self::Number { whole: true },
            Some("number") => Self::Number { whole: false },
            Some("boolean") => Self::Flag,
            _ => Self::Text,
        }
    }
}

/// The choices of a property, in each of the forms that the protocol has had.
fn options_of(property: &Value) -> Option<Vec<(String, String)>> {
    let list = |key: &str| property.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let names: Vec<&str> = list("enumNames")
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let name = |at: usize, value: &str| (*names.get(at).unwrap_or(&value)).to_owned();
        let pairs = values.iter().take(MOST_OPTIONS).enumerate();
        return Some(pairs.map(|(at, value)| ((*value).to_owned(), name(at, value))).collect());
    }
    let titled = list("oneOf").or_else(|| list("anyOf"))?;
    let read = |option: &Value| {
        let value = option.get("const")?.as_str()?;
        let name = option.get("title").and_then(Value::as_str).unwrap_or(value);
        Some((value.to_owned(), name.to_owned()))
    };
    Some(titled.iter().take(MOST_OPTIONS).filter_map(read).collect())
}

/// Asks through the channel for questions, one after the other.
pub struct ByClarify(pub Arc<dyn UserPrompter>);

impl std::fmt::Debug for ByClarify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ByClarify")
    }
}

/// Whether somebody agrees, in the words of the choice or in their own.
fn is_yes(answer: &str, yes: &str) -> bool {
    let answer = answer.trim().to_lowercase();
    answer == yes.to_lowercase() || matches!(answer.as_str(), "y" | "yes")
}

impl ByClarify {
    async fn agree(&self, question: &str, yes: &str) -> Answer {
        let choices = [yes.to_owned(), "Refuse".to_owned()];
        match self.0.ask(question, &choices).await {
            Some(answer) if is_yes(&answer, yes) => Answer::Agreed,
            Some(_) => Answer::Refused,
            None => Answer::Nobody,
        }
    }

    async fn fill(&self, message: &str, fields: &[Field]) -> Answer {
        if fields.is_empty() {
            return match self.agree(message, "Accept").await {
                Answer::Agreed => Answer::Filled(Map::new()),
                other => other,
            };
        }
        let mut filled = Map::new();
        let mut is_touched = false;
        for field in fields {
            let choices: Vec<String> = match &field.kind {
                FieldKind::Choice { options, many: false } => {
                    options.iter().map(|it| it.1.clone()).collect()
                }
                FieldKind::Flag => vec!["yes".to_owned(), "no".to_owned()],
                _ => Vec::new(),
            };
            let mut question = field.question(message);
            loop {
                let Some(words) = self.0.ask(&question, &choices).await else {
                    return Answer::Nobody;
                };
                if words.trim().is_empty() {
                    if let Some(default) = &field.default {
                        filled.insert(field.name.clone(), default.clone());
                        break;
                    }
                    if !field.required {
                        break;
                    }
                    return Answer::Refused;
                }
                match field.read(&words) {
                    Ok(value) => {
                        filled.insert(field.name.clone(), value);
                        is_touched = true;
                        break;
                    }
                    Err(wanted) => {
                        question = format!("{}\nThis must be {wanted}.", field.question(message));
                    }
                }
            }
        }
        // Who has only passed over the questions has agreed to nothing.
        if !is_touched {
            let question = format!("{message}\nNothing was filled in. Send it like that?");
            return match self.agree(&question, "Accept").await {
                Answer::Agreed => Answer::Filled(filled),
                other => other,
            };
        }
        Answer::Filled(filled)
    }
}

/// Whether an address leads to a page, and does nothing else.
fn is_page(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

impl Asker for ByClarify {
    fn ask<'a>(&'a self, server: &'a str, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            match question {
                Question::Sample { model, prompt, max_tokens } => {
                    let text = format!(
                        "The MCP server '{server}' wants to ask the model {model} \
                         (at most {max_tokens} tokens):\n{prompt}"
                    );
                    self.agree(&text, "Allow").await
                }
                Question::Form { message, fields } => {
                    let text = format!("The MCP server '{server}' asks: {message}");
                    self.fill(&text, fields).await
                }
                Question::Visit { url, .. } if !is_page(url) => Answer::Refused,
                Question::Visit { message, url } => {
                    let text = format!(
                        "The MCP server '{server}' asks: {message}\n\
                         Open this address yourself, and only if you know it:\n{url}"
                    );
                    self.agree(&text, "Done").await
                }
            }
        })
    }
}

#[cfg(test)]
#[path = "asker_tests.rs"]
mod tests;
