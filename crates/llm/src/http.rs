//! HTTP clients for model servers.

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde_json::Value;

use crate::model_error::{ModelError, ModelErrorKind};
use crate::server_quirks::ServerQuirks;

/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of bytes read of an error body.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Maximum number of bytes read of a body that is read whole.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// The HTTP clients. Connections are pooled. Proxies are taken from the
/// environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), but not for this
/// machine itself.
#[derive(Debug, Default)]
pub struct HttpClients {
    remote: OnceLock<Client>,
    local: OnceLock<Client>,
    /// Request features that servers have rejected.
    pub(crate) quirks: ServerQuirks,
}

/// An error response of a server.
#[derive(Debug)]
pub(crate) struct FailedResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum SendError {
    /// The server returned an error status.
    Status(Box<FailedResponse>),
    /// No response arrived.
    Model(ModelError),
}

impl HttpClients {
    fn client(&self, url: &Url) -> Result<&Client, ModelError> {
        // Local traffic is not encrypted, so loading the system's certificates,
        // which takes some milliseconds, is skipped.
        let is_here = is_loopback(url) && url.scheme() == "http";
        let cell = if is_here { &self.local } else { &self.remote };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        // Fails harmlessly if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(Duration::from_secs(30))
            // A redirect must not carry the key to another server.
            .redirect(Policy::none());
        if is_here {
            builder = builder.no_proxy().tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| {
            ModelError::new(
                ModelErrorKind::Network,
                format!("cannot create the HTTP client: {}", root_cause(&error)),
            )
        })?;
        Ok(cell.get_or_init(|| client))
    }

    /// Sends a request and waits up to `patience` for the response to begin.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
        timeout: Duration,
    ) -> Result<Response, SendError> {
        let mut request = self
            .client(&url)
            .map_err(SendError::Model)?
            .request(method, url.clone())
            .headers(headers);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let answer = match tokio::time::timeout(timeout, request.send()).await {
            Err(_) => return Err(SendError::Model(timeout_error(&url, timeout))),
            Ok(Err(error)) => return Err(SendError::Model(connect_error(&url, &error))),
            Ok(Ok(answer)) => answer,
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = match tokio::time::timeout(timeout, read_bounded(answer, MAX_ERROR_BYTES)).await
        {
            Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => String::new(),
        };
        Err(SendError::Status(Box::new(FailedResponse { status, headers, body })))
    }

    /// Returns the JSON response to a request; none on an error or timeout.
    pub(crate) async fn request_json(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Option<Value> {
        let body = body.map(|body| body.to_string().into_bytes());
        let asked = async {
            let answer = self.send(method, url, headers, body, timeout).await.ok()?;
            let bytes = read_bounded(answer, MAX_BODY_BYTES).await.ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        tokio::time::timeout(timeout, asked).await.ok()?
    }
}

/// Reads the body of a response, truncated to `most` bytes.
pub(crate) async fn read_bounded(
    mut answer: Response,
    most: usize,
) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= most {
            bytes.truncate(most);
            break;
        }
    }
    Ok(bytes)
}

/// Whether the URL refers to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Formats the host and port of a URL, for messages.
pub(crate) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the server");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

pub(crate) fn timeout_error(url: &Url, timeout: Duration) -> ModelError {
    let seconds = timeout.as_secs_f64();
    ModelError::new(
        ModelErrorKind::Timeout,
        format!("{} sent nothing for {seconds:.0} s", host_and_port(url)),
    )
}

pub(crate) fn connection_error(url: &Url, error: &reqwest::Error) -> ModelError {
    let message = format!("the connection to {} failed: {}", host_and_port(url), root_cause(error));
    ModelError::new(ModelErrorKind::Network, message)
}

fn connect_error(url: &Url, error: &reqwest::Error) -> ModelError {
    if !error.is_connect() && !error.is_timeout() {
        return connection_error(url, error);
    }
    let message = format!("cannot connect to {}: {}", host_and_port(url), root_cause(error));
    let hint = if is_loopback(url) {
        "start the model server, or set model.base_url to its address"
    } else {
        "check the network, HTTPS_PROXY and model.base_url"
    };
    ModelError::new(ModelErrorKind::Network, message).with_hint(hint)
}

/// Returns the root cause of an error, without URLs that may contain keys.
fn root_cause(error: &reqwest::Error) -> String {
    let mut last = None;
    let mut cause = error.source();
    while let Some(error) = cause {
        last = Some(error.to_string());
        cause = error.source();
    }
    last.unwrap_or_else(|| {
        if error.is_timeout() { "the request timed out".to_owned() } else { "no answer".to_owned() }
    })
}
