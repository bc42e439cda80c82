//! Servers on the network: the newer way with one address for everything, and
//! where that is not known the older way with two connections.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hermes_core::ToolError;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::connection::{Connection, Era};
use super::dial::{Trouble, explain, late};
use super::pipes::LONGEST;
use super::server::Server;
use super::settings::Link;
use super::tls::{TlsSettings, Trust};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(15);

/// How many redirections are followed.
const REDIRECTIONS: usize = 5;

/// The HTTP client for a server.
pub(crate) fn client(tls: &TlsSettings) -> Result<reqwest::Client, ToolError> {
    // It fails if another part of the program has chosen already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        // What is sent is for the server that it was given for, and no other.
        .redirect(Policy::custom(|attempt: Attempt<'_>| {
            let is_same = attempt
                .previous()
                .first()
                .is_some_and(|first| first.origin() == attempt.url().origin());
            if is_same && attempt.previous().len() <= REDIRECTIONS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        }));
    let secured = tls.secure(builder, Trust::Only)?;
    secured.build().map_err(|error| ToolError::internal(format!("HTTP cannot be set up: {error}")))
}

/// Calls the server and greets it.
pub(crate) async fn call(
    server: &Server,
    era: Option<Era>,
    until: Instant,
) -> Result<Connection, Trouble> {
    let settings = server.settings();
    let Link::Http { url, headers, sse } = &settings.link else {
        return Err(Trouble::Final(ToolError::internal("This server has no address")));
    };
    let headers = read_headers(headers).map_err(Trouble::Final)?;
    let client = client(&settings.tls).map_err(Trouble::Final)?;
    if *sse {
        return super::sse::call(server, client, url, &headers, until).await;
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers.clone())
        .max_concurrent_requests(64)
        .max_sse_event_size(LONGEST);
    let left = until.saturating_duration_since(Instant::now());
    let name = server.name().into();
    let web = super::web::Web(client.clone());
    let greeted = if settings.oauth.is_some() {
        let authorized = super::login::client(server, web).map_err(Trouble::Final)?;
        let transport = StreamableHttpClientTransport::with_client(authorized, config);
        tokio::time::timeout(left, Connection::greet(name, server.host(), transport, era)).await
    } else {
        let transport = StreamableHttpClientTransport::with_client(web, config);
        tokio::time::timeout(left, Connection::greet(name, server.host(), transport, era)).await
    };
    match greeted {
        Ok(Ok(connection)) => Ok(connection),
        Err(_) => Err(Trouble::Final(late(server))),
        Ok(Err(error)) => {
            let text = super::fault::greeting_causes(&error);
            let failed = explain(server, &error);
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
                let older = super::sse::call(server, client, url, &headers, until).await;
                return older.map_err(|_| Trouble::Final(failed));
            }
            Err(Trouble::Unclear(failed))
        }
    }
}

pub(crate) fn read_headers(
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ToolError> {
    let mut read = HashMap::new();
    for (name, value) in headers {
        let wrong = || ToolError::invalid(format!("`headers` has an entry that is none: {name}"));
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        read.insert(name, value);
    }
    Ok(read)
}
