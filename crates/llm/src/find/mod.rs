//! Finding a model: what is configured, else what the environment has a key
//! for, else what listens on this machine.

mod local;
mod naming;
mod providers;
mod settings;
pub(crate) mod window;

use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};
use crate::http::Http;
use crate::model::Model;
use crate::server::Server;
use crate::steady::{Retries, Steady, Told};

pub use local::{Local, PORTS};
pub use naming::apart;
pub use settings::configured;
pub use window::usual_window;

/// Looks a variable of the environment up.
pub type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// How long a server may take to say which models it has.
const PATIENCE: Duration = Duration::from_secs(5);

/// A model that was found.
#[derive(Debug)]
pub struct Found {
    /// It, with keys and other models behind it.
    pub model: Arc<dyn Model>,
    /// Where it is, and after it those that are asked when it fails.
    pub endpoints: Vec<Arc<Endpoint>>,
    /// How it was found, for people.
    pub how: String,
}

/// What to say to somebody who has no model.
pub const HOW_TO_SET_UP: &str = "\
Set a key: export OPENROUTER_API_KEY=… (or ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY)
or start a local model: ollama run qwen3 (llama.cpp, LM Studio and vLLM are found as well)
or name a server: hermes config set model.base_url http://HOST:PORT/v1, and model.default NAME";

/// Finds a model. `config` is the whole configuration; `ports` are those on
/// which a server on this machine may listen.
pub async fn find(
    http: &Arc<Http>,
    config: &serde_json::Value,
    env: Lookup<'_>,
    ports: &[Local],
    retries: Retries,
    told: Told,
) -> Result<Found, Fault> {
    let mut endpoints = configured(config, env)?;
    let mut how = "configured".to_owned();
    if endpoints.is_empty() {
        let here = local::look(http, ports).await;
        let Some((local, model)) = here else {
            return Err(Fault::new(FaultKind::Model, "no model is set up").with_hint(HOW_TO_SET_UP));
        };
        how = format!("{} on this machine, port {}", local.name, local.port);
        let mut endpoint = local.endpoint(model);
        endpoint.window = config["model"]["context_length"].as_u64();
        endpoint.patience = config["model"]["patience"].as_u64().map(Duration::from_secs);
        endpoints.push(endpoint);
    }
    for endpoint in &mut endpoints {
        if endpoint.model.is_empty() {
            endpoint.model = local::first_model(http, endpoint).await?;
        }
        if endpoint.window.is_none() {
            window::learn(http, endpoint, PATIENCE).await;
        }
    }
    let endpoints: Vec<Arc<Endpoint>> = endpoints.into_iter().map(Arc::new).collect();
    let model = steady(http, &endpoints, retries, told);
    Ok(Found { model, endpoints, how })
}

/// One model out of several, each with all its keys.
pub fn steady(
    http: &Arc<Http>,
    endpoints: &[Arc<Endpoint>],
    retries: Retries,
    told: Told,
) -> Arc<dyn Model> {
    let seat = |endpoint: &Arc<Endpoint>| -> Vec<Arc<dyn Model>> {
        let keys = endpoint.keys.iter().cloned().map(Some);
        let keys = if endpoint.keys.is_empty() { vec![None] } else { keys.collect() };
        keys.into_iter()
            .map(|key| Arc::new(Server::new(Arc::clone(http), Arc::clone(endpoint), key)) as _)
            .collect()
    };
    Arc::new(Steady::new(endpoints.iter().map(seat).collect(), retries, told))
}
