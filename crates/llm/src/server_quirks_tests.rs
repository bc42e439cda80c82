use serde_json::json;

use super::*;

fn endpoint(dialect: ApiDialect) -> ModelEndpoint {
    ModelEndpoint::new(dialect, "https://models.example/v1", "m")
}

fn body() -> Value {
    json!({
        "model": "m",
        "messages": [],
        "tools": [],
        "max_tokens": 9,
        "temperature": 0.5,
        "stream": true,
        "stream_options": {"include_usage": true},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "generationConfig": {"thinkingConfig": {}},
    })
}

#[test]
fn what_a_server_names_is_left_out_or_renamed() {
    let renamed = Some(RequestAdaptation::Rename("max_tokens", "max_completion_tokens"));
    for (said, want) in [
        (
            json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "param": "max_tokens", "code": "unsupported_parameter"}}),
            renamed.clone(),
        ),
        (
            json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}),
            renamed,
        ),
        (
            json!({"error": {"message": "Unrecognized request argument supplied: stream_options"}}),
            Some(RequestAdaptation::Omit("stream_options")),
        ),
        (
            json!({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted", "input": {"temperature": 1}}]}),
            Some(RequestAdaptation::Omit("stream_options")),
        ),
        (
            json!({"error": {"message": "Encrypted content is not supported with this model.", "param": "include"}}),
            Some(RequestAdaptation::Omit("include")),
        ),
        (
            json!({"error": {"message": "Encrypted content is not supported with this model."}}),
            Some(RequestAdaptation::Omit("include")),
        ),
        (
            json!({"error": {"message": "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", "param": "temperature"}}),
            Some(RequestAdaptation::Omit("temperature")),
        ),
        (
            json!({"error": {"message": "Unsupported parameter", "param": "reasoning.summary"}}),
            Some(RequestAdaptation::Omit("reasoning.summary")),
        ),
        (
            json!({"error": {"message": "Unsupported parameter", "param": "reasoning.effort"}}),
            Some(RequestAdaptation::Omit("reasoning")),
        ),
        (
            json!({"error": {"code": 400, "message": "Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field."}}),
            Some(RequestAdaptation::Omit("generationConfig.thinkingConfig")),
        ),
        (json!({"error": {"message": "max_tokens is too large: at most 4096"}}), None),
        (json!({"error": {"message": "Unknown model m", "param": "model"}}), None),
        (json!({"error": {"message": "tools is not supported"}}), None),
        (json!({"error": {"message": "Unsupported parameter: 'top_k'"}}), None),
    ] {
        let found = interpret_refusal(&endpoint(ApiDialect::Chat), &said.to_string(), &body());
        assert_eq!(found, want, "{said}");
    }
}

#[test]
fn what_must_be_said_or_was_set_on_purpose_stays() {
    let said = r#"{"error": {"message": "max_tokens: unexpected"}}"#;
    assert_eq!(interpret_refusal(&endpoint(ApiDialect::Anthropic), said, &body()), None);
    let mut own = endpoint(ApiDialect::Chat);
    own.extra.insert("max_tokens".into(), json!(9));
    assert_eq!(interpret_refusal(&own, said, &body()), None);
}

#[test]
fn two_names_that_are_both_refused_are_tried_once_each() {
    let learnt = ServerQuirks::default();
    let endpoint = endpoint(ApiDialect::Chat);
    let mut sent = body();
    let old = r#"{"error": {"message": "max_tokens is not supported, use max_completion_tokens"}}"#;
    assert!(learnt.learn(&endpoint, old, &mut sent));
    assert_eq!(sent["max_completion_tokens"], 9);
    let new = r#"{"error": {"message": "max_completion_tokens is unknown, use max_tokens"}}"#;
    assert!(learnt.learn(&endpoint, new, &mut sent));
    assert!(sent.get("max_tokens").is_none() && sent.get("max_completion_tokens").is_none());
    let mut next = body();
    learnt.apply(&endpoint, &mut next);
    assert!(next.get("max_tokens").is_none() && next.get("max_completion_tokens").is_none());
    // Another model at the same place may well take it.
    let mut other = body();
    other["model"] = json!("n");
    learnt.apply(&endpoint, &mut other);
    assert_eq!(other["max_tokens"], 9);
}

#[test]
fn an_answer_is_given_the_room_that_a_server_names() {
    let cases = [
        (
            ApiDialect::Anthropic,
            "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
            Some(8_192),
        ),
        (
            ApiDialect::Chat,
            "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, whereas you provided 16384.",
            Some(4_096),
        ),
        (ApiDialect::Chat, "max_tokens must be less than or equal to 8000", Some(8_000)),
        (ApiDialect::Chat, "max_tokens is too large for gpt-4-32k", None),
        (
            ApiDialect::Chat,
            "'max_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 5000 input tokens.",
            None,
        ),
    ];
    for (dialect, said, most) in cases {
        let learnt = ServerQuirks::default();
        let asked = json!({"model": "m", "max_tokens": 16_384});
        let said = json!({"error": {"message": said}}).to_string();
        let mut body = asked.clone();
        assert_eq!(learnt.learn(&endpoint(dialect), &said, &mut body), most.is_some(), "{said}");
        assert_eq!(body["max_tokens"], json!(most.unwrap_or(16_384)), "{said}");
        // It is remembered, and less stays less.
        for (asked, sent) in [(16_384, most.unwrap_or(16_384)), (100, 100)] {
            let mut later = json!({"model": "m", "max_tokens": asked});
            learnt.apply(&endpoint(dialect), &mut later);
            assert_eq!(later["max_tokens"], sent, "{said}");
        }
    }
}
