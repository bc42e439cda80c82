#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn read(config: Value, env: &[(&str, &str)]) -> Result<Vec<ModelEndpoint>, ModelError> {
    let env: Vec<(String, String)> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    configured_endpoints(&config, &|name: &str| {
        env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    })
}

fn one(config: Value, env: &[(&str, &str)]) -> ModelEndpoint {
    read(config, env).unwrap().remove(0)
}

#[test]
fn nothing_is_set_up() {
    assert!(read(json!({}), &[]).unwrap().is_empty());
    assert!(read(json!({"model": ""}), &[]).unwrap().is_empty());
    assert!(read(json!({"model": {"provider": "auto"}, "providers": {}}), &[]).unwrap().is_empty());
}

#[test]
fn a_key_is_enough() {
    let cases = [
        ("OPENROUTER_API_KEY", "openrouter", ApiDialect::Chat),
        ("ANTHROPIC_API_KEY", "anthropic", ApiDialect::Anthropic),
        ("OPENAI_API_KEY", "openai", ApiDialect::Chat),
        ("GOOGLE_API_KEY", "gemini", ApiDialect::Gemini),
    ];
    for (variable, provider, dialect) in cases {
        let endpoint = one(json!({}), &[(variable, " k1, k2 ")]);
        assert_eq!((endpoint.provider.as_str(), endpoint.dialect), (provider, dialect));
        assert_eq!(endpoint.keys, [ApiKey::new("k1"), ApiKey::new("k2")]);
        assert!(!endpoint.model.is_empty());
    }
}

#[test]
fn a_name_finds_whoever_has_it() {
    let keys = [("OPENROUTER_API_KEY", "r"), ("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "o")];
    for (model, provider) in [
        ("claude-opus-4-6", "anthropic"),
        ("gpt-5.1", "openai"),
        ("anthropic/claude-opus-4.6", "openrouter"),
    ] {
        let endpoint = one(json!({"model": model}), &keys);
        assert_eq!((endpoint.provider.as_str(), endpoint.model.as_str()), (provider, model));
    }
    let endpoint = one(json!({"model": {"default": "claude-x"}}), &[("OPENROUTER_API_KEY", "r")]);
    assert_eq!(endpoint.provider, "openrouter");
    let endpoint = one(json!({"model": "a"}), &[("OPENAI_API_KEY", "o"), ("HERMES_MODEL", "b")]);
    assert_eq!(endpoint.model, "b");
}

#[test]
fn a_server_of_ones_own() {
    let config = json!({"model": {
        "default": "m", "base_url": "http://127.0.0.1:9/v1", "context_length": 4096, "max_tokens": 100,
        "prices": {"input": 1, "output": 2.5},
    }});
    let endpoint = one(config, &[("OPENAI_API_KEY", "secret")]);
    assert_eq!((endpoint.window, endpoint.max_tokens), (Some(4096), Some(100)));
    assert_eq!(endpoint.prices.unwrap().output, 2.5);
    // Nobody said that this key is for that server.
    assert!(endpoint.keys.is_empty());

    let env = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "mine")];
    let endpoint = one(json!({}), &env);
    assert_eq!((endpoint.base_url.as_str(), endpoint.keys.len()), ("http://127.0.0.1:9/v1", 1));
    let endpoint = one(json!({}), &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")]);
    assert!(endpoint.keys.is_empty() && endpoint.model.is_empty());
}

#[test]
fn named_servers() {
    let config = json!({
        "model": {"default": "m", "provider": "work"},
        "providers": {"Work": {
            "base_url": "https://llm.example/anthropic", "key_env": "WORK_KEY", "extra_headers": {"x-team": "a"},
            "extra_body": {"top_k": 1}, "default_model": "other",
        }},
    });
    let endpoint = one(config.clone(), &[("WORK_KEY", "w")]);
    assert_eq!((endpoint.dialect, endpoint.model.as_str()), (ApiDialect::Anthropic, "m"));
    assert_eq!(endpoint.keys, [ApiKey::new("w")]);
    assert_eq!(endpoint.headers, [("x-team".to_owned(), "a".to_owned())]);
    assert_eq!(endpoint.extra["top_k"], 1);

    let config = json!({
        "model": {"provider": "custom:old"},
        "custom_providers": [{"name": "Old", "url": "https://old.example/v1", "model": "x",
            "api_key": "${OLD}", "api_mode": "codex_responses"}],
    });
    let endpoint = one(config, &[("OLD", "k")]);
    assert_eq!((endpoint.dialect, endpoint.model.as_str()), (ApiDialect::Responses, "x"));
    assert_eq!(endpoint.keys, [ApiKey::new("k")]);
}

#[test]
fn what_to_ask_when_that_fails() {
    let config = json!({
        "model": {"default": "a", "provider": "openrouter"},
        "fallback_providers": [
            {"provider": "openrouter", "model": "b"},
            {"provider": "anthropic", "model": "c"},
            {"provider": "ollama", "model": "d"},
            {"provider": "openrouter", "model": "b"},
            {"provider": "openrouter"},
        ],
        "fallback_model": {"provider": "custom", "model": "e", "base_url": "http://localhost:1/v1"},
    });
    let endpoints = read(config, &[("OPENROUTER_API_KEY", "k")]).unwrap();
    let models: Vec<_> = endpoints.iter().map(|one| one.model.as_str()).collect();
    assert_eq!(models, ["a", "b", "d", "e"]);
}

#[test]
fn what_is_missing_is_said() {
    let fault = read(json!({"model": {"provider": "anthropic"}}), &[]).unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Authentication);
    assert!(fault.hint.unwrap().contains("ANTHROPIC_API_KEY"));
    let fault = read(json!({"model": {"provider": "nobody"}}), &[]).unwrap_err();
    assert!(fault.message.contains("nobody"));
    let config = json!({"model": {"provider": "w"}, "providers": {"w": {"model": "x"}}});
    assert!(read(config, &[]).unwrap_err().message.contains("base_url"));
}

#[test]
fn a_variable_for_the_key_that_is_not_set_is_told_of() {
    for url in ["https://models.example/v1", "http://127.0.0.1:9/v1"] {
        let config = json!({"model": {"default": "m", "base_url": url, "key_env": "WORK_KEY"}});
        let fault = read(config.clone(), &[]).unwrap_err();
        assert_eq!(fault.kind, ModelErrorKind::Authentication);
        assert!(fault.hint.unwrap().contains("WORK_KEY"));
        assert_eq!(one(config, &[("WORK_KEY", "k")]).keys, [ApiKey::new("k")]);
    }
    let behind = json!({
        "model": {"default": "m", "provider": "work"},
        "providers": {"work": {"base_url": "https://models.example/v1", "key_env": "WORK_KEY"}},
    });
    assert_eq!(read(behind, &[]).unwrap_err().kind, ModelErrorKind::Authentication);
}

#[test]
fn how_long_a_model_may_be_silent() {
    let config =
        json!({"model": {"default": "m", "base_url": "http://127.0.0.1:9", "patience": 7}});
    assert_eq!(one(config, &[]).idle_timeout, Some(Duration::from_secs(7)));
}
