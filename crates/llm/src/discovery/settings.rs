//! Endpoints from the configuration and the environment.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Map, Value};

use super::providers::{KNOWN_PROVIDERS, ModelProvider};
use super::{EnvLookup, naming};
use crate::endpoint::{ApiDialect, ApiKey, ModelEndpoint, TokenPrices};
use crate::http::is_loopback;
use crate::model_error::{ModelError, ModelErrorKind};

/// Returns the configured models in the order in which they are tried; empty if
/// none is configured.
///
/// `model` is a name, or has `default`, `provider`, `base_url`, `api_key`,
/// `key_env`, `api_mode`, `context_length`, `max_tokens`, `patience`, `prices`;
/// `providers` are servers by name with the same keys; `fallback_providers` is
/// a list of fallbacks.
pub fn configured_endpoints(
    config: &Value,
    env: EnvLookup<'_>,
) -> Result<Vec<ModelEndpoint>, ModelError> {
    let reading = ModelConfigReader { config, env };
    let Some(first) = reading.primary_endpoint()? else { return Ok(Vec::new()) };
    let mut endpoints = vec![first];
    for key in ["fallback_providers", "fallback_model"] {
        let entries = match &config[key] {
            Value::Array(entries) => entries.as_slice(),
            entry @ Value::Object(_) => std::slice::from_ref(entry),
            _ => &[],
        };
        for entry in entries {
            let Some(entry) = entry.as_object() else { continue };
            let wish = reading.read_section(entry);
            if wish.model.is_none() {
                continue;
            }
            // A fallback without a key is skipped.
            match reading.endpoint(wish) {
                Ok(endpoint) if !endpoints.contains(&endpoint) => endpoints.push(endpoint),
                Ok(_) => {}
                Err(fault) if fault.kind == ModelErrorKind::Authentication => {}
                Err(fault) => return Err(fault),
            }
        }
    }
    Ok(endpoints)
}

struct ModelConfigReader<'a> {
    config: &'a Value,
    env: EnvLookup<'a>,
}

/// The settings of one model section.
#[derive(Debug, Default)]
struct ModelSection<'a> {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    keys: Vec<ApiKey>,
    /// The variable that holds the key.
    key_env: Option<String>,
    dialect: Option<ApiDialect>,
    options: Option<&'a Map<String, Value>>,
}

impl<'a> ModelConfigReader<'a> {
    fn primary_endpoint(&self) -> Result<Option<ModelEndpoint>, ModelError> {
        let mut wish = match &self.config["model"] {
            Value::Object(section) => self.read_section(section),
            Value::String(name) if !name.trim().is_empty() => {
                ModelSection { model: Some(name.trim().to_owned()), ..ModelSection::default() }
            }
            _ => ModelSection::default(),
        };
        wish.model = self.env_variable("HERMES_MODEL").or(wish.model);
        wish.provider = wish.provider.or_else(|| self.env_variable("HERMES_INFERENCE_PROVIDER"));
        wish.provider = wish.provider.filter(|name| name != "auto");
        if wish.provider.is_none() && wish.base_url.is_none() {
            let Some(provider) = self.provider_with_key(wish.model.as_deref()) else {
                return self.keyless_endpoint(wish);
            };
            wish.provider = provider.names.first().map(|name| (*name).to_owned());
        }
        self.endpoint(wish).map(Some)
    }

    /// Returns the provider of the named model if it has a key, else the first
    /// with a key.
    fn provider_with_key(&self, model: Option<&str>) -> Option<&'static ModelProvider> {
        let keyed = || {
            KNOWN_PROVIDERS.iter().filter(|one| {
                one.is_autodetected && !self.keys_from_variables(one.key_variables).is_empty()
            })
        };
        let Some(model) = model else { return keyed().next() };
        let model = model.to_lowercase();
        let has =
            |one: &&ModelProvider| one.model_prefixes.iter().any(|start| model.starts_with(start));
        let is_router = |one: &&ModelProvider| one.names.contains(&"openrouter");
        if model.contains('/') {
            return keyed().find(is_router).or_else(|| keyed().next());
        }
        keyed().find(has).or_else(|| keyed().find(|one| !is_router(one))).or_else(|| keyed().next())
    }

    /// Returns an endpoint without a known key. A custom server needs none.
    fn keyless_endpoint(
        &self,
        mut wish: ModelSection<'a>,
    ) -> Result<Option<ModelEndpoint>, ModelError> {
        if let Some(address) = self.env_variable("OPENAI_BASE_URL") {
            wish.base_url = Some(address);
            return self.endpoint(wish).map(Some);
        }
        // A model without a server is searched for on this machine.
        Ok(None)
    }

    fn read_section(&self, section: &'a Map<String, Value>) -> ModelSection<'a> {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| section.get(*name)?.as_str());
            found.map(|text| self.expand_variables(text.trim())).filter(|text| !text.is_empty())
        };
        let mut keys: Vec<ApiKey> =
            text(&["api_key", "apiKey"]).iter().map(|key| ApiKey::new(key)).collect();
        let more = section.get("api_keys").and_then(Value::as_array).into_iter().flatten();
        keys.extend(
            more.filter_map(Value::as_str).map(|key| ApiKey::new(&self.expand_variables(key))),
        );
        let key_env = text(&["key_env", "api_key_env", "keyEnv", "apiKeyEnv"]);
        if let Some(name) = &key_env {
            keys.extend(self.keys_from_variables(&[name]));
        }
        let dialect = text(&["api_mode", "transport", "apiMode"]);
        ModelSection {
            provider: text(&["provider"]).map(|name| name.to_lowercase()),
            model: text(&["default", "model", "default_model", "name", "defaultModel"]),
            base_url: text(&["base_url", "url", "api", "baseUrl"]),
            keys,
            key_env,
            dialect: dialect.and_then(|name| ApiDialect::from_name(&name)),
            options: Some(section),
        }
    }

    /// Finds a custom provider by name.
    fn custom_provider(&self, name: &str) -> Option<&'a Map<String, Value>> {
        let name = name.strip_prefix("custom:").unwrap_or(name);
        let by_name = self.config["providers"].as_object().and_then(|all| {
            all.iter()
                .find(|(key, _)| key.to_lowercase() == name)
                .and_then(|(_, one)| one.as_object())
        });
        by_name.or_else(|| {
            let all = self.config["custom_providers"].as_array()?;
            let is_it =
                |one: &&Value| one["name"].as_str().is_some_and(|own| own.to_lowercase() == name);
            all.iter().find(is_it)?.as_object()
        })
    }

    fn endpoint(&self, wish: ModelSection<'a>) -> Result<ModelEndpoint, ModelError> {
        let name = wish.provider.clone().unwrap_or_default();
        let own = self.custom_provider(&name);
        let behind = own.map(|section| {
            let wish = self.read_section(section);
            // `name` in this section names the server, not the model.
            let model = section.get("default_model").or(section.get("model"));
            let model = model.and_then(Value::as_str).map(str::to_owned);
            ModelSection { model, ..wish }
        });
        let known = if own.is_some() { None } else { ModelProvider::by_name(&name) };
        if own.is_none() && known.is_none() && wish.base_url.is_none() {
            return Err(naming::unknown_provider_error(self.config, &name));
        }
        let behind = behind.unwrap_or_default();
        let address = known.and_then(|known| self.env_variable(known.url_variable));
        let base_url = wish.base_url.or(behind.base_url).or(address);
        let base_url = base_url.or_else(|| known.map(|known| known.base_url.to_owned()));
        let Some(base_url) = base_url else {
            return Err(ModelError::new(
                ModelErrorKind::Request,
                format!("provider `{name}` has no base_url"),
            )
            .with_hint(format!("set `providers.{name}.base_url` in config.yaml")));
        };
        // A custom base URL may use another dialect than the provider's own.
        let is_own_address = known.is_some_and(|known| known.base_url == base_url);
        let dialect = match (wish.dialect.or(behind.dialect), known) {
            (Some(dialect), _) => dialect,
            (None, Some(known)) if is_own_address || known.dialect != ApiDialect::Chat => {
                known.dialect
            }
            _ => ApiDialect::from_url(&base_url),
        };
        let model = wish.model.or(behind.model);
        let model = model.or_else(|| known.map(|known| known.model.to_owned())).unwrap_or_default();
        let mut endpoint = ModelEndpoint::new(dialect, base_url, model);
        endpoint.provider = if name.is_empty() { url_host(&endpoint.base_url) } else { name };
        endpoint.keys = wish.keys;
        if endpoint.keys.is_empty() {
            endpoint.keys = behind.keys;
        }
        if endpoint.keys.is_empty() {
            endpoint.keys = self.keys_for(&endpoint, known);
        }
        for section in [behind.options, wish.options].into_iter().flatten() {
            apply_options(&mut endpoint, section);
        }
        check_key(&endpoint, known, wish.key_env.or(behind.key_env).as_deref())?;
        Ok(endpoint)
    }

    /// Returns keys from the environment, only those meant for this server.
    fn keys_for(&self, endpoint: &ModelEndpoint, known: Option<&ModelProvider>) -> Vec<ApiKey> {
        let here = url_host(&endpoint.base_url);
        let of_host = || {
            KNOWN_PROVIDERS.iter().find(|one| !here.is_empty() && url_host(one.base_url) == here)
        };
        let by_hand =
            self.env_variable("OPENAI_BASE_URL").is_some_and(|url| url == endpoint.base_url);
        match known {
            Some(known) => self.keys_from_variables(known.key_variables),
            None if by_hand || endpoint.provider == "custom" => {
                self.keys_from_variables(&["OPENAI_API_KEY"])
            }
            None if is_local_url(&endpoint.base_url) => Vec::new(),
            None => {
                of_host().map(|one| self.keys_from_variables(one.key_variables)).unwrap_or_default()
            }
        }
    }

    /// Returns the comma-separated keys of the first variable that is set.
    fn keys_from_variables(&self, names: &[&str]) -> Vec<ApiKey> {
        let text = names.iter().find_map(|name| self.env_variable(name)).unwrap_or_default();
        text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(ApiKey::new).collect()
    }

    fn env_variable(&self, name: &str) -> Option<String> {
        (self.env)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Expands `${NAME}` to the variable's value.
    fn expand_variables(&self, text: &str) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, (name, after))) =
            rest.split_once("${").and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            whole.push_str(before);
            whole.push_str(&self.env_variable(name).unwrap_or_default());
            rest = after;
        }
        whole + rest
    }
}

fn apply_options(endpoint: &mut ModelEndpoint, section: &Map<String, Value>) {
    let count = |name: &str| section.get(name).and_then(Value::as_u64).filter(|n| *n > 0);
    endpoint.window = count("context_length").or(endpoint.window);
    endpoint.max_tokens = count("max_tokens").or(endpoint.max_tokens);
    endpoint.idle_timeout = count("patience").map(Duration::from_secs).or(endpoint.idle_timeout);
    if let Some(Value::Object(headers)) = section.get("extra_headers") {
        let pairs = headers.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        endpoint.headers.extend(pairs.map(|(name, value)| (name.clone(), value.to_owned())));
    }
    if let Some(Value::Object(extra)) = section.get("extra_body") {
        endpoint.extra.extend(extra.clone());
    }
    if let Some(prices) = section.get("prices").filter(|prices| prices.is_object()) {
        let price = |name: &str| prices[name].as_f64().filter(|price| *price >= 0.0);
        endpoint.prices = Some(TokenPrices {
            input: price("input").unwrap_or_default(),
            output: price("output").unwrap_or_default(),
            cache_read: price("cache_read"),
            cache_write: price("cache_write"),
        });
    }
}

/// Fails early if a provider requires a key and has none.
fn check_key(
    endpoint: &ModelEndpoint,
    known: Option<&ModelProvider>,
    key_env: Option<&str>,
) -> Result<(), ModelError> {
    if !endpoint.keys.is_empty() {
        return Ok(());
    }
    // A provider at a custom address may need no key, nor does a local server,
    // unless the configuration names a key variable.
    let known = known.filter(|known| endpoint.base_url == known.base_url);
    let known = known.filter(|_| !is_local_url(&endpoint.base_url));
    let usual = || known.and_then(|known| known.key_variables.first().copied());
    let Some(variable) = key_env.or_else(usual) else { return Ok(()) };
    let message = format!("no API key for {}", endpoint.provider);
    Err(ModelError::new(ModelErrorKind::Authentication, message)
        .with_hint(format!("set {variable} in the environment or in .env")))
}

fn url_host(url: &str) -> String {
    Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

fn is_local_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_loopback(&url))
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
