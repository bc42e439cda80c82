use rmcp::model::NumberOrString;

use super::*;

async fn receive(input: &[u8], count: usize) -> Vec<ServerJsonRpcMessage> {
    let (tail, timeout) = (Arc::new(StderrTail::default()), Duration::from_secs(5));
    let mut pipes = StdioTransport::new(input, tokio::io::sink(), tail, timeout);
    let mut messages = Vec::new();
    while let Some(message) = pipes.receive().await {
        messages.push(message);
    }
    assert_eq!(messages.len(), count, "{messages:?}");
    messages
}

fn error_of(message: &ServerJsonRpcMessage) -> (Option<RequestId>, String) {
    match message {
        JsonRpcMessage::Error(error) => (error.id.clone(), error.error.message.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn garbage_between_messages_is_passed_over() {
    let input = b"Hello from a server\n\n{\"jsonrpc\":\"2.0\"}\n{\"a\":\r\n\
        {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\xff\xfe\n";
    let messages = receive(input, 1).await;
    assert!(
        matches!(&messages[0], JsonRpcMessage::Response(it) if it.id == NumberOrString::Number(7))
    );
}

#[tokio::test]
async fn several_messages_in_a_line_are_read_one_by_one() {
    let input = b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}, 5,\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]\n[]\n";
    receive(input, 2).await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_request() {
    let input = b"{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"result\":{}}\n";
    let (id, text) = error_of(&receive(input, 1).await[0]);
    assert_eq!(id, Some(NumberOrString::String("x".into())));
    assert!(text.contains("cannot parse the response"), "{text}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_request_wherever_its_id_is() {
    let long = "x".repeat(MAX_MESSAGE_BYTES + 70_000);
    for line in [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"t\":\"{long}\"}}}}\n"),
        format!("{{\"result\":{{\"id\":9,\"t\":\"{long}\"}},\"id\":3}}\n"),
    ] {
        let line = format!("{line}{{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{{}}}}\n");
        let messages = receive(line.as_bytes(), 2).await;
        let (id, text) = error_of(&messages[0]);
        assert_eq!(id, Some(NumberOrString::Number(3)));
        assert!(text.contains("exceeds 16 MiB"), "{text}");
    }
}

#[test]
fn an_id_that_is_not_the_messages_own_is_not_taken() {
    assert_eq!(find_request_id(b"{\"result\":{\"id\":1", LineSide::Start), None);
    assert_eq!(find_request_id(b"x\",\"id\":1}}", LineSide::End), None);
    assert_eq!(
        find_request_id(b"{\"id\" : \"a\" ,", LineSide::Start),
        Some(NumberOrString::String("a".into()))
    );
}

#[tokio::test]
async fn a_server_that_says_yes_to_everything_is_an_older_one() {
    use rmcp::model::{ClientRequest, DiscoverRequest, DiscoverRequestParams};
    let discover = DiscoverRequest::new(DiscoverRequestParams {});
    let probe = |id| {
        let request = ClientRequest::DiscoverRequest(discover.clone());
        ClientJsonRpcMessage::request(request, NumberOrString::Number(id))
    };
    let newer = "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\
                 \"capabilities\":{},\"ttlMs\":0,\"cacheScope\":\"private\"}";
    let input = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}\n\
         {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{newer}}}\n"
    );
    let (tail, timeout) = (Arc::new(StderrTail::default()), Duration::from_secs(5));
    let mut pipes = StdioTransport::new(input.as_bytes(), tokio::io::sink(), tail, timeout);
    pipes.send(probe(1)).await.unwrap();
    let (id, _) = error_of(&pipes.receive().await.unwrap());
    assert_eq!(id, Some(NumberOrString::Number(1)));
    pipes.send(probe(2)).await.unwrap();
    assert!(matches!(pipes.receive().await, Some(JsonRpcMessage::Response(_))));
}

#[tokio::test]
async fn an_answer_that_is_no_json_fails_its_request_too() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let first = format!(r#"{{"jsonrpc":"2.0","id":4,"result":{{"x":{deep}}}}}"#);
    let last = format!(r#"{{"jsonrpc":"2.0","result":{{"x":{deep}}},"id":"five"}}"#);
    let mut input = format!("{first}\n{last}\n").into_bytes();
    input.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"x\":\n");
    // A request from the server has its own ids.
    let asked =
        format!(r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{{"result":{deep}}}}}"#);
    input.extend_from_slice(asked.as_bytes());
    input.push(b'\n');
    let failed = receive(&input, 3).await;
    let ids: Vec<_> = failed.iter().map(|it| error_of(it).0.unwrap()).collect();
    let number = NumberOrString::Number;
    assert_eq!(ids, [number(4), NumberOrString::String("five".into()), number(6)]);
}

#[tokio::test]
async fn what_is_no_character_does_not_lose_the_answer() {
    let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"lone \\ud83d x\"}}\n\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"caf\xe9\"}}\n";
    for message in receive(input, 2).await {
        assert!(matches!(message, JsonRpcMessage::Response(_)), "{message:?}");
        let text = serde_json::to_string(&message).unwrap();
        assert!(text.contains('\u{fffd}'), "{text}");
    }
}

#[tokio::test]
async fn a_last_line_without_a_newline_is_read() {
    let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}";
    let messages = receive(input, 2).await;
    assert!(
        matches!(&messages[1], JsonRpcMessage::Response(it) if it.id == NumberOrString::Number(2))
    );
}

#[tokio::test]
async fn a_last_line_that_is_cut_off_fails_its_request() {
    let messages = receive(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":", 1).await;
    assert_eq!(error_of(&messages[0]).0, Some(NumberOrString::Number(3)));
}
