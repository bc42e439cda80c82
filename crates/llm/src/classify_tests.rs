use ModelErrorKind::*;

use super::*;

fn kind_of(status: u16, body: &str) -> ModelErrorKind {
    classify(Some(status), None, body).kind
}

#[test]
fn servers_errors_as_they_word_them() {
    let cases = [
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-x","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Authentication,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Authentication,
        ),
        (403, r#"{"error":{"message":"Your input was flagged","code":403}}"#, Refused),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota"}}"#,
            Quota,
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#,
            RateLimited,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached. Limit 30000 tokens per min; too many tokens"}}"#,
            RateLimited,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
            Quota,
        ),
        (402, r#"{"error":{"message":"This request requires more credits","code":402}}"#, Quota),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
            ContextTooLong,
        ),
        (413, "", ContextTooLong),
        (
            404,
            r#"{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}"#,
            ModelUnavailable,
        ),
        (404, r#"{"error":{"message":"model 'qwen' not found"}}"#, ModelUnavailable),
        (
            400,
            r#"{"error":{"message":"foo/bar is not a valid model ID","code":400}}"#,
            ModelUnavailable,
        ),
        (404, "404 page not found", Request),
        (400, r#"{"error":{"message":"registry/llama2 does not support tools"}}"#, NoTools),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#,
            NoTools,
        ),
        (
            400,
            r#"{"error":{"message":"The response was filtered due to Azure OpenAI's content management policy","code":"content_filter"}}"#,
            Refused,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Overloaded,
        ),
        (503, r#"{"error":{"message":"Loading model","code":503}}"#, Overloaded),
        (500, "<html>oops</html>", Server),
        (502, "", Server),
        (422, r#"{"detail":[{"msg":"field required"}]}"#, Request),
        (301, "", Request),
    ];
    for (status, body, expected) in cases {
        assert_eq!(kind_of(status, body), expected, "{status} {body}");
    }
}

#[test]
fn what_a_model_cannot_do_as_servers_word_it() {
    let cases = [
        (
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}"#,
            ContextTooLong,
        ),
        (400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#, ContextTooLong),
        (
            400,
            r#"{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"}}"#,
            ContextTooLong,
        ),
        (
            422,
            r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens"}}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"error":{"message":"prompt token count of 70000 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}"#,
            ContextTooLong,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid content type. image_url is only supported by certain models."}}"#,
            NoImages,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#,
            NoImages,
        ),
        (
            400,
            r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<function=x"}}"#,
            Malformed,
        ),
    ];
    for (status, body, expected) in cases {
        assert_eq!(kind_of(status, body), expected, "{status} {body}");
    }
}

#[test]
fn errors_in_the_middle_of_an_answer() {
    let kind = |body: &str| classify(None, None, body).kind;
    assert_eq!(
        kind(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        Overloaded
    );
    assert_eq!(kind(r#"{"error":{"code":429,"message":"slow down"}}"#), RateLimited);
    assert_eq!(kind(r#"{"response":{"error":{"code":"server_error","message":"sorry"}}}"#), Server);
    assert_eq!(kind(r#"{"error":"boom"}"#), Server);
}

#[test]
fn the_words_of_the_server_are_kept() {
    let fault = classify(
        Some(400),
        None,
        r#"{"error":{"message":"Provider returned error","metadata":{"raw":"bad schema"}}}"#,
    );
    assert_eq!(fault.message, "Provider returned error: bad schema (400)");
    assert_eq!(classify(Some(502), None, "<html>").message, "the server answered 502");
    let long = classify(Some(500), None, &"é".repeat(9_000)).message;
    assert!(long.chars().count() < 520);
}

#[test]
fn when_to_ask_again() {
    let after = |name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().expect("a header"));
        classify(Some(429), Some(&headers), "").retry_after
    };
    assert_eq!(after("retry-after", "7"), Some(Duration::from_secs(7)));
    assert_eq!(after("retry-after", "0.5"), Some(Duration::from_millis(500)));
    assert_eq!(after("retry-after-ms", "250"), Some(Duration::from_millis(250)));
    assert_eq!(after("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
    assert_eq!(after("retry-after", "soon"), None);
    assert_eq!(after("retry-after", "-3"), Some(Duration::ZERO));
    assert_eq!(after("retry-after", "NaN"), None);
    let body = r#"{"error":{"details":[{"retryDelay":"17.5s"}]}}"#;
    assert_eq!(classify(Some(429), None, body).retry_after, Some(Duration::from_millis(17_500)));
}

#[test]
fn how_long_a_server_wants_to_be_left_alone_is_told() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", reqwest::header::HeaderValue::from_static("3600"));
    let fault = classify(Some(429), Some(&headers), "slow down");
    assert!(fault.hint.is_some_and(|hint| hint.contains("60 minutes")));
}

#[test]
fn what_is_wrong_where_is_told_in_words() {
    let body = r#"{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"x"}]}"#;
    let fault = classify(Some(422), None, body);
    assert_eq!(fault.message, "field required: body.messages.0 (422)");
}

#[test]
fn a_date_far_in_the_future_delays_a_retry_by_no_more_than_a_day() {
    let mut headers = HeaderMap::new();
    let date = "Mon, 21 Oct 2915 07:28:00 GMT";
    headers.insert("retry-after", reqwest::header::HeaderValue::from_static(date));
    let delay = classify(Some(429), Some(&headers), "").retry_after;
    assert_eq!(delay, Some(Duration::from_secs(86_400)));
}
