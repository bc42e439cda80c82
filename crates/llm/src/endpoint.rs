//! A model at a server: where it is, which language it speaks, with what keys.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::http::is_loopback;
use crate::model_error::{ModelError, ModelErrorKind};
use crate::reply::TokenUsage;

/// A model at a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEndpoint {
    /// Who runs it, such as `openrouter`; for people.
    pub provider: String,
    /// The language of its server.
    pub dialect: ApiDialect,
    /// The address that the paths of the language are added to.
    pub base_url: String,
    /// The model, as its server names it.
    pub model: String,
    /// Keys, of which one is used at a time.
    pub keys: Vec<ApiKey>,
    /// Headers more.
    pub headers: Vec<(String, String)>,
    /// Fields more of each request.
    pub extra: Map<String, Value>,
    /// How many tokens a conversation may have, if that was said.
    pub window: Option<u64>,
    /// Whether that is only what is usual, and the server knows better once the
    /// model has answered.
    pub is_window_guessed: bool,
    /// How long the model may be silent, if that was said.
    pub idle_timeout: Option<Duration>,
    /// The most tokens of an answer, if a request does not say.
    pub max_tokens: Option<u64>,
    /// What tokens cost.
    pub prices: Option<TokenPrices>,
}

/// The language of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiDialect {
    /// Chat completions, as OpenAI made them and nearly everybody speaks them.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
}

/// What a million tokens cost, in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenPrices {
    /// Of what is sent.
    pub input: f64,
    /// Of what is answered.
    pub output: f64,
    /// Of what is read from a cache; as `input` if it was not said.
    pub cache_read: Option<f64>,
    /// Of what is written to a cache; as `input` if it was not said.
    pub cache_write: Option<f64>,
}

/// A key that is shorter is none.
const MIN_REDACTED_KEY_BYTES: usize = 8;

/// A key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key; spaces and line ends around it are slips.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// A text without the key: servers repeat what they were sent.
    pub(crate) fn redact(&self, text: &mut String) {
        // What is shorter is no key, but may well be a word.
        if self.0.len() >= MIN_REDACTED_KEY_BYTES && text.contains(&self.0) {
            *text = text.replace(&self.0, "[the key]");
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl ApiDialect {
    /// By its name in a configuration.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "chat_completions" | "chat" | "openai" | "openai_chat" => Self::Chat,
            "responses" | "codex_responses" | "openai_responses" => Self::Responses,
            "anthropic_messages" | "messages" | "anthropic" => Self::Anthropic,
            "gemini" | "google" | "generate_content" => Self::Gemini,
            _ => return None,
        })
    }

    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat_completions",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic_messages",
            Self::Gemini => "gemini",
        }
    }

    /// By the address of a server.
    pub fn from_url(base_url: &str) -> Self {
        let url = base_url.trim_end_matches('/').to_lowercase();
        let host = Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let host = host.unwrap_or_default();
        if host == "api.anthropic.com"
            || url.ends_with("/anthropic")
            || url.ends_with("/anthropic/v1")
        {
            Self::Anthropic
        } else if host == "generativelanguage.googleapis.com" && !url.contains("/openai") {
            Self::Gemini
        } else {
            Self::Chat
        }
    }
}

impl ModelEndpoint {
    /// A model at an address, and nothing else said about it.
    pub fn new(dialect: ApiDialect, base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: String::new(),
            dialect,
            base_url: base_url.into(),
            model: model.into(),
            keys: Vec::new(),
            headers: Vec::new(),
            extra: Map::new(),
            window: None,
            is_window_guessed: false,
            idle_timeout: None,
            max_tokens: None,
            prices: None,
        }
    }

    /// The address, checked.
    pub(crate) fn parsed_base_url(&self) -> Result<Url, ModelError> {
        let wrong = |why: &str| {
            ModelError::new(
                ModelErrorKind::Request,
                format!("`{}` is no address of a server: {why}", self.base_url),
            )
            .with_hint("set `model.base_url` to something like http://127.0.0.1:8080/v1")
        };
        let mut url =
            Url::parse(self.base_url.trim()).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("it must begin with http:// or https://"));
        }
        let path = url.path().trim_end_matches('/');
        let path = match self.dialect {
            // All of them have it; people forget it.
            ApiDialect::Chat | ApiDialect::Responses if path.is_empty() => "/v1".to_owned(),
            ApiDialect::Anthropic if !path.ends_with("/v1") => format!("{path}/v1"),
            ApiDialect::Gemini if !path.contains("/v1") => format!("{path}/v1beta"),
            _ => path.to_owned(),
        };
        url.set_path(&path);
        Ok(url)
    }

    /// An address below the base.
    pub(crate) fn url(&self, path: &str) -> Result<Url, ModelError> {
        let mut url = self.parsed_base_url()?;
        let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
        Ok(url)
    }

    /// Whether it is this machine's own.
    pub(crate) fn is_local(&self) -> bool {
        self.parsed_base_url().is_ok_and(|url| is_loopback(&url))
    }

    /// Who made pieces that only they can read.
    pub(crate) fn origin(&self) -> String {
        let host =
            Url::parse(&self.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        format!("{}:{}", self.dialect.name(), host.unwrap_or_default())
    }

    /// Whether it is a server of that name.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        let url = Url::parse(&self.base_url).ok();
        let own = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        own == host || own.strip_suffix(host).is_some_and(|rest| rest.ends_with('.'))
    }

    /// The headers of a request.
    pub(crate) fn headers(&self, key: Option<&ApiKey>) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        if self.dialect == ApiDialect::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        if let Some(ApiKey(key)) = key {
            // Tokens of an account are shown in another way than keys.
            let is_account = key.starts_with("sk-ant-oat");
            let (name, value) = match self.dialect {
                ApiDialect::Anthropic if !is_account => ("x-api-key", key.clone()),
                ApiDialect::Gemini => ("x-goog-api-key", key.clone()),
                _ => ("authorization", format!("Bearer {key}")),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                ModelError::new(
                    ModelErrorKind::Authentication,
                    "the key holds characters that no key has",
                )
                .with_hint("copy the key again, without line ends and quotes")
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
            if is_account && self.dialect == ApiDialect::Anthropic {
                headers.insert("anthropic-beta", HeaderValue::from_static("oauth-2025-04-20"));
            }
        }
        for (name, value) in &self.headers {
            let pair =
                HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::from_str(value).ok());
            let Some((name, value)) = pair else {
                return Err(ModelError::new(
                    ModelErrorKind::Request,
                    format!("`{name}` is no header"),
                )
                .with_hint("correct `extra_headers` of the provider in config.yaml"));
            };
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl TokenPrices {
    /// What a request cost.
    pub fn cost(&self, usage: &TokenUsage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let sum = plain as f64 * self.input
            + usage.cache_read as f64 * self.cache_read.unwrap_or(self.input)
            + usage.cache_write as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        sum / 1e6
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
