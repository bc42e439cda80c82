//! A model on a server: address, API dialect and keys.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::http::is_loopback;
use crate::model_error::{ModelError, ModelErrorKind};
use crate::reply::TokenUsage;

/// A model on a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEndpoint {
    /// The provider, such as `openrouter`; for display.
    pub provider: String,
    /// The API dialect of the server.
    pub dialect: ApiDialect,
    /// The address that the dialect's paths are appended to.
    pub base_url: String,
    /// The server's name for the model.
    pub model: String,
    /// API keys, used one at a time.
    pub keys: Vec<ApiKey>,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// Additional fields of each request body.
    pub extra: Map<String, Value>,
    /// The configured or detected context window, in tokens.
    pub window: Option<u64>,
    /// Whether `window` is a guess that the server can correct once the model
    /// has replied.
    pub is_window_guessed: bool,
    /// The configured limit on silence of the model.
    pub idle_timeout: Option<Duration>,
    /// Maximum number of tokens of a reply, if a request sets none.
    pub max_tokens: Option<u64>,
    /// Token prices.
    pub prices: Option<TokenPrices>,
}

/// An API dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiDialect {
    /// Chat Completions, defined by OpenAI and supported by most servers.
    Chat,
    /// OpenAI's Responses API.
    Responses,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
}

/// Prices of a million tokens, in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenPrices {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from a cache; defaults to `input`.
    pub cache_read: Option<f64>,
    /// Input written to a cache; defaults to `input`.
    pub cache_write: Option<f64>,
}

/// Minimum length of a key to redact.
const MIN_REDACTED_KEY_BYTES: usize = 8;

/// An API key. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Creates a key; surrounding whitespace is trimmed.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Redacts the key: servers echo what they receive.
    pub(crate) fn redact(&self, text: &mut String) {
        // Anything shorter may be an ordinary word.
        if self.0.len() >= MIN_REDACTED_KEY_BYTES && text.contains(&self.0) {
            *text = text.replace(&self.0, "[the key]");
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl ApiDialect {
    /// Parses the name used in the configuration.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "chat_completions" | "chat" | "openai" | "openai_chat" => Self::Chat,
            "responses" | "codex_responses" | "openai_responses" => Self::Responses,
            "anthropic_messages" | "messages" | "anthropic" => Self::Anthropic,
            "gemini" | "google" | "generate_content" => Self::Gemini,
            _ => return None,
        })
    }

    /// Returns the name used in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat_completions",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic_messages",
            Self::Gemini => "gemini",
        }
    }

    /// Derives the dialect from a server's address.
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
    /// Creates an endpoint with default settings.
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

    /// Parses and validates the base URL.
    pub(crate) fn parsed_base_url(&self) -> Result<Url, ModelError> {
        let wrong = |why: &str| {
            ModelError::new(
                ModelErrorKind::Request,
                format!("`{}` is not a valid server URL: {why}", self.base_url),
            )
            .with_hint("set `model.base_url` to something like http://127.0.0.1:8080/v1")
        };
        let mut url =
            Url::parse(self.base_url.trim()).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("it must start with http:// or https://"));
        }
        let path = url.path().trim_end_matches('/');
        let path = match self.dialect {
            // All servers have this path; users often omit it.
            ApiDialect::Chat | ApiDialect::Responses if path.is_empty() => "/v1".to_owned(),
            ApiDialect::Anthropic if !path.ends_with("/v1") => format!("{path}/v1"),
            ApiDialect::Gemini if !path.contains("/v1") => format!("{path}/v1beta"),
            _ => path.to_owned(),
        };
        url.set_path(&path);
        Ok(url)
    }

    /// Returns the URL of a path below the base.
    pub(crate) fn url(&self, path: &str) -> Result<Url, ModelError> {
        let mut url = self.parsed_base_url()?;
        let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
        Ok(url)
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.parsed_base_url().is_ok_and(|url| is_loopback(&url))
    }

    /// Identifies the server that can read its own opaque blocks.
    pub(crate) fn origin(&self) -> String {
        let host =
            Url::parse(&self.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        format!("{}:{}", self.dialect.name(), host.unwrap_or_default())
    }

    /// Whether the server is this host or a subdomain of it.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        let url = Url::parse(&self.base_url).ok();
        let own = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        own == host || own.strip_suffix(host).is_some_and(|rest| rest.ends_with('.'))
    }

    /// Builds the headers of a request.
    pub(crate) fn headers(&self, key: Option<&ApiKey>) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        if self.dialect == ApiDialect::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        if let Some(ApiKey(key)) = key {
            // OAuth tokens use another header than API keys.
            let is_account = key.starts_with("sk-ant-oat");
            let (name, value) = match self.dialect {
                ApiDialect::Anthropic if !is_account => ("x-api-key", key.clone()),
                ApiDialect::Gemini => ("x-goog-api-key", key.clone()),
                _ => ("authorization", format!("Bearer {key}")),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                ModelError::new(
                    ModelErrorKind::Authentication,
                    "the API key contains invalid characters",
                )
                .with_hint("copy the key again, without line breaks and quotes")
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
                    format!("`{name}` is not a valid header"),
                )
                .with_hint("correct `extra_headers` of the provider in config.yaml"));
            };
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl TokenPrices {
    /// Computes the cost of a request.
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
