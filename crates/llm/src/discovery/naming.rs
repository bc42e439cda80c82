//! Parsing of `PROVIDER:MODEL` names, where the colon may be part of the model.

use serde_json::Value;

use super::EnvLookup;
use super::providers::{KNOWN_PROVIDERS, ModelProvider};
use super::settings::configured_endpoints;
use crate::model_error::{ModelError, ModelErrorKind};

/// Tags that Ollama and OpenRouter append to a model's name after a colon.
const MODEL_TAGS: [&str; 15] = [
    "latest", "text", "chat", "code", "instruct", "base", "vision", "cloud", "preview", "free",
    "beta", "thinking", "extended", "nitro", "online",
];
/// The port of Ollama, whose model names contain a colon.
const OLLAMA_PORT: &str = ":11434";

/// Splits a name into the provider, if it has one, and the model. An error if
/// the prefix can only be a provider and is unknown.
///
/// `config` is the whole configuration.
pub fn split_provider<'a>(
    config: &Value,
    env: EnvLookup<'_>,
    wanted: &'a str,
) -> Result<(Option<String>, &'a str), ModelError> {
    let wanted = wanted.trim();
    let Some((prefix, rest)) = wanted.split_once(':') else { return Ok((None, wanted)) };
    let name = prefix.to_lowercase();
    // A model family may share its vendor's name: `mistral:7b`.
    let is_maker = ModelProvider::by_name(&name).is_some() && !is_custom_provider(config, &name);
    if is_known_provider(config, &name) && !(is_maker && is_parameter_count(rest)) {
        return Ok((Some(name), rest));
    }
    // `custom:NAME:MODEL`, as in the configuration.
    if let Some((own, model)) = rest.split_once(':').filter(|_| name == "custom")
        && is_custom_provider(config, &own.to_lowercase())
    {
        return Ok((Some(own.to_lowercase()), model));
    }
    let is_usual = config["model"] == wanted || config["model"]["default"] == wanted;
    if is_usual || is_model_name(prefix, rest) || uses_colon_names(config, env) {
        return Ok((None, wanted));
    }
    Err(unknown_provider_error(config, prefix))
}

/// Builds the error for an unknown provider.
pub(super) fn unknown_provider_error(config: &Value, name: &str) -> ModelError {
    let own = custom_provider_names(config);
    let usual =
        KNOWN_PROVIDERS.iter().filter_map(|one| one.names.first()).map(|name| (*name).to_owned());
    let mut names: Vec<String> = own.into_iter().chain(usual).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    ModelError::new(ModelErrorKind::ModelUnavailable, format!("unknown provider `{name}`"))
        .with_hint(format!(
            "known providers: {}; or set `model.base_url`, or add the provider under `providers` \
         in config.yaml",
            names.join(", ")
        ))
}

fn is_known_provider(config: &Value, name: &str) -> bool {
    ModelProvider::by_name(name).is_some()
        || is_custom_provider(config, name)
        || ["delegation", "moa"].iter().any(|section| names_provider(&config[*section], name))
        || config["model"]["provider"].as_str().is_some_and(|own| own.to_lowercase() == name)
}

/// Whether the settings name this provider at any depth.
fn names_provider(settings: &Value, name: &str) -> bool {
    match settings {
        Value::Object(fields) => {
            let own = fields.get("provider").and_then(Value::as_str);
            own.is_some_and(|own| own.trim().to_lowercase() == name)
                || fields.values().any(|field| names_provider(field, name))
        }
        Value::Array(items) => items.iter().any(|item| names_provider(item, name)),
        _ => false,
    }
}

fn is_custom_provider(config: &Value, name: &str) -> bool {
    custom_provider_names(config).iter().any(|own| own == name)
}

/// Returns the names of the configured custom providers.
fn custom_provider_names(config: &Value) -> Vec<String> {
    let named =
        config["providers"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let listed = config["custom_providers"].as_array().into_iter().flatten();
    named.chain(listed.filter_map(|one| one["name"].as_str())).map(str::to_lowercase).collect()
}

/// Whether prefix and rest together form a model's name: `llama3:8b`,
/// `org/model:free`, `ft:gpt-4o:team::id`.
fn is_model_name(prefix: &str, rest: &str) -> bool {
    let word = rest.split(['-', '_']).next().unwrap_or_default().to_lowercase();
    prefix.contains('/')
        || prefix.contains(|c: char| c.is_ascii_digit())
        || prefix == "ft"
        || MODEL_TAGS.contains(&word.as_str())
        || is_size_tag(&word)
}

/// Whether this is a parameter count or tag, never a model's name: `8b`,
/// `8x7b-instruct`, `latest`.
fn is_parameter_count(rest: &str) -> bool {
    let word = rest.split(['-', '_']).next().unwrap_or_default().to_lowercase();
    let digits = word.strip_suffix(['b', 'm']).unwrap_or_default();
    let is_count = |c: char| c.is_ascii_digit() || c == '.' || c == 'x';
    rest == "latest" || !digits.is_empty() && digits.chars().all(is_count)
}

/// Whether this is a size or version tag: `8b`, `8x7b`, `1.5b`, `e2b`, `q4`,
/// `v2`.
fn is_size_tag(word: &str) -> bool {
    let digits = word.strip_prefix(['e', 'q', 'v']).unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('/')
}

/// Whether model names of the default server contain colons. Without a
/// configured server, the default is a local one.
fn uses_colon_names(config: &Value, env: EnvLookup<'_>) -> bool {
    let model = &config["model"];
    let provider = model["provider"].as_str().unwrap_or_default();
    let address = model["base_url"].as_str().unwrap_or_default();
    provider.eq_ignore_ascii_case("ollama")
        || address.contains(OLLAMA_PORT)
        || configured_endpoints(config, env).is_ok_and(|found| found.is_empty())
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
