//! What can go wrong, and that it is told apart.

use std::collections::BTreeMap;
use std::time::Duration;

use hermes_llm::{
    ApiDialect, ApiKey, FinishReason, ModelErrorKind, ModelRequest, ReplyBuilder, ReplyEvent,
};
use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use serde_json::json;

use crate::desk::{DIALECTS, ask, endpoint, events, model, of, with_tools};

#[tokio::test]
async fn a_stream_that_breaks_in_a_call_is_no_finished_one() {
    for dialect in DIALECTS {
        for end in [ReplyStep::Cut, ReplyStep::End] {
            let half = ReplyStep::Call {
                id: "a".into(),
                name: "read_file".into(),
                arguments: r#"{"path":"x"#.into(),
                pieces: 2,
            };
            let shown = format!("{dialect:?} {end:?}");
            let server = ModelServer::start([ScriptedReply::from_steps([
                ReplyStep::Text("I".into()),
                half,
                end,
            ])]);
            let (events, fault) = events(&*model(&server, dialect), &with_tools(ask("Hi"))).await;
            let fault = fault.unwrap();
            assert_eq!(
                (fault.kind, fault.is_mid_reply),
                (ModelErrorKind::Network, true),
                "{shown}"
            );
            let mut gathering = ReplyBuilder::default();
            events.iter().for_each(|event| gathering.add(event));
            let reply = gathering.finish();
            assert_eq!((reply.finish, reply.calls.len()), (FinishReason::Broken, 1), "{shown}");
        }
    }
}

#[tokio::test]
async fn statuses_headers_and_bodies() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let tools = json!({"error": {"message": "x does not support tools"}});
    let cases = [
        (401, json!({"error": {"message": "no"}}), ModelErrorKind::Authentication),
        (429, json!({"error": {"type": "insufficient_quota"}}), ModelErrorKind::Quota),
        (529, overloaded, ModelErrorKind::Overloaded),
        (
            400,
            json!({"error": {"code": "context_length_exceeded"}}),
            ModelErrorKind::ContextTooLong,
        ),
        (
            404,
            json!({"error": {"message": "model 'x' not found"}}),
            ModelErrorKind::ModelUnavailable,
        ),
        (400, tools, ModelErrorKind::NoTools),
        (500, json!("oops"), ModelErrorKind::Server),
    ];
    for dialect in DIALECTS {
        for (code, body, expected) in &cases {
            let server = ModelServer::start([ScriptedReply::fails(*code, body.clone())]);
            let fault = model(&server, dialect).reply(&ask("Hi")).await.unwrap_err();
            assert_eq!(
                (fault.kind, fault.is_mid_reply),
                (*expected, false),
                "{dialect:?} {code} {body}"
            );
        }
    }
    let server = ModelServer::start([ScriptedReply::busy(429, "7")]);
    let fault = model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.unwrap_err();
    assert_eq!(
        (fault.kind, fault.retry_after),
        (ModelErrorKind::RateLimited, Some(Duration::from_secs(7)))
    );
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer() {
    for (dialect, error) in [
        (ApiDialect::Chat, json!({"error": {"code": 503, "message": "gone"}})),
        (
            ApiDialect::Responses,
            json!({"type": "response.failed", "response": {"error": {"code": "server_overloaded", "message": "gone"}}}),
        ),
        (
            ApiDialect::Anthropic,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "gone"}}),
        ),
        (
            ApiDialect::Gemini,
            json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "gone"}}),
        ),
    ] {
        for is_late in [true, false] {
            let mut steps = vec![ReplyStep::Fail(error.clone())];
            if is_late {
                steps.insert(0, ReplyStep::Text("A".into()));
            }
            let server = ModelServer::start([ScriptedReply::from_steps(steps)]);
            let (_, fault) = events(&*model(&server, dialect), &ask("Hi")).await;
            let fault = fault.unwrap();
            assert_eq!(
                (fault.kind, fault.is_mid_reply),
                (ModelErrorKind::Overloaded, is_late),
                "{dialect:?}"
            );
            assert!(fault.message.contains("gone"));
        }
    }
}

#[tokio::test]
async fn silence_before_and_in_an_answer() {
    for steps in [vec![ReplyStep::Text("A".into()), ReplyStep::Hang], vec![ReplyStep::Wait(60_000)]]
    {
        let server = ModelServer::start([ScriptedReply::from_steps(steps)]);
        let request = ModelRequest { idle_timeout: Some(Duration::from_millis(300)), ..ask("Hi") };
        let fault = model(&server, ApiDialect::Chat).reply(&request).await.unwrap_err();
        assert_eq!(fault.kind, ModelErrorKind::Timeout);
    }
}

#[tokio::test]
async fn slow_but_not_silent() {
    let mut steps = Vec::new();
    for _ in 0..10 {
        steps.extend([ReplyStep::Wait(50), ReplyStep::Text("a".into())]);
    }
    let server = ModelServer::start([ScriptedReply::from_steps(steps)]);
    // Longer than any pause, shorter than the whole.
    let request = ModelRequest { idle_timeout: Some(Duration::from_millis(400)), ..ask("Hi") };
    assert_eq!(model(&server, ApiDialect::Chat).reply(&request).await.unwrap().text.len(), 10);
}

#[tokio::test]
async fn nobody_there() {
    let server = ModelServer::start([]);
    let endpoint = endpoint(&server, ApiDialect::Chat);
    drop(server);
    let fault = of(endpoint).reply(&ask("Hi")).await.unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Network);
    assert!(fault.message.starts_with("cannot connect to 127.0.0.1:"), "{fault}");
    assert!(fault.hint.is_some());
}

#[tokio::test]
async fn a_disconnect_before_the_first_byte() {
    let server = ModelServer::start([ScriptedReply::from_steps([ReplyStep::Cut])]);
    let fault = model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.unwrap_err();
    assert_eq!((fault.kind, fault.is_mid_reply), (ModelErrorKind::Network, false));
}

#[tokio::test]
async fn what_is_no_answer() {
    let headers =
        BTreeMap::from([("content-type".to_owned(), "text/html; charset=utf-8".to_owned())]);
    let page = ReplyStep::Status { code: 200, headers, body: json!("<html>A page.</html>") };
    let page = ScriptedReply::from_steps([page]);
    let server = ModelServer::start([page, ScriptedReply::fails(200, json!({"hello": 1}))]);
    let model = model(&server, ApiDialect::Chat);
    assert_eq!(model.reply(&ask("Hi")).await.unwrap_err().kind, ModelErrorKind::Protocol);
    assert_eq!(model.reply(&ask("Hi")).await.unwrap_err().kind, ModelErrorKind::Protocol);
    let server = ModelServer::start([ScriptedReply::from_steps([ReplyStep::Raw(
        "data: {nonsense\n\n".into(),
    )])]);
    let fault = crate::desk::model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Protocol);
}

/// A key goes to no other server, whatever the first one says.
#[tokio::test]
async fn redirects_are_not_followed() {
    let other = ModelServer::start([ScriptedReply::says("Stolen.")]);
    let headers =
        BTreeMap::from([("location".to_owned(), format!("{}/chat/completions", other.url()))]);
    let moved =
        ScriptedReply::from_steps([ReplyStep::Status { code: 307, headers, body: json!(null) }]);
    let server = ModelServer::start([moved]);
    let fault = model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Request);
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn an_end_without_the_last_word_of_the_protocol() {
    // The reason came, the end mark did not: nothing is missing.
    let reason = json!({"choices": [{"delta": {"content": "A"}, "finish_reason": "stop"}]});
    for end in [ReplyStep::End, ReplyStep::Cut] {
        let server = ModelServer::start([ScriptedReply::from_steps([
            ReplyStep::Raw(format!("data: {reason}\n\n")),
            end,
        ])]);
        let reply = model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("A", FinishReason::Stop));
    }
    let done = ReplyStep::Raw(
        "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\ndata: [DONE]\n\n".into(),
    );
    let server = ModelServer::start([ScriptedReply::from_steps([done, ReplyStep::End])]);
    let (events, fault) = events(&*model(&server, ApiDialect::Chat), &ask("Hi")).await;
    assert!(fault.is_none());
    assert_eq!(events.last(), Some(&ReplyEvent::Finish(FinishReason::Stop)));
}

#[tokio::test]
async fn a_key_that_a_server_repeats_is_not_told() {
    let said = "Incorrect API key provided: Bearer sk-secret-123456";
    for scene in [
        ScriptedReply::fails(401, json!({"error": {"message": said}})),
        ScriptedReply::from_steps([ReplyStep::Fail(json!({"error": {"message": said}}))]),
    ] {
        let server = ModelServer::start([scene]);
        let mut endpoint = endpoint(&server, ApiDialect::Chat);
        endpoint.keys = vec![ApiKey::new("sk-secret-123456")];
        let (_, fault) = events(&*of(endpoint), &ask("Hi")).await;
        let message = fault.unwrap().message;
        assert!(message.contains("Incorrect API key") && !message.contains("secret"), "{message}");
    }
}

#[tokio::test]
async fn a_parameter_that_a_server_refuses_is_not_sent_again() {
    let refused = |parameter: &str, instead: &str| {
        let message = format!("Unsupported parameter: '{parameter}' is not supported. {instead}");
        ScriptedReply::fails(400, json!({"error": {"message": message, "param": parameter}}))
    };
    let server = ModelServer::start([
        refused("max_tokens", "Use 'max_completion_tokens' instead."),
        refused("stream_options", ""),
        ScriptedReply::says("One."),
        ScriptedReply::says("Two."),
    ]);
    let model = model(&server, ApiDialect::Chat);
    let request = ModelRequest { max_tokens: Some(9), ..ask("Hi") };
    assert_eq!(model.reply(&request).await.unwrap().text, "One.");
    assert_eq!(model.reply(&request).await.unwrap().text, "Two.");
    let asked = server.model_requests();
    assert_eq!(asked.len(), 4);
    for body in &asked[2..] {
        assert_eq!(body["max_completion_tokens"], 9);
        assert!(body.get("max_tokens").is_none() && body.get("stream_options").is_none());
    }

    let server = ModelServer::start([refused("include", ""), ScriptedReply::says("Three.")]);
    let reply = crate::desk::model(&server, ApiDialect::Responses).reply(&ask("Hi")).await;
    assert_eq!(reply.unwrap().text, "Three.");
    assert!(server.model_requests()[1].get("include").is_none());

    // What cannot be left out stays a fault.
    let server = ModelServer::start([refused("model", "")]);
    assert!(crate::desk::model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.is_err());
}

#[tokio::test]
async fn parameters_that_models_are_known_for() {
    for (dialect, name, key, is_sent) in [
        (ApiDialect::Chat, "gpt-5-mini", "max_completion_tokens", true),
        (ApiDialect::Chat, "openai/o3", "max_completion_tokens", true),
        (ApiDialect::Chat, "llama-3", "max_tokens", true),
        (ApiDialect::Chat, "olmo-2", "max_tokens", true),
        (ApiDialect::Responses, "gpt-4o", "include", false),
        (ApiDialect::Responses, "gpt-5", "include", true),
    ] {
        let server = ModelServer::start([ScriptedReply::says("Well.")]);
        let endpoint =
            hermes_llm::ModelEndpoint { model: name.into(), ..endpoint(&server, dialect) };
        let request = ModelRequest { max_tokens: Some(9), ..ask("Hi") };
        of(endpoint).reply(&request).await.unwrap();
        assert_eq!(server.model_requests()[0].get(key).is_some(), is_sent, "{name}");
    }
}

#[tokio::test]
async fn half_a_character_does_not_end_an_answer() {
    let piece = |text: &str| {
        let delta = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
        ReplyStep::Raw(format!("data: {delta}\n\n"))
    };
    for (pieces, want) in [
        (vec![r"lone \ud83d here"], "lone \u{fffd} here"),
        (vec![r"rocket \ud83d", r"\ude80 end"], "rocket \u{1f680} end"),
        (vec![r"rocket \ud83d", "end"], "rocket \u{fffd}end"),
        (vec![r"rocket \ud83d"], "rocket \u{fffd}"),
    ] {
        let server =
            ModelServer::start([ScriptedReply::from_steps(pieces.iter().map(|text| piece(text)))]);
        let reply = model(&server, ApiDialect::Chat).reply(&ask("Hi")).await.unwrap();
        assert_eq!(reply.text, want);
    }
}

#[tokio::test]
async fn a_result_has_the_name_of_its_call() {
    let call = hermes_llm::RequestedCall {
        id: "a".into(),
        name: "readfile".into(),
        arguments: "{}".into(),
    };
    let reply = hermes_llm::ModelReply { calls: vec![call], ..hermes_llm::ModelReply::default() };
    let answer = hermes_llm::ToolCallAnswer {
        call_id: "a".into(),
        name: "read_file".into(),
        content: "it".into(),
        images: Vec::new(),
        is_error: false,
        is_cancelled: false,
    };
    let mut request = ask("Hi");
    request.messages.extend([
        hermes_llm::ChatMessage::Assistant(reply),
        hermes_llm::ChatMessage::Tool(answer),
        hermes_llm::ChatMessage::user("go on"),
    ]);
    let server = ModelServer::start([ScriptedReply::says("Well.")]);
    model(&server, ApiDialect::Gemini).reply(&request).await.unwrap();
    let body = &server.model_requests()[0];
    let parts: Vec<_> = body["contents"].as_array().unwrap().iter().collect();
    let find = |key: &str| {
        parts.iter().find_map(|one| one["parts"][0].pointer(&format!("/{key}/name"))).cloned()
    };
    assert_eq!(find("functionResponse"), find("functionCall"));
    assert_eq!(find("functionCall"), Some(json!("readfile")));
}

#[tokio::test]
async fn an_answer_without_end_is_not_kept() {
    let piece = ReplyStep::Text("x".repeat(1 << 20));
    let scene = ScriptedReply::from_steps(std::iter::repeat_n(piece, 20));
    let server = ModelServer::start([scene]);
    let (events, fault) = events(&*model(&server, ApiDialect::Chat), &ask("Hi")).await;
    assert_eq!(fault.unwrap().kind, ModelErrorKind::Protocol);
    let kept: usize = events
        .iter()
        .map(|event| match event {
            ReplyEvent::Text(text) => text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(kept, 16 << 20);
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_is_told_where_they_are() {
    let refusal = json!({"error": {"message": "Invalid content type. image_url is only supported by certain models."}});
    let server = ModelServer::start([
        ScriptedReply::fails(400, refusal).when("image_url"),
        ScriptedReply::says("I cannot see it.").again(),
    ]);
    let model = model(&server, ApiDialect::Chat);
    let image = hermes_llm::InlineImage { media_type: "image/png".into(), data: "AAAA".into() };
    let mut request = ask("Look:");
    request.messages.push(hermes_llm::ChatMessage::User {
        content: vec![hermes_llm::ContentPart::Image(image)],
    });
    let (seen, fault) = events(&*model, &request).await;
    assert!(fault.is_none(), "{fault:?}");
    assert!(seen.iter().any(|event| matches!(event, ReplyEvent::Warning(_))), "{seen:?}");
    // From then on it is not shown any, and nobody is warned again.
    let (seen, _) = events(&*model, &request).await;
    assert!(!seen.iter().any(|event| matches!(event, ReplyEvent::Warning(_))), "{seen:?}");
    let asked = server.model_requests();
    assert_eq!(asked.len(), 3);
    for asked in &asked[1..] {
        let asked = asked.to_string();
        assert!(asked.contains("cannot see") && !asked.contains("image_url"), "{asked}");
    }
}

#[tokio::test]
async fn a_call_that_its_server_cannot_read_is_no_fault() {
    let failed =
        json!({"error": {"message": "Failed to call a function.", "code": "tool_use_failed"}});
    let server = ModelServer::start([
        ScriptedReply::fails(400, failed.clone()),
        ScriptedReply::from_steps([ReplyStep::Text("I".into()), ReplyStep::Fail(failed)]),
    ]);
    let model = model(&server, ApiDialect::Chat);
    for _ in 0..2 {
        let reply = model.reply(&with_tools(ask("Hi"))).await.unwrap();
        assert_eq!(reply.finish, FinishReason::Malformed);
    }
}

#[tokio::test]
async fn a_damaged_line_breaks_the_answer_off() {
    let damaged = || ReplyStep::Raw("data: {\"choices\": [{\n\n".into());
    let server = ModelServer::start([
        ScriptedReply::from_steps([ReplyStep::Text("Half".into()), damaged()]),
        ScriptedReply::from_steps([damaged()]),
    ]);
    let model = model(&server, ApiDialect::Chat);
    let (_, fault) = events(&*model, &ask("Hi")).await;
    let fault = fault.unwrap();
    assert_eq!((fault.kind, fault.is_mid_reply), (ModelErrorKind::Network, true));
    // A server that has not said anything sensible yet may be no model server.
    let (_, fault) = events(&*model, &ask("Hi")).await;
    assert_eq!(fault.unwrap().kind, ModelErrorKind::Protocol);
}

#[tokio::test]
async fn how_long_a_model_may_be_silent_can_be_said() {
    let server = ModelServer::start([ScriptedReply::from_steps([ReplyStep::Hang])]);
    let mut endpoint = endpoint(&server, ApiDialect::Chat);
    endpoint.idle_timeout = Some(Duration::from_millis(200));
    let request = ModelRequest { idle_timeout: None, ..ask("Hi") };
    let (_, fault) = events(&*of(endpoint), &request).await;
    assert_eq!(fault.unwrap().kind, ModelErrorKind::Timeout);
}
