use rmcp::ErrorData;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use super::*;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn bounds(longest: usize) -> LineLimits {
    LineLimits { max_message_bytes: longest, drain_timeout: Duration::ZERO }
}

/// What is read of a text, and what is said to it.
async fn exchange(text: &[u8], longest: usize) -> (Vec<Value>, Vec<Value>) {
    let (mut far, near) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(near);
    let closed = CancellationToken::new();
    let mut lines = LineTransport::new(input, output, bounds(longest), closed.clone());
    far.write_all(text).await.unwrap();
    far.shutdown().await.unwrap();
    let mut read = Vec::new();
    while let Some(message) = lines.receive().await {
        // As if it were answered.
        if let Some(said) = request_id(&message).and_then(|id| lines.pending.cancel(id)) {
            lines.output.add_text(&said).unwrap();
            lines.output.write().await.unwrap();
        }
        read.push(serde_json::to_value(message).unwrap());
    }
    assert!(closed.is_cancelled());
    lines.close().await.unwrap();
    drop(lines);
    let mut said = String::new();
    far.read_to_string(&mut said).await.unwrap();
    (read, said.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered_and_the_next_is_read() {
    let long = "x".repeat(200);
    let text = format!("nonsense\n\r\n  \n{PING}\r\n[]\n{long}\n{PING}\n\u{feff}{PING}");
    let (read, said) = exchange(text.as_bytes(), 100).await;
    assert_eq!(read.len(), 3, "{read:?}");
    let codes: Vec<&Value> = said.iter().map(|said| &said["error"]["code"]).collect();
    assert_eq!(codes, [-32700, -32600, -32600], "{said:?}");
    assert!(said.iter().all(|said| said["id"].is_null()), "{said:?}");
}

#[tokio::test]
async fn what_means_nothing_yet_is_passed_over() {
    let text = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
        r#""capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
    );
    let (read, said) = exchange(text.as_bytes(), 1_000).await;
    let methods: Vec<&Value> = read.iter().map(|read| &read["method"]).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized"]);
    assert!(said.is_empty(), "{said:?}");
}

#[tokio::test]
async fn several_messages_in_a_line_are_read_where_the_version_has_them() {
    for (version, count) in [("2025-03-26", 3), ("2025-06-18", 1)] {
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"a","version":"1"}}}}}}"#
        );
        let other = PING.replace('1', "2");
        let (read, said) =
            exchange(format!("{hello}\n[{PING},7,{other}]\n[]\n").as_bytes(), 1_000).await;
        assert_eq!(read.len(), count, "{read:?}");
        assert_eq!(said.len(), 2, "{said:?}");
        // Where it was understood, what is said to it is in one piece, too.
        let first = if count == 3 { &said[0][0] } else { &said[0] };
        assert_eq!(first["error"]["code"], -32600, "{said:?}");
        assert_eq!(said[1]["error"]["code"], -32600, "{said:?}");
    }
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    let id = RequestId::Number(id);
    ServerJsonRpcMessage::response(rmcp::model::ServerResult::empty(()), id)
}

#[tokio::test]
async fn answers_to_the_last_requests_are_waited_for() {
    let (mut far, near) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(near);
    let bounds = LineLimits { max_message_bytes: 1_000, drain_timeout: Duration::from_secs(600) };
    let closed = CancellationToken::new();
    let mut lines = LineTransport::new(input, output, bounds, closed.clone());
    let again = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    far.write_all(format!("{PING}\n{again}\n").as_bytes()).await.unwrap();
    far.shutdown().await.unwrap();
    assert!(lines.receive().await.is_some());
    // The second has the id of the first, which is not answered.
    tokio::select! {
        biased;
        _ = lines.receive() => panic!("one is open"),
        () = closed.cancelled() => {}
    }
    lines.send(answer(1)).await.unwrap();
    assert!(lines.receive().await.is_none());
    lines.close().await.unwrap();
    drop(lines);
    let mut said = String::new();
    far.read_to_string(&mut said).await.unwrap();
    let said: Vec<Value> = said.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!((&said[0]["id"], &said[0]["error"]["code"]), (&1.into(), &(-32600).into()));
    assert_eq!((&said[1]["id"], &said[1]["result"]), (&1.into(), &serde_json::json!({})));
}

#[tokio::test]
async fn what_came_together_is_answered_together() {
    let (mut far, near) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(near);
    let mut lines = LineTransport::new(input, output, bounds(1_000), CancellationToken::new());
    lines.may_batch = true;
    lines.is_initialized = true;
    let one = |id: u8| PING.replace('1', &id.to_string());
    far.write_all(format!("[{},7,{},{}]\n", one(1), one(2), one(2)).as_bytes()).await.unwrap();
    assert!(lines.receive().await.is_some() && lines.receive().await.is_some());
    lines.send(answer(2)).await.unwrap();
    lines.send(answer(1)).await.unwrap();
    lines.close().await.unwrap();
    drop(lines);
    let mut said = String::new();
    far.read_to_string(&mut said).await.unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    let said: Vec<Value> = serde_json::from_str(&said).unwrap();
    let ids: Vec<&Value> = said.iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&Value::Null, &2.into(), &2.into(), &1.into()], "{said:?}");
}

#[tokio::test]
async fn a_line_in_pieces_is_read_whole() {
    let (mut far, near) = tokio::io::duplex(16);
    let (input, output) = tokio::io::split(near);
    let mut lines = LineTransport::new(input, output, bounds(1_000), CancellationToken::new());
    let writing = tokio::spawn(async move {
        for byte in format!("{PING}\n").bytes() {
            far.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        far
    });
    // Given up again and again, as the loop does that reads.
    let message = loop {
        tokio::select! {
            biased;
            message = lines.receive() => break message,
            () = tokio::task::yield_now() => {}
        }
    };
    assert!(message.is_some());
    drop(writing.await.unwrap());
}

#[tokio::test]
async fn answers_stay_in_order_and_whole() {
    let (mut far, near) = tokio::io::duplex(64);
    let (input, output) = tokio::io::split(near);
    let mut lines = LineTransport::new(input, output, bounds(1_000), CancellationToken::new());
    let mut sent: Vec<hermes_core::BoxFuture<'static, io::Result<()>>> = Vec::new();
    for number in 0..50 {
        let error = ErrorData::internal_error(format!("number {number}"), None);
        sent.push(Box::pin(lines.send(ServerJsonRpcMessage::error(error, None))));
    }
    let sending = tokio::spawn(async move {
        for result in futures_util::future::join_all(sent).await {
            result.unwrap();
        }
        lines.close().await.unwrap();
    });
    let mut said = String::new();
    far.read_to_string(&mut said).await.unwrap();
    sending.await.unwrap();
    assert_eq!(said.lines().count(), 50);
    for (number, line) in said.lines().enumerate() {
        let said: Value = serde_json::from_str(line).unwrap();
        assert_eq!(said["error"]["message"], format!("number {number}"));
    }
}

#[tokio::test]
async fn a_client_that_reads_no_more_has_gone() {
    let (input, _keeps_writing) = tokio::io::duplex(64);
    let (output, reader) = tokio::io::duplex(64);
    let closed = CancellationToken::new();
    let mut lines = LineTransport::new(input, output, bounds(1_000), closed.clone());
    drop(reader);
    let error = ErrorData::internal_error("x", None);
    assert!(lines.send(ServerJsonRpcMessage::error(error, None)).await.is_err());
    assert!(lines.receive().await.is_none());
    assert!(closed.is_cancelled());
}
