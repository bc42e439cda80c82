//! Detection of a model's context window.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::local::sibling_url;
use crate::endpoint::{ApiDialect, ModelEndpoint};
use crate::http::HttpClients;

/// Context windows of well-known model families, longer prefixes first.
const FAMILY_WINDOWS: &[(&str, u64)] = &[
    ("claude", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-oss", 131_072),
    ("gpt-5", 400_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_048_576),
    ("deepseek", 128_000),
    ("grok-4", 256_000),
    ("grok", 131_072),
    ("kimi-k2", 256_000),
    ("glm-4.6", 200_000),
    ("glm-4", 128_000),
    ("minimax-m2", 196_608),
    ("mistral-large", 128_000),
    ("devstral", 128_000),
    ("qwen3", 131_072),
];

/// Ollama's default context window. It silently truncates what exceeds it, so a
/// larger guess would lose the beginning of the conversation.
const OLLAMA_DEFAULT_TOKENS: u64 = 4_096;

/// Returns the context window of a well-known model.
pub fn known_window(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    FAMILY_WINDOWS.iter().find(|(family, _)| name.starts_with(family)).map(|(_, tokens)| *tokens)
}

/// Sets the context window from the server, else from the model's family. A
/// remote server is queried only if the family is unknown.
pub(crate) async fn detect_window(
    http: &HttpClients,
    endpoint: &mut ModelEndpoint,
    max_wait: Duration,
) {
    let is_here = endpoint.is_local();
    let known = known_window(&endpoint.model);
    if !is_here && known.is_some() {
        endpoint.window = known;
        return;
    }
    let asking = WindowQuery { http, endpoint, timeout: max_wait };
    let shown = match endpoint.dialect {
        ApiDialect::Gemini => asking.gemini_window().await.map(ReportedWindow::Known),
        ApiDialect::Anthropic => None,
        ApiDialect::Chat | ApiDialect::Responses => asking.chat_window(is_here).await,
    };
    let shown = shown.filter(|shown| shown.tokens() > 0);
    endpoint.is_window_guessed = matches!(shown, Some(ReportedWindow::Guessed(_)));
    endpoint.window = shown.map(ReportedWindow::tokens).or(known);
}

/// Returns the window of a model that has replied and so is loaded, for servers
/// that do not report it earlier.
pub(crate) async fn detect_loaded_window(
    http: &HttpClients,
    endpoint: &ModelEndpoint,
    max_wait: Duration,
) -> Option<u64> {
    WindowQuery { http, endpoint, timeout: max_wait }.ollama_loaded_window().await
}

/// A context window reported by a server.
#[derive(Debug, Clone, Copy)]
enum ReportedWindow {
    Known(u64),
    /// Becomes exact once the model is loaded.
    Guessed(u64),
}

impl ReportedWindow {
    fn tokens(self) -> u64 {
        let (Self::Known(tokens) | Self::Guessed(tokens)) = self;
        tokens
    }
}

struct WindowQuery<'a> {
    http: &'a HttpClients,
    endpoint: &'a ModelEndpoint,
    timeout: Duration,
}

impl WindowQuery<'_> {
    async fn get_json(&self, url: Option<Url>) -> Value {
        let headers = self.endpoint.headers(self.endpoint.keys.first());
        let (Some(url), Ok(headers)) = (url, headers) else { return Value::Null };
        let answer = self.http.request_json(Method::GET, url, headers, None, self.timeout).await;
        answer.unwrap_or_default()
    }

    async fn gemini_window(&self) -> Option<u64> {
        let model = self.endpoint.model.strip_prefix("models/").unwrap_or(&self.endpoint.model);
        let about = self.get_json(self.endpoint.url(&format!("models/{model}")).ok()).await;
        about["inputTokenLimit"].as_u64()
    }

    async fn chat_window(&self, is_here: bool) -> Option<ReportedWindow> {
        let list = self.get_json(self.endpoint.url("models").ok());
        if !is_here {
            return self.listed_window(&list.await).map(ReportedWindow::Known);
        }
        let (list, props, ollama, studio) = tokio::join!(
            list,
            self.get_json(sibling_url(self.endpoint, "props")),
            self.ollama_window(),
            self.get_json(sibling_url(self.endpoint, "api/v0/models")),
        );
        // The window that the server allocated takes precedence over the
        // model's maximum.
        props["default_generation_settings"]["n_ctx"]
            .as_u64()
            .map(ReportedWindow::Known)
            .or(ollama)
            .or_else(|| {
                let studio = self.model_entry(&studio["data"]).unwrap_or(&Value::Null);
                let loaded = studio["loaded_context_length"].as_u64();
                let listed = loaded.or_else(|| self.listed_window(&list));
                listed.or_else(|| studio["max_context_length"].as_u64()).map(ReportedWindow::Known)
            })
    }

    fn model_entry<'v>(&self, list: &'v Value) -> Option<&'v Value> {
        let model = self.endpoint.model.as_str();
        list.as_array()?.iter().find(|one| one["id"] == model || one["name"] == model)
    }

    fn listed_window(&self, list: &Value) -> Option<u64> {
        let entry = self.model_entry(&list["data"])?;
        ["max_model_len", "context_length", "context_window", "max_context_length"]
            .iter()
            .find_map(|key| entry[*key].as_u64())
            .or_else(|| entry["meta"]["n_ctx"].as_u64())
            .or_else(|| entry["meta"]["n_ctx_train"].as_u64())
    }

    /// Returns the window of a model loaded in Ollama.
    async fn ollama_loaded_window(&self) -> Option<u64> {
        let loaded = self.get_json(sibling_url(self.endpoint, "api/ps")).await;
        self.model_entry(&loaded["models"])?["context_length"].as_u64()
    }

    /// Returns the window of an Ollama model: if it is not loaded, its
    /// `num_ctx` parameter, else a guess, since Ollama does not allocate the
    /// model's maximum.
    async fn ollama_window(&self) -> Option<ReportedWindow> {
        if let Some(tokens) = self.ollama_loaded_window().await {
            return Some(ReportedWindow::Known(tokens));
        }
        let url = sibling_url(self.endpoint, "api/show")?;
        let body = json!({"model": self.endpoint.model});
        let about = self.http.request_json(
            Method::POST,
            url,
            Default::default(),
            Some(&body),
            self.timeout,
        );
        let about = about.await?;
        let given = about["parameters"].as_str().and_then(|lines| {
            let line = lines.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
            line.trim().parse().ok()
        });
        given.map(ReportedWindow::Known).or_else(|| {
            let info = about["model_info"].as_object()?;
            let most = info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()?;
            Some(ReportedWindow::Guessed(most.min(OLLAMA_DEFAULT_TOKENS)))
        })
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
