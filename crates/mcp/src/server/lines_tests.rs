use rmcp::ErrorData;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use super::*;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What is read of a text, and what is said to it.
async fn exchange(text: &[u8], longest: usize) -> (Vec<Value>, Vec<Value>) {
    let (mut far, near) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(near);
    let closed = CancellationToken::new();
    let mut lines = Lines::new(input, output, longest, closed.clone());
    far.write_all(text).await.unwrap();
    far.shutdown().await.unwrap();
    let mut read = Vec::new();
    while let Some(message) = lines.receive().await {
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
        let (read, said) =
            exchange(format!("{hello}\n[{PING},7,{PING}]\n[]\n").as_bytes(), 1_000).await;
        assert_eq!(read.len(), count, "{read:?}");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said.iter().all(|said| said["error"]["code"] == -32600), "{said:?}");
    }
}

#[tokio::test]
async fn a_line_in_pieces_is_read_whole() {
    let (mut far, near) = tokio::io::duplex(16);
    let (input, output) = tokio::io::split(near);
    let mut lines = Lines::new(input, output, 1_000, CancellationToken::new());
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
    let mut lines = Lines::new(input, output, 1_000, CancellationToken::new());
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
    let mut lines = Lines::new(input, output, 1_000, closed.clone());
    drop(reader);
    let error = ErrorData::internal_error("x", None);
    assert!(lines.send(ServerJsonRpcMessage::error(error, None)).await.is_err());
    assert!(lines.receive().await.is_none());
    assert!(closed.is_cancelled());
}
