//! Model discovery: the configured model, else a provider with a key in the
//! environment, else a server on this machine.

mod local;
mod naming;
mod providers;
mod settings;
pub(crate) mod window;

use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::ModelEndpoint;
use crate::fallback::{FallbackModel, OnRetry, RetrySettings};
use crate::http::HttpClients;
use crate::http_model::HttpModel;
use crate::model::LanguageModel;
use crate::model_error::{ModelError, ModelErrorKind};

pub use local::{LOCAL_SERVERS, LocalServer};
pub use naming::split_provider;
pub use settings::configured_endpoints;
pub use window::known_window;

/// Looks up an environment variable.
pub type EnvLookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// How long a server may take to list its models.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// A discovered model.
#[derive(Debug)]
pub struct DiscoveredModel {
    /// The model, with its keys and fallbacks.
    pub model: Arc<dyn LanguageModel>,
    /// Its endpoint, followed by the fallback endpoints.
    pub endpoints: Vec<Arc<ModelEndpoint>>,
    /// How it was found, for display.
    pub source: String,
}

/// Instructions for a user without a model.
pub const SETUP_HINT: &str = "\
Set a key: export OPENROUTER_API_KEY=… (or ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY)
or start a local model: ollama run qwen3 (llama.cpp, LM Studio and vLLM are found as well)
or name a server: hermes config set model.base_url http://HOST:PORT/v1, and model.default NAME";

/// Finds a model. `config` is the whole configuration; `ports` are the local
/// servers to probe.
pub async fn discover_model(
    http: &Arc<HttpClients>,
    config: &serde_json::Value,
    env: EnvLookup<'_>,
    ports: &[LocalServer],
    retries: RetrySettings,
    shown: OnRetry,
) -> Result<DiscoveredModel, ModelError> {
    let mut endpoints = configured_endpoints(config, env)?;
    let mut how = "configured".to_owned();
    if endpoints.is_empty() {
        let here = local::probe_local_servers(http, ports).await;
        let Some((local, model)) = here else {
            return Err(ModelError::new(
                ModelErrorKind::ModelUnavailable,
                "no model is configured",
            )
            .with_hint(SETUP_HINT));
        };
        how = format!("{} on this machine, port {}", local.name, local.port);
        let mut endpoint = local.endpoint(model);
        endpoint.window = config["model"]["context_length"].as_u64();
        endpoint.idle_timeout = config["model"]["patience"].as_u64().map(Duration::from_secs);
        endpoints.push(endpoint);
    }
    for endpoint in &mut endpoints {
        if endpoint.model.is_empty() {
            endpoint.model = local::first_model(http, endpoint).await?;
        }
        if endpoint.window.is_none() {
            window::detect_window(http, endpoint, DISCOVERY_TIMEOUT).await;
        }
    }
    let endpoints: Vec<Arc<ModelEndpoint>> = endpoints.into_iter().map(Arc::new).collect();
    let model = with_fallbacks(http, &endpoints, retries, shown);
    Ok(DiscoveredModel { model, endpoints, source: how })
}

/// Combines the endpoints, each with all its keys, into one model.
pub fn with_fallbacks(
    http: &Arc<HttpClients>,
    endpoints: &[Arc<ModelEndpoint>],
    retries: RetrySettings,
    shown: OnRetry,
) -> Arc<dyn LanguageModel> {
    let seat = |endpoint: &Arc<ModelEndpoint>| -> Vec<Arc<dyn LanguageModel>> {
        let keys = endpoint.keys.iter().cloned().map(Some);
        let keys = if endpoint.keys.is_empty() { vec![None] } else { keys.collect() };
        keys.into_iter()
            .map(|key| Arc::new(HttpModel::new(Arc::clone(http), Arc::clone(endpoint), key)) as _)
            .collect()
    };
    Arc::new(FallbackModel::new(endpoints.iter().map(seat).collect(), retries, shown))
}
