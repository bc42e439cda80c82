//! Fetches the authorization challenge of a server with a request without a
//! token.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::client::server::SupervisedServer;
use crate::client::settings::ServerTransport;
use crate::client::{http, streamable_http};

/// Timeout of a challenge request.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(15);

const MODERN_VERSION: &str = "2026-07-28";
const LEGACY_VERSION: &str = "2025-11-25";

/// Returns the server's challenge, if it sends one.
pub(super) async fn fetch_challenge(server: &SupervisedServer) -> Option<String> {
    let ServerTransport::Http { url, headers, sse } = &server.settings().transport else {
        return None;
    };
    let client = http::build_client(&server.settings().tls).ok()?;
    let headers = http::parse_headers(headers).ok()?;
    if *sse {
        let request =
            client.get(url).timeout(CHALLENGE_TIMEOUT).header(ACCEPT, "text/event-stream");
        let answer = request.headers(headers.into_iter().collect()).send().await.ok()?;
        return streamable_http::bearer_challenge(&answer)
            .filter(|_| answer.status() == StatusCode::UNAUTHORIZED);
    }
    for (method, version, params) in probe_requests() {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        let mut request = client
            .post(url)
            .timeout(CHALLENGE_TIMEOUT)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .header("MCP-Protocol-Version", version)
            .header("Mcp-Method", method);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let answer = request.body(body.to_string()).send().await.ok()?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            return streamable_http::bearer_challenge(&answer);
        }
    }
    None
}

/// Probe requests for servers of either era.
fn probe_requests() -> [(&'static str, &'static str, Value); 2] {
    let us = json!({"name": "hermes", "version": env!("CARGO_PKG_VERSION")});
    let newer = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": us,
    }});
    let older = json!({"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": us});
    [("server/discover", MODERN_VERSION, newer), ("initialize", LEGACY_VERSION, older)]
}
