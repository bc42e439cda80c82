//! Servers on the network, in the newer and the older way.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::{World, sdk_python, sdk_script};

/// A server of the Python SDK that listens; it ends with this.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn listen(world: &World, kind: &str) -> Option<(Listening, String)> {
    let python = sdk_python()?;
    let file = world.path(kind);
    let child = Command::new(python)
        .arg(sdk_script())
        .arg(kind)
        .arg(&file)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let listening = Listening(child);
    for _ in 0..1500 {
        if let Ok(port) = std::fs::read_to_string(&file) {
            let path = if kind == "sse" { "sse" } else { "mcp" };
            return Some((listening, format!("http://127.0.0.1:{port}/{path}")));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server does not listen");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_http_is_used_whole() {
    let world = World::new();
    let Some((listening, url)) = listen(&world, "http").await else { return };
    let servers = world.ready(&json!({"sdk": {"url": url}})).await;
    let status = servers.status().remove(0);
    assert_eq!((status.error, status.transport), (None, "http"));
    super::sdk::used(&world).await;
    drop(listening);
    // The first may have gone into a connection that was still open; after
    // that nothing is sent, and nothing is in doubt.
    let lost = world.call("mcp__sdk__add", json!({"a": 1, "b": 2})).await;
    assert!(lost["error"].is_string(), "{lost}");
    let gone = world.call("mcp__sdk__add", json!({"a": 1, "b": 2})).await;
    assert_eq!(gone["kind"], "network", "{gone}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_way_is_found_without_being_told() {
    let world = World::new();
    let Some((_listening, url)) = listen(&world, "sse").await else { return };
    let servers = world.ready(&json!({"sdk": {"url": url}})).await;
    let status = servers.status().remove(0);
    assert_eq!(status.error, None);
    assert_eq!(status.protocol.as_deref(), Some("2025-11-25"));
    let added = world.call("mcp__sdk__add", json!({"a": 2, "b": 40})).await;
    assert_eq!(added, json!({"result": {"result": 42}}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_a_server_is_told() {
    let world = World::new();
    let entry = json!({"url": "http://127.0.0.1:9/mcp", "connect_timeout": 5});
    let servers = world.ready(&json!({"x": entry})).await;
    let error = servers.status().remove(0).error.unwrap();
    assert!(error.contains("cannot be used"), "{error}");
    servers.stop().await;
}

/// A server that greets everybody, and then answers calls with this status.
fn declining(status: &'static str) -> String {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move |stream: std::net::TcpStream| -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?);
        let (mut length, mut line) = (0, String::new());
        while lines.read_line(&mut line).ok()? > 2 {
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
            line.clear();
        }
        let mut body = vec![0; length];
        lines.read_exact(&mut body).ok()?;
        let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match asked["method"].as_str() {
            Some("initialize") => Some(json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}}, "serverInfo": {"name": "d", "version": "1"}})),
            Some("tools/list") => Some(json!({"tools": [
                {"name": "do", "description": "Does it.", "inputSchema": {"type": "object"}}]})),
            Some("ping") => Some(json!({})),
            _ => None,
        };
        let (status, body) = match result {
            Some(result) => (
                "200 OK",
                json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string(),
            ),
            None if asked["method"] == "tools/call" => (status, "no, thank you".to_owned()),
            None if asked["id"].is_null() => ("202 Accepted", String::new()),
            None => ("400 Bad Request", String::new()),
        };
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nRetry-After: 7\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .ok()
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    format!("http://{address}/mcp")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_not_taken_is_not_in_doubt_and_does_not_speak_against_the_server() {
    for (status, kind) in [
        ("429 Too Many Requests", "limit"),
        ("403 Forbidden", "denied"),
        ("409 Conflict", "conflict"),
    ] {
        let world = World::new();
        let servers = world.ready(&json!({"d": {"url": declining(status)}})).await;
        for _ in 0..4 {
            let shown = world.call("mcp__d__do", json!({})).await;
            assert_eq!(shown["kind"], kind, "{shown}");
            assert!(shown["error"].as_str().unwrap().contains(status), "{shown}");
            assert_eq!(shown["effect_disposition"], "none", "{shown}");
            assert_eq!(shown["retry_after"], "7", "{shown}");
        }
        servers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_broke_down_at_the_server_is_in_doubt() {
    for status in ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable"] {
        let world = World::new();
        let servers = world.ready(&json!({"d": {"url": declining(status)}})).await;
        let shown = world.call("mcp__d__do", json!({})).await;
        assert_eq!(shown["effect_disposition"], "unknown", "{shown}");
        assert_eq!(shown["kind"], "network", "{shown}");
        // It may say why.
        let text = shown["error"].as_str().unwrap();
        assert!(text.contains(status) && text.contains("no, thank you"), "{shown}");
        servers.stop().await;
    }
}
