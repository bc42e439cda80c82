#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn config() -> Value {
    json!({
        "model": {"default": "mine:dev", "base_url": "https://llm.example/v1"},
        "providers": {"Work": {"base_url": "https://work.example/v1"}},
        "custom_providers": [{"name": "Old", "url": "https://old.example/v1"}],
    })
}

fn apart<'a>(config: &Value, wanted: &'a str) -> Result<(Option<String>, &'a str), ModelError> {
    super::split_provider(config, &|_| None, wanted)
}

#[test]
fn a_known_provider_before_the_colon_is_one() {
    for (wanted, provider, model) in [
        ("openrouter:deepseek/deepseek-chat:free", "openrouter", "deepseek/deepseek-chat:free"),
        ("Anthropic:claude-opus-4-5", "anthropic", "claude-opus-4-5"),
        ("ollama:llama3:8b", "ollama", "llama3:8b"),
        ("work:m", "work", "m"),
        ("Old:m", "old", "m"),
        ("custom:old:m", "old", "m"),
        ("openai:", "openai", ""),
    ] {
        assert_eq!(apart(&config(), wanted).unwrap(), (Some(provider.to_owned()), model));
    }
}

#[test]
fn a_models_own_colon_stays_in_its_name() {
    for wanted in [
        "gpt-5.1",
        "llama3:8b",
        "qwen:0.5b",
        "mistral:latest",
        "mistral:7b-instruct-q4_K_M",
        "mixtral:8x7b",
        "gemma:latest",
        "gemma3n:e2b",
        "codellama:code",
        "phi:q4_0",
        "org/model:free",
        "org/model:whatever",
        "anthropic.claude-3-5-sonnet-v2:0",
        "ft:gpt-4o:team::id",
        "mine:dev",
    ] {
        assert_eq!(apart(&config(), wanted).unwrap(), (None, wanted));
    }
}

#[test]
fn an_unknown_provider_is_an_error_that_names_the_known_ones() {
    for wanted in [
        "nosuch:foo",
        "nosuch:gpt-5.1",
        "nosuch:o3-mini",
        "nosuch:claude-opus-4-5",
        "nosuch:org/model-7b",
    ] {
        let fault = apart(&config(), wanted).unwrap_err();
        assert_eq!(fault.kind, ModelErrorKind::ModelUnavailable);
        assert!(fault.message.contains("`nosuch`"), "{fault}");
        let hint = fault.hint.unwrap();
        for known in ["work", "old", "openrouter", "ollama"] {
            assert!(hint.contains(known), "{hint}");
        }
    }
}

#[test]
fn a_provider_that_only_the_settings_of_sub_agents_name_is_meant_as_one() {
    let mut config = config();
    config["delegation"] = json!({"provider": "Lab2", "model": "m"});
    config["moa"] = json!({"reference_models": [{"provider": "lab3", "model": "m"}]});
    for (wanted, provider) in [("Lab2:m", "lab2"), ("lab3:8b", "lab3")] {
        assert_eq!(apart(&config, wanted).unwrap().0.as_deref(), Some(provider));
    }
}

#[test]
fn a_server_whose_models_have_colons_gets_them_all() {
    for model in [
        json!({"provider": "ollama"}),
        json!({"base_url": "http://127.0.0.1:11434/v1", "default": "x"}),
        json!({}),
    ] {
        let config = json!({"model": model});
        assert_eq!(apart(&config, "mine:dev").unwrap(), (None, "mine:dev"));
    }
}
