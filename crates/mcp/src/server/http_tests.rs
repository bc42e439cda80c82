use hermes_engine::{Caller, Engine};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::server::{ServeSettings, TransportKind};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}"#;

/// Starts a server that runs until the returned guard is dropped.
async fn start(limits: HttpLimits) -> (u16, tokio_util::sync::DropGuard) {
    let engine = Engine::builder().build().unwrap();
    let settings = ServeSettings::new("test", "0");
    let callers = Arc::new(|_: &str| Caller::new(std::env::temp_dir()));
    let server = McpServer::new(engine, settings, callers).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        let made = server.clone();
        let make = move || made.handler(TransportKind::Http);
        let door = HttpAccessPolicy::new(HttpAuth::Open);
        serve_within(limits, &server, listener, door, make, stopping).await
    });
    (port, stop.drop_guard())
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// The rest of a request whose first line and `Host` have been sent.
fn rest(body: &str) -> String {
    format!(
        "Connection: close\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn answer(mut stream: TcpStream, sent: &str) -> String {
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    heard
}

fn greeting(head: &str) -> String {
    format!("{head}\r\n{}", rest(HELLO))
}

#[tokio::test]
async fn half_requests_do_not_keep_a_client_out() {
    // No time limit: only the number of connections can close one.
    let head_timeout = Duration::from_secs(24 * 60 * 60);
    let limits = HttpLimits { connections: 64, head_timeout, ..HttpLimits::default() };
    let (port, _guard) = start(limits).await;
    let mut half = Vec::new();
    for _ in 0..limits.connections {
        let mut stream = connect(port).await;
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n").await.unwrap();
        half.push(stream);
    }
    let heard =
        answer(connect(port).await, &greeting("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1")).await;
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    let newest = half.pop().unwrap();
    assert_eq!(half.remove(0).read(&mut [0; 64]).await.unwrap_or(0), 0, "the oldest is closed");
    let heard = answer(newest, &rest(HELLO)).await;
    assert!(heard.starts_with("HTTP/1.1 200"), "the newest goes on: {heard}");
}

#[tokio::test]
async fn a_request_names_one_host_and_an_allowed_one() {
    let (port, _guard) = start(HttpLimits::default()).await;
    let cases = [
        ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1", "200"),
        ("POST http://127.0.0.1/mcp HTTP/1.1\r\nHost: 127.0.0.1", "200"),
        ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.test", "400"),
        ("POST /mcp HTTP/1.1\r\nHost: evil.test\r\nhost: 127.0.0.1", "400"),
        ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1", "400"),
        ("POST http://evil.test/mcp HTTP/1.1\r\nHost: 127.0.0.1", "403"),
        ("POST http://127.0.0.1@evil.test/mcp HTTP/1.1\r\nHost: 127.0.0.1", "403"),
        ("POST http://127.0.0.1/mcp HTTP/1.1\r\nHost: evil.test", "403"),
    ];
    for (head, status) in cases {
        let heard = answer(connect(port).await, &greeting(head)).await;
        assert_eq!(heard.split(' ').nth(1), Some(status), "{head:?}: {heard}");
    }
}

#[tokio::test]
async fn when_every_session_is_in_use_a_client_is_told_so() {
    let (port, _guard) = start(HttpLimits { sessions: 1, ..HttpLimits::default() }).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1";
    let first = answer(connect(port).await, &greeting(head)).await.to_lowercase();
    let session = first.lines().find(|line| line.starts_with("mcp-session-id:")).unwrap();
    // An open event stream: the session is in use.
    let mut listening = connect(port).await;
    let listen = format!(
        "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n{session}\r\n\r\n"
    );
    listening.write_all(listen.as_bytes()).await.unwrap();
    let mut begun = [0; 15];
    listening.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    let heard = answer(connect(port).await, &greeting(head)).await;
    assert!(heard.starts_with("HTTP/1.1 503") && heard.contains("DELETE"), "{heard}");
    let end = format!(
        "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{session}\r\nConnection: close\r\n\r\n"
    );
    let heard = answer(connect(port).await, &end).await;
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    let heard = answer(connect(port).await, &greeting(head)).await;
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
}
