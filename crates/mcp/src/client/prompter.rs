//! Questions of servers to the user.

use std::sync::Arc;

use hermes_core::{BoxFuture, UserPrompter};
use hermes_schema::Schema;
use serde_json::{Map, Value};

use super::format;
use super::sanitize::excerpt;

/// A question of a server to the user.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerQuestion {
    /// Permission to use our model.
    Sample {
        /// The model.
        model: String,
        /// The prompt, truncated.
        prompt: String,
        /// Maximum length of the reply.
        max_tokens: u32,
    },
    /// A form to fill in.
    Form {
        /// The purpose of the form.
        message: String,
        /// The fields of the form.
        fields: Vec<FormField>,
    },
    /// A URL to open in a browser.
    OpenUrl {
        /// The purpose of the visit.
        message: String,
        /// The URL.
        url: String,
    },
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Yes.
    Accepted,
    /// Yes, with the values of the form.
    AcceptedForm(Map<String, Value>),
    /// No.
    Declined,
    /// No answer: no user was present, or the user cancelled.
    Cancelled,
}

/// Asks the user on behalf of a server.
pub trait ElicitationPrompter: Send + Sync {
    /// Asks a question and waits for the answer.
    fn ask<'a>(
        &'a self,
        server: &'a str,
        question: &'a ServerQuestion,
    ) -> BoxFuture<'a, ElicitationAnswer>;
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// The name of the value.
    pub name: String,
    /// The display name, if it differs.
    pub title: Option<String>,
    /// The purpose of the field.
    pub description: Option<String>,
    /// Whether a value is required.
    pub required: bool,
    /// The type of the value.
    pub kind: FieldKind,
    /// The value if the user enters none.
    pub default: Option<Value>,
    /// The field's schema, with the limits of its value.
    pub schema: Value,
}

/// Type of a form value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// Text.
    Text,
    /// A number.
    Number {
        /// Whether it must be an integer.
        integer: bool,
    },
    /// Yes or no.
    Boolean,
    /// One or several of a list of options.
    Choice {
        /// Values and display names.
        options: Vec<(String, String)>,
        /// Whether several options may be chosen.
        multiple: bool,
    },
}

/// Maximum number of fields of a form, and of options of a field.
const MAX_FIELDS: usize = 50;
const MAX_OPTIONS: usize = 200;

impl FormField {
    /// Parses the fields of a form from its schema.
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

    /// Parses the user's input, or returns what is expected.
    pub fn parse_input(&self, words: &str) -> Result<Value, String> {
        let value = self.parse_value(words.trim())?;
        let schema = Schema::new(self.schema.clone());
        // Limits that cannot be compiled are left to the server.
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
                chosen
                    .map(Value::from)
                    .ok_or_else(|| "a comma-separated list of the choices".into())
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
            text.push_str(&format!(" (default: {default})"));
        } else if !self.required {
            text.push_str(" (optional)");
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

/// Returns the options of a property, in any form that the protocol has used.
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

/// Asks through a [`UserPrompter`], one question at a time.
pub struct UserPrompterAdapter(pub Arc<dyn UserPrompter>);

impl std::fmt::Debug for UserPrompterAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserPrompterAdapter")
    }
}

/// Whether an answer is the choice or a plain yes.
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
        // Skipping every question is not consent.
        if !is_touched {
            let question = format!("{message}\nThe form is empty. Send it anyway?");
            return match self.confirm(&question, "Accept").await {
                ElicitationAnswer::Accepted => ElicitationAnswer::AcceptedForm(filled),
                other => other,
            };
        }
        ElicitationAnswer::AcceptedForm(filled)
    }
}

/// Whether a URL opens a web page and nothing else.
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
                        "The MCP server '{server}' wants to use the model {model} (at most \
                         {max_tokens} tokens):\n{prompt}"
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
                        "The MCP server '{server}' asks: {message}\nOpen this URL yourself, \
                         and only if you know it:\n{url}"
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
