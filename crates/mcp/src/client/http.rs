//! Connects to servers over HTTP: streamable HTTP, with HTTP+SSE as the
//! fallback.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hermes_core::ToolError;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::connect::{ConnectError, connect_timeout_error, initialize_error};
use super::connection::{McpConnection, ProtocolEra};
use super::server::SupervisedServer;
use super::settings::ServerTransport;
use super::stdio_transport::MAX_MESSAGE_BYTES;
use super::tls::{TlsSettings, TrustRoots};

/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;

/// Builds the HTTP client for a server.
pub(crate) fn build_client(tls: &TlsSettings) -> Result<reqwest::Client, ToolError> {
    // Fails if another part of the program has installed a provider, which is
    // fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        // Requests carry credentials, so redirects must not leave the origin.
        .redirect(Policy::custom(|attempt: Attempt<'_>| {
            let is_same = attempt
                .previous()
                .first()
                .is_some_and(|first| first.origin() == attempt.url().origin());
            if is_same && attempt.previous().len() <= MAX_REDIRECTS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        }));
    let secured = tls.apply(builder, TrustRoots::FileOnly)?;
    secured
        .build()
        .map_err(|error| ToolError::internal(format!("cannot create the HTTP client: {error}")))
}

/// Connects to the server and performs the handshake.
pub(crate) async fn connect_http(
    server: &SupervisedServer,
    era: Option<ProtocolEra>,
    until: Instant,
) -> Result<McpConnection, ConnectError> {
    let settings = server.settings();
    let ServerTransport::Http { url, headers, sse } = &settings.transport else {
        return Err(ConnectError::Fatal(ToolError::internal("This server has no URL")));
    };
    let headers = parse_headers(headers).map_err(ConnectError::Fatal)?;
    let client = build_client(&settings.tls).map_err(ConnectError::Fatal)?;
    if *sse {
        return super::sse::connect_sse(server, client, url, &headers, until).await;
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers.clone())
        .max_concurrent_requests(64)
        .max_sse_event_size(MAX_MESSAGE_BYTES);
    let left = until.saturating_duration_since(Instant::now());
    let name = server.name().into();
    let web = super::streamable_http::BoundedHttpClient(client.clone());
    let greeted = if settings.oauth.is_some() {
        let authorized =
            super::oauth::authorized_client(server, web).map_err(ConnectError::Fatal)?;
        let transport = StreamableHttpClientTransport::with_client(authorized, config);
        tokio::time::timeout(
            left,
            McpConnection::handshake(name, server.client_handler(), transport, era),
        )
        .await
    } else {
        let transport = StreamableHttpClientTransport::with_client(web, config);
        tokio::time::timeout(
            left,
            McpConnection::handshake(name, server.client_handler(), transport, era),
        )
        .await
    };
    match greeted {
        Ok(Ok(connection)) => Ok(connection),
        Err(_) => Err(ConnectError::Fatal(connect_timeout_error(server))),
        Ok(Err(error)) => {
            let text = super::error::initialize_error_chain(&error);
            let failed = initialize_error(server, &error);
            let knows_it_not = [
                "HTTP 400",
                "HTTP 404",
                "HTTP 405",
                "text/event-stream",
                "404 Not Found",
                "405 Method",
            ]
            .iter()
            .any(|sign| text.contains(sign));
            if knows_it_not {
                let older = super::sse::connect_sse(server, client, url, &headers, until).await;
                return older.map_err(|_| ConnectError::Fatal(failed));
            }
            Err(ConnectError::Retryable(failed))
        }
    }
}

pub(crate) fn parse_headers(
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ToolError> {
    let mut read = HashMap::new();
    for (name, value) in headers {
        let wrong = || ToolError::invalid(format!("`headers` has an invalid entry: {name}"));
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        read.insert(name, value);
    }
    Ok(read)
}
