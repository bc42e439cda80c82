//! Finding a model, and how long its conversations may be.

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_llm::discovery::{DiscoveredModel, LocalServer, discover_model};
use hermes_llm::{HttpClients, ModelError, ModelErrorKind, RetrySettings};
use hermes_testkit::models::{ModelServer, ScriptedReply, ServerScript};
use serde_json::{Value, json};

use crate::desk::ask;

fn server(pages: &[(&str, Value)]) -> ModelServer {
    let pages: BTreeMap<String, Value> =
        pages.iter().map(|(path, page)| ((*path).to_owned(), page.clone())).collect();
    ModelServer::start(ServerScript { scenes: vec![ScriptedReply::says("Here.").again()], pages })
}

async fn look(
    config: Value,
    env: &[(&str, &str)],
    ports: &[LocalServer],
) -> Result<DiscoveredModel, ModelError> {
    let env: BTreeMap<String, String> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let http = Arc::new(HttpClients::default());
    let lookup = |name: &str| env.get(name).cloned();
    discover_model(&http, &config, &lookup, ports, RetrySettings::default(), Arc::new(|_| {})).await
}

/// A port that nobody listens on.
fn closed() -> u16 {
    ModelServer::start([]).port()
}

#[tokio::test]
async fn with_nothing_set_up_a_server_on_this_machine_is_found() {
    let models = json!({"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen"}]});
    let props = json!({"default_generation_settings": {"n_ctx": 2048}});
    let here = server(&[("/v1/models", models), ("/props", props)]);
    let other = server(&[("/v1/models", json!({"hello": "I am no model server"}))]);
    let ports = [
        LocalServer { name: "ollama", port: closed() },
        LocalServer { name: "vllm", port: other.port() },
        LocalServer { name: "llama.cpp", port: here.port() },
    ];
    let found = look(json!({}), &[], &ports).await.unwrap();
    assert_eq!((found.model.name(), found.model.window()), ("qwen", Some(2048)));
    assert!(found.source.contains("llama.cpp"), "{}", found.source);
    assert_eq!(found.model.reply(&ask("Hi")).await.unwrap().text, "Here.");
}

#[tokio::test]
async fn with_nothing_at_all_three_lines_say_how() {
    let fault =
        look(json!({}), &[], &[LocalServer { name: "ollama", port: closed() }]).await.unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::ModelUnavailable);
    let hint = fault.hint.unwrap();
    assert_eq!(hint.lines().count(), 3);
    assert!(hint.contains("OPENROUTER_API_KEY") && hint.contains("ollama"));
}

#[tokio::test]
async fn a_silent_port_costs_no_more_than_the_others() {
    // It takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let here = server(&[("/v1/models", json!({"data": [{"id": "m"}]}))]);
    let ports =
        [LocalServer { name: "vllm", port }, LocalServer { name: "lmstudio", port: here.port() }];
    assert_eq!(look(json!({}), &[], &ports).await.unwrap().model.name(), "m");
}

#[tokio::test]
async fn a_server_without_a_named_model_is_asked_for_one() {
    let here = server(&[("/v1/models", json!({"data": [{"id": "m", "max_model_len": 512}]}))]);
    let found = look(json!({}), &[("OPENAI_BASE_URL", &here.url())], &[]).await.unwrap();
    assert_eq!((found.model.name(), found.model.window()), ("m", Some(512)));
    let nothing = server(&[]);
    let fault = look(json!({}), &[("OPENAI_BASE_URL", &nothing.url())], &[]).await.unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::ModelUnavailable);
}

#[tokio::test]
async fn windows_as_servers_tell_them() {
    let list = |entry: Value| ("/v1/models", json!({"data": [entry]}));
    let cases = [
        (vec![list(json!({"id": "m", "context_length": 11}))], 11),
        (vec![list(json!({"id": "m", "meta": {"n_ctx_train": 12}}))], 12),
        (vec![("/api/ps", json!({"models": [{"name": "m", "context_length": 13}]}))], 13),
        (
            vec![(
                "/api/show",
                json!({"parameters": "stop \"x\"\nnum_ctx   14", "model_info": {"a.context_length": 99}}),
            )],
            14,
        ),
        (vec![("/api/show", json!({"model_info": {"qwen2.context_length": 15}}))], 15),
        // What it was made for is not what it gets.
        (vec![("/api/show", json!({"model_info": {"qwen2.context_length": 131_072}}))], 4_096),
        (
            vec![(
                "/api/v0/models",
                json!({"data": [{"id": "m", "loaded_context_length": 16, "max_context_length": 99}]}),
            )],
            16,
        ),
    ];
    for (pages, expected) in cases {
        let here = server(&pages);
        let config = json!({"model": {"default": "m", "base_url": here.url()}});
        let found = look(config, &[], &[]).await.unwrap();
        assert_eq!(found.model.window(), Some(expected), "{pages:?}");
    }
    let here = server(&[list(json!({"id": "m", "context_length": 11}))]);
    let config = json!({"model": {"default": "m", "base_url": here.url(), "context_length": 7}});
    assert_eq!(look(config, &[], &[]).await.unwrap().model.window(), Some(7));
    assert!(here.requests().is_empty());
}

#[tokio::test]
async fn a_model_that_has_answered_is_asked_about_again() {
    let loaded = json!({"models": [{"name": "scripted", "context_length": 32_768}]});
    let here = server(&[("/api/ps", loaded)]);
    let mut endpoint = crate::desk::endpoint(&here, hermes_llm::ApiDialect::Chat);
    (endpoint.window, endpoint.is_window_guessed) = (Some(4_096), true);
    let model = crate::desk::of(endpoint);
    assert_eq!(model.window(), Some(4_096));
    for _ in 0..2 {
        model.reply(&ask("Hi")).await.unwrap();
        assert_eq!(model.window(), Some(32_768));
    }
    let asked = here.requests().iter().filter(|asked| asked.path.ends_with("/api/ps")).count();
    assert_eq!(asked, 1);
}
