//! What a server says of its login to somebody who has none: it is asked
//! something without a token.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::client::server::Server;
use crate::client::settings::Link;
use crate::client::{http, web};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

const NEWER: &str = "2026-07-28";
const OLDER: &str = "2025-11-25";

/// The server's challenge, if it makes one.
pub(super) async fn ask(server: &Server) -> Option<String> {
    let Link::Http { url, headers, sse } = &server.settings().link else { return None };
    let client = http::client(&server.settings().tls).ok()?;
    let headers = http::read_headers(headers).ok()?;
    if *sse {
        let request = client.get(url).timeout(PATIENCE).header(ACCEPT, "text/event-stream");
        let answer = request.headers(headers.into_iter().collect()).send().await.ok()?;
        return web::challenge(&answer).filter(|_| answer.status() == StatusCode::UNAUTHORIZED);
    }
    for (method, version, params) in questions() {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        let mut request = client
            .post(url)
            .timeout(PATIENCE)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .header("MCP-Protocol-Version", version)
            .header("Mcp-Method", method);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let answer = request.body(body.to_string()).send().await.ok()?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            return web::challenge(&answer);
        }
    }
    None
}

/// What a server of either era understands.
fn questions() -> [(&'static str, &'static str, Value); 2] {
    let us = json!({"name": "hermes", "version": env!("CARGO_PKG_VERSION")});
    let newer = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": NEWER,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": us,
    }});
    let older = json!({"protocolVersion": OLDER, "capabilities": {}, "clientInfo": us});
    [("server/discover", NEWER, newer), ("initialize", OLDER, older)]
}
