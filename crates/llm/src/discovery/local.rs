//! Discovery of model servers on this machine.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, Url};
use serde_json::Value;

use super::DISCOVERY_TIMEOUT;
use crate::endpoint::{ApiDialect, ModelEndpoint};
use crate::http::HttpClients;
use crate::model_error::{ModelError, ModelErrorKind};

/// Timeout for probing all local servers concurrently.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);

/// A server that may listen on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalServer {
    /// Display name.
    pub name: &'static str,
    /// The port it listens on.
    pub port: u16,
}

/// Well-known servers, in order of preference.
pub const LOCAL_SERVERS: &[LocalServer] = &[
    LocalServer { name: "ollama", port: 11434 },
    LocalServer { name: "llama.cpp", port: 8080 },
    LocalServer { name: "lmstudio", port: 1234 },
    LocalServer { name: "vllm", port: 8000 },
];

impl LocalServer {
    /// Returns the endpoint of a model on this server.
    pub(crate) fn endpoint(self, model: String) -> ModelEndpoint {
        let base_url = format!("http://127.0.0.1:{}/v1", self.port);
        let provider = self.name.to_owned();
        ModelEndpoint { provider, ..ModelEndpoint::new(ApiDialect::Chat, base_url, model) }
    }
}

/// Probes all servers concurrently. Returns the first that has a model, and
/// that model.
pub(crate) async fn probe_local_servers(
    http: &HttpClients,
    ports: &[LocalServer],
) -> Option<(LocalServer, String)> {
    let probes = ports.iter().map(|local| async move {
        let endpoint = local.endpoint(String::new());
        Some((*local, choose_model(http, &endpoint, PROBE_TIMEOUT).await?))
    });
    join_all(probes).await.into_iter().flatten().next()
}

/// Returns the model to use on a server if the configuration names none.
pub(crate) async fn first_model(
    http: &HttpClients,
    endpoint: &ModelEndpoint,
) -> Result<String, ModelError> {
    choose_model(http, endpoint, DISCOVERY_TIMEOUT).await.ok_or_else(|| {
        let message =
            format!("no model is configured, and {} does not list its models", endpoint.base_url);
        ModelError::new(ModelErrorKind::ModelUnavailable, message)
            .with_hint("hermes config set model.default NAME")
    })
}

async fn choose_model(
    http: &HttpClients,
    endpoint: &ModelEndpoint,
    timeout: Duration,
) -> Option<String> {
    let url = endpoint.url("models").ok()?;
    let headers = endpoint.headers(endpoint.keys.first()).ok()?;
    let list = http.request_json(Method::GET, url, headers, None, timeout);
    let loaded = async {
        // Ollama may have many models; the loaded one replies without delay.
        if endpoint.provider != "ollama" {
            return None;
        }
        let url = sibling_url(endpoint, "api/ps")?;
        let loaded = http.request_json(Method::GET, url, Default::default(), None, timeout).await?;
        loaded["models"][0]["name"].as_str().map(str::to_owned)
    };
    let (list, loaded) = tokio::join!(list, loaded);
    let list = list?;
    let entries = list["data"].as_array().or_else(|| list["models"].as_array())?;
    let name = |entry: &Value| entry["id"].as_str().or(entry["name"].as_str()).map(str::to_owned);
    let talks = |name: &String| {
        let name = name.to_lowercase();
        !["embed", "bge-", "minilm", "rerank", "whisper", "tts"].iter().any(|no| name.contains(no))
    };
    loaded.filter(talks).or_else(|| entries.iter().filter_map(name).find(talks))
}

/// Returns the URL of a path outside the `/v1` base.
pub(crate) fn sibling_url(endpoint: &ModelEndpoint, path: &str) -> Option<Url> {
    let mut url = endpoint.parsed_base_url().ok()?;
    let base = url.path().trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
    url.set_path(&format!("{base}/{path}"));
    Some(url)
}
