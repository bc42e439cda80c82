//! How long a conversation with a model may be.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::local::beside;
use crate::endpoint::{Dialect, Endpoint};
use crate::http::Http;

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

/// What Ollama gives a model unless somebody says otherwise. What is beyond that it
/// cuts off without a word, so that a larger guess would lose the beginning.
const OLLAMA: u64 = 4_096;

/// The window of a well-known model.
pub fn usual_window(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    FAMILIES.iter().find(|(family, _)| name.starts_with(family)).map(|(_, tokens)| *tokens)
}

/// The window of a model: what its server says, else what is known of its
/// family. A server far away is asked only if nothing is known.
pub(crate) async fn learn(http: &Http, endpoint: &mut Endpoint, patience: Duration) {
    let is_here = endpoint.is_here();
    let known = usual_window(&endpoint.model);
    if !is_here && known.is_some() {
        endpoint.window = known;
        return;
    }
    let asking = Asking { http, endpoint, patience };
    let told = match endpoint.dialect {
        Dialect::Gemini => asking.gemini().await.map(Told::Known),
        Dialect::Anthropic => None,
        Dialect::Chat | Dialect::Responses => asking.chat(is_here).await,
    };
    let told = told.filter(|told| told.tokens() > 0);
    endpoint.is_window_guessed = matches!(told, Some(Told::Guessed(_)));
    endpoint.window = told.map(Told::tokens).or(known);
}

/// The window of a model that has answered, and so is in memory; for servers that
/// do not know it before.
pub(crate) async fn learn_late(
    http: &Http,
    endpoint: &Endpoint,
    patience: Duration,
) -> Option<u64> {
    Asking { http, endpoint, patience }.loaded().await
}

/// What a server says of a window.
#[derive(Debug, Clone, Copy)]
enum Told {
    Known(u64),
    /// It will be known once the model is in memory.
    Guessed(u64),
}

impl Told {
    fn tokens(self) -> u64 {
        let (Self::Known(tokens) | Self::Guessed(tokens)) = self;
        tokens
    }
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

    async fn chat(&self, is_here: bool) -> Option<Told> {
        let list = self.get(self.endpoint.url("models").ok());
        if !is_here {
            return self.listed(&list.await).map(Told::Known);
        }
        let (list, props, ollama, studio) = tokio::join!(
            list,
            self.get(beside(self.endpoint, "props")),
            self.ollama(),
            self.get(beside(self.endpoint, "api/v0/models")),
        );
        // What the server has room for counts, not what the model was made for.
        props["default_generation_settings"]["n_ctx"].as_u64().map(Told::Known).or(ollama).or_else(
            || {
                let studio = self.entry(&studio["data"]).unwrap_or(&Value::Null);
                let loaded = studio["loaded_context_length"].as_u64();
                let listed = loaded.or_else(|| self.listed(&list));
                listed.or_else(|| studio["max_context_length"].as_u64()).map(Told::Known)
            },
        )
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

    /// What Ollama says of a model in memory.
    async fn loaded(&self) -> Option<u64> {
        let loaded = self.get(beside(self.endpoint, "api/ps")).await;
        self.entry(&loaded["models"])?["context_length"].as_u64()
    }

    /// Of a model that is not in memory Ollama tells what it was given; if that is
    /// nothing, what it was made for, which is not what it will get.
    async fn ollama(&self) -> Option<Told> {
        if let Some(tokens) = self.loaded().await {
            return Some(Told::Known(tokens));
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
        given.map(Told::Known).or_else(|| {
            let info = about["model_info"].as_object()?;
            let most = info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()?;
            Some(Told::Guessed(most.min(OLLAMA)))
        })
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
