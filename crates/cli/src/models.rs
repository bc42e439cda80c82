//! Model selection from the settings and the environment.

use std::sync::Arc;

use hermes::core::ToolError;
use hermes_agent::ModelParams;
use hermes_config::{HermesHome, ResolvedConfig};
use hermes_llm::{HttpClients, ModelError, OnRetry, RetrySettings, discovery};
use serde_json::{Value, json};

use crate::command_error::CommandError;

/// Finds models in the settings and the environment.
#[derive(Debug, Clone)]
pub(crate) struct ModelFinder {
    http: Arc<HttpClients>,
    settings: Arc<Value>,
    home: HermesHome,
    calls_in_text: bool,
    max_tokens: Option<u64>,
}

/// A model and its request parameters.
#[derive(Debug)]
pub(crate) struct SelectedModel {
    pub(crate) found: discovery::DiscoveredModel,
    pub(crate) params: ModelParams,
}

impl ModelFinder {
    pub(crate) fn new(home: &HermesHome, config: &ResolvedConfig) -> Self {
        let mut settings = config.values().clone();
        let said = &config.settings.model;
        if !settings.is_object() {
            settings = json!({});
        }
        // `config.settings` has the environment applied, so it overrides the
        // file.
        if !settings["model"].is_object() {
            settings["model"] = json!({});
        }
        for (name, value) in [("default", &said.default), ("provider", &said.provider)] {
            if let Some(value) = value {
                settings["model"][name] = json!(value);
            }
        }
        Self {
            http: Arc::default(),
            settings: Arc::new(settings),
            home: home.clone(),
            calls_in_text: said.tool_calls == "text",
            max_tokens: said.max_tokens,
        }
    }

    /// Finds the given model, or the default one. `PROVIDER:MODEL` also selects
    /// the provider.
    pub(crate) async fn find(
        &self,
        wanted: Option<&str>,
        shown: OnRetry,
    ) -> Result<SelectedModel, ModelError> {
        let mut settings = Value::clone(&self.settings);
        let variables = hermes_store::dotenv::DotenvFile::load(&self.home.env_file()).vars;
        let lookup = |name: &str| {
            // An explicit model overrides `HERMES_MODEL`.
            let counts = wanted.is_none() || name != "HERMES_MODEL";
            let found = || std::env::var(name).ok().or_else(|| variables.get(name).cloned());
            counts.then(found).flatten()
        };
        if let Some(wanted) = wanted {
            let (provider, model) = discovery::split_provider(&settings, &lookup, wanted)?;
            let usual = &settings["model"];
            let is_usual = usual["default"] == model;
            let is_at = |name: &String| {
                usual["provider"].as_str().is_some_and(|usual| usual.to_lowercase() == *name)
            };
            match provider.filter(|provider| !is_at(provider)) {
                // Another provider gets none of the default model's settings,
                // above all not its API key.
                Some(provider) => {
                    settings["model"] = json!({"default": model, "provider": provider});
                }
                None => {
                    settings["model"]["default"] = json!(model);
                    if let Some(section) = settings["model"].as_object_mut().filter(|_| !is_usual) {
                        section.remove("prices");
                    }
                }
            }
        }
        let retries = RetrySettings::default();
        let found = discovery::discover_model(
            &self.http,
            &settings,
            &lookup,
            discovery::LOCAL_SERVERS,
            retries,
            shown,
        )
        .await?;
        let first = found.endpoints.first();
        let manner = ModelParams {
            model: first.map(|endpoint| endpoint.model.clone()).unwrap_or_default(),
            max_tokens: self.max_tokens.or(first.and_then(|endpoint| endpoint.max_tokens)),
            text_tool_calls: self.calls_in_text,
            ..ModelParams::default()
        };
        Ok(SelectedModel { found, params: manner })
    }

    /// Whether the settings or the environment name a model.
    pub(crate) fn is_configured(&self) -> bool {
        let variables = hermes_store::dotenv::DotenvFile::load(&self.home.env_file()).vars;
        let lookup = |name: &str| std::env::var(name).ok().or_else(|| variables.get(name).cloned());
        discovery::configured_endpoints(&self.settings, &lookup)
            .is_ok_and(|found| !found.is_empty())
    }
}

impl From<ModelError> for CommandError {
    fn from(fault: ModelError) -> Self {
        ToolError::from(fault).into()
    }
}
