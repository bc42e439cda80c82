//! Questions of servers to the user.

use std::sync::Arc;

use hermes_core::{BoxFuture, UserPrompter};
use hermes_schema::Schema;
use serde_json::{Map, Value};

use super::format;
use super::sanitize::excerpt;

/// What a server wants of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerQuestion {
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
        fields: Vec<FormField>,
    },
    /// Something done at another place, in a browser.
    OpenUrl {
        /// What for.
        message: String,
        /// Where.
        url: String,
    },
}

/// What the user says to it.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Yes.
    Accepted,
    /// Yes, with what was filled in.
    AcceptedForm(Map<String, Value>),
    /// No.
    Declined,
    /// Nothing: nobody was there, or turned away.
    Cancelled,
}

/// Somebody who can be asked.
pub trait ElicitationPrompter: Send + Sync {
    /// Asks for a server, and waits for the answer.
    fn ask<'a>(
        &'a self,
        server: &'a str,
        question: &'a ServerQuestion,
    ) -> BoxFuture<'a, ElicitationAnswer>;
}

/// Something to be filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
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
        integer: bool,
    },
    /// Yes or no.
    Boolean,
    /// One or some of these: the value, and what it is called.
    Choice {
        /// The values and their names.
        options: Vec<(String, String)>,
        /// Whether several can be chosen.
        multiple: bool,
    },
}

/// As many fields as anybody would fill in, and options of one.
const MAX_FIELDS: usize = 50;
const MAX_OPTIONS: usize = 200;

impl FormField {
    /// The fields of a form, from the schema that the server sends.
    pub fn from_schema(schema: &Value) -> Vec<Self> {
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
                kind: FieldKind::from_schema(property),
                default: property.get("default").cloned(),
                schema: property.clone(),
            }
        };
        properties.iter().take(MAX_FIELDS).map(read).collect()
    }

    /// The value that a person's words mean; if there is none, what is wanted.
    pub fn parse_input(&self, words: &str) -> Result<Value, String> {
        let value = self.parse_value(words.trim())?;
        let schema = Schema::new(self.schema.clone());
        // Bounds that nobody can read are for the server to judge.
        if schema.compile().is_ok()
            && let Err(violations) = schema.check(&value)
            && let Some(first) = violations.into_iter().next()
        {
            return Err(first.expected);
        }
        let format = self.schema.get("format").and_then(Value::as_str);
        match format
            .zip(value.as_str())
            .and_then(|(format, text)| format::format_violation(format, text))
        {
            Some(wanted) => Err(wanted.to_owned()),
            None => Ok(value),
        }
    }

    fn parse_value(&self, words: &str) -> Result<Value, String> {
        match &self.kind {
            FieldKind::Text => Ok(words.into()),
            FieldKind::Number { integer: true } => {
                words.parse::<i64>().map(Value::from).map_err(|_| "a whole number".to_owned())
            }
            FieldKind::Number { integer: false } => {
                let number = words.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Value::from).ok_or_else(|| "a number".to_owned())
            }
            FieldKind::Boolean => match words.to_lowercase().as_str() {
                "yes" | "y" | "true" | "on" | "1" => Ok(true.into()),
                "no" | "n" | "false" | "off" | "0" => Ok(false.into()),
                _ => Err("yes or no".to_owned()),
            },
            FieldKind::Choice { options, multiple: false } => find_option(options, words)
                .map(Value::from)
                .ok_or_else(|| "one of the choices".into()),
            FieldKind::Choice { options, multiple: true } => {
                let chosen: Option<Vec<Value>> = words
                    .split(',')
                    .filter(|word| !word.trim().is_empty())
                    .map(|word| find_option(options, word.trim()).map(Value::from))
                    .collect();
                chosen.map(Value::from).ok_or_else(|| "some of the choices, with commas".into())
            }
        }
    }

    fn prompt_text(&self, message: &str) -> String {
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

fn find_option(options: &[(String, String)], word: &str) -> Option<String> {
    let is_it = |(value, name): &&(String, String)| value == word || name == word;
    options.iter().find(is_it).map(|it| it.0.clone())
}

impl FieldKind {
    fn from_schema(property: &Value) -> Self {
        let kind = property.get("type").and_then(Value::as_str);
        let items = property.get("items").filter(|_| kind == Some("array"));
        if let Some(options) = enum_options(items.unwrap_or(property)) {
            return Self::Choice { options, multiple: items.is_some() };
        }
        match kind {
            Some("integer") => Self::Number { integer: true },
            Some("number") => Self::Number { integer: false },
            Some("boolean") => Self::Boolean,
            _ => Self::Text,
        }
    }
}

/// The choices of a property, in each of the forms that the protocol has had.
fn enum_options(property: &Value) -> Option<Vec<(String, String)>> {
    let list = |key: &str| property.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let names: Vec<&str> = list("enumNames")
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let name = |at: usize, value: &str| (*names.get(at).unwrap_or(&value)).to_owned();
        let pairs = values.iter().take(MAX_OPTIONS).enumerate();
        return Some(pairs.map(|(at, value)| ((*value).to_owned(), name(at, value))).collect());
    }
    let titled = list("oneOf").or_else(|| list("anyOf"))?;
    let read = |option: &Value| {
        let value = option.get("const")?.as_str()?;
        let name = option.get("title").and_then(Value::as_str).unwrap_or(value);
        Some((value.to_owned(), name.to_owned()))
    };
    Some(titled.iter().take(MAX_OPTIONS).filter_map(read).collect())
}

/// Asks through the channel for questions, one after the other.
pub struct UserPrompterAdapter(pub Arc<dyn UserPrompter>);

impl std::fmt::Debug for UserPrompterAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ByClarify")
    }
}

/// Whether somebody agrees, in the words of the choice or in their own.
fn is_yes(answer: &str, yes: &str) -> bool {
    let answer = answer.trim().to_lowercase();
    answer == yes.to_lowercase() || matches!(answer.as_str(), "y" | "yes")
}

impl UserPrompterAdapter {
    async fn confirm(&self, question: &str, yes: &str) -> ElicitationAnswer {
        let choices = [yes.to_owned(), "Refuse".to_owned()];
        match self.0.ask(question, &choices).await {
            Some(answer) if is_yes(&answer, yes) => ElicitationAnswer::Accepted,
            Some(_) => ElicitationAnswer::Declined,
            None => ElicitationAnswer::Cancelled,
        }
    }

    async fn fill_form(&self, message: &str, fields: &[FormField]) -> ElicitationAnswer {
        if fields.is_empty() {
            return match self.confirm(message, "Accept").await {
                ElicitationAnswer::Accepted => ElicitationAnswer::AcceptedForm(Map::new()),
                other => other,
            };
        }
        let mut filled = Map::new();
        let mut is_touched = false;
        for field in fields {
            let choices: Vec<String> = match &field.kind {
                FieldKind::Choice { options, multiple: false } => {
                    options.iter().map(|it| it.1.clone()).collect()
                }
                FieldKind::Boolean => vec!["yes".to_owned(), "no".to_owned()],
                _ => Vec::new(),
            };
            let mut question = field.prompt_text(message);
            loop {
                let Some(words) = self.0.ask(&question, &choices).await else {
                    return ElicitationAnswer::Cancelled;
                };
                if words.trim().is_empty() {
                    if let Some(default) = &field.default {
                        filled.insert(field.name.clone(), default.clone());
                        break;
                    }
                    if !field.required {
                        break;
                    }
                    return ElicitationAnswer::Declined;
                }
                match field.parse_input(&words) {
                    Ok(value) => {
                        filled.insert(field.name.clone(), value);
                        is_touched = true;
                        break;
                    }
                    Err(wanted) => {
                        question =
                            format!("{}\nThis must be {wanted}.", field.prompt_text(message));
                    }
                }
            }
        }
        // Who has only passed over the questions has agreed to nothing.
        if !is_touched {
            let question = format!("{message}\nNothing was filled in. Send it like that?");
            return match self.confirm(&question, "Accept").await {
                ElicitationAnswer::Accepted => ElicitationAnswer::AcceptedForm(filled),
                other => other,
            };
        }
        ElicitationAnswer::AcceptedForm(filled)
    }
}

/// Whether an address leads to a page, and does nothing else.
fn is_web_url(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

impl ElicitationPrompter for UserPrompterAdapter {
    fn ask<'a>(
        &'a self,
        server: &'a str,
        question: &'a ServerQuestion,
    ) -> BoxFuture<'a, ElicitationAnswer> {
        Box::pin(async move {
            match question {
                ServerQuestion::Sample { model, prompt, max_tokens } => {
                    let text = format!(
                        "The MCP server '{server}' wants to ask the model {model} \
                         (at most {max_tokens} tokens):\n{prompt}"
                    );
                    self.confirm(&text, "Allow").await
                }
                ServerQuestion::Form { message, fields } => {
                    let text = format!("The MCP server '{server}' asks: {message}");
                    self.fill_form(&text, fields).await
                }
                ServerQuestion::OpenUrl { url, .. } if !is_web_url(url) => {
                    ElicitationAnswer::Declined
                }
                ServerQuestion::OpenUrl { message, url } => {
                    let text = format!(
                        "The MCP server '{server}' asks: {message}\n\
                         Open this address yourself, and only if you know it:\n{url}"
                    );
                    self.confirm(&text, "Done").await
                }
            }
        })
    }
}

#[cfg(test)]
#[path = "prompter_tests.rs"]
mod tests;
