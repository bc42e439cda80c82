//! How long a conversation with a model may be.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::local::beside;
use crate::endpoint::{Dialect, Endpoint};
use crate::http::{Http, is_loopback};

/// Well-known families, the longer names first.
const FAMILIES: &[(&str, u64)] = &[
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

/// The window of a well-known model.
pub fn usual_window(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    FAMILIES.iter().find(|(family, _)| name.starts_with(family)).map(|(_, tokens)| *tokens)
}

/// The window of a model: what its server says, else what is known of its
/// family. A server far away is asked only if nothing is known.
pub(crate) async fn learn(http: &Http, endpoint: &Endpoint, patience: Duration) -> Option<u64> {
    let is_here = endpoint.base().is_ok_and(|url| is_loopback(&url));
    let known = usual_window(&endpoint.model);
    if !is_here && known.is_some() {
        return known;
    }
    let asking = Asking { http, endpoint, patience };
    match endpoint.dialect {
        Dialect::Gemini => asking.gemini().await,
        Dialect::Anthropic => None,
        Dialect::Chat | Dialect::Responses => asking.chat(is_here).await,
    }
    .filter(|tokens| *tokens > 0)
    .or(known)
}

struct Asking<'a> {
    http: &'a Http,
    endpoint: &'a Endpoint,
    patience: Duration,
}

impl Asking<'_> {
    async fn get(&self, url: Option<Url>) -> Value {
        let headers = self.endpoint.headers(self.endpoint.keys.first());
        let (Some(url), Ok(headers)) = (url, headers) else { return Value::Null };
        let answer = self.http.json(Method::GET, url, headers, None, self.patience).await;
        answer.unwrap_or_default()
    }

    async fn gemini(&self) -> Option<u64> {
        let model = self.endpoint.model.strip_prefix("models/").unwrap_or(&self.endpoint.model);
        let about = self.get(self.endpoint.url(&format!("models/{model}")).ok()).await;
        about["inputTokenLimit"].as_u64()
    }

    async fn chat(&self, is_here: bool) -> Option<u64> {
        let list = self.get(self.endpoint.url("models").ok());
        if !is_here {
            return self.listed(&list.await);
        }
        let (list, props, ollama, studio) = tokio::join!(
            list,
            self.get(beside(self.endpoint, "props")),
            self.ollama(),
            self.get(beside(self.endpoint, "api/v0/models")),
        );
        // What the server has room for counts, not what the model was made for.
        props["default_generation_settings"]["n_ctx"]
            .as_u64()
            .or(ollama)
            .or_else(|| self.entry(&studio["data"])?["loaded_context_length"].as_u64())
            .or_else(|| self.listed(&list))
            .or_else(|| self.entry(&studio["data"])?["max_context_length"].as_u64())
    }

    fn entry<'v>(&self, list: &'v Value) -> Option<&'v Value> {
        let model = self.endpoint.model.as_str();
        list.as_array()?.iter().find(|one| one["id"] == model || one["name"] == model)
    }

    fn listed(&self, list: &Value) -> Option<u64> {
        let entry = self.entry(&list["data"])?;
        ["max_model_len", "context_length", "context_window", "max_context_length"]
            .iter()
            .find_map(|key| entry[*key].as_u64())
            .or_else(|| entry["meta"]["n_ctx"].as_u64())
            .or_else(|| entry["meta"]["n_ctx_train"].as_u64())
    }

    /// Ollama says it of a model in memory; of another, what it was given or
    /// made for.
    async fn ollama(&self) -> Option<u64> {
        let loaded = self.get(beside(self.endpoint, "api/ps")).await;
        if let Some(tokens) =
            self.entry(&loaded["models"]).and_then(|one| one["context_length"].as_u64())
        {
            return Some(tokens);
        }
        let url = beside(self.endpoint, "api/show")?;
        let body = json!({"model": self.endpoint.model});
        let about =
            self.http.json(Method::POST, url, Default::default(), Some(&body), self.patience);
        let about = about.await?;
        let given = about["parameters"].as_str().and_then(|lines| {
            let line = lines.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
            line.trim().parse().ok()
        });
        given.or_else(|| {
            let info = about["model_info"].as_object()?;
            info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()
        })
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
