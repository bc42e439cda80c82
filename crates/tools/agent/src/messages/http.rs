//! HTTP client that posts JSON to a webhook, with retries.

use std::error::Error as _;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::targets::checked_host;

/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of attempts while the server is busy.
const MAX_ATTEMPTS: usize = 3;

/// Longest wait before a retry.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(20);

/// Maximum number of response bytes read.
const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// Maximum number of response characters quoted in an error.
const MAX_QUOTED_CHARS: usize = 300;

/// HTTP client for one webhook URL.
pub(crate) struct WebhookClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

impl WebhookClient {
    /// Creates a client for `address`, which must be on the declared host.
    pub(crate) fn new(address: &str, host: &str) -> Result<Self, ToolError> {
        let actual = checked_host(address).map_err(ToolError::unavailable)?;
        if actual != host {
            return Err(ToolError::denied(format!(
                "The target's URL is on {actual}, not on {host}"
            ))
            .with_hint("Put the URL itself into the settings, or set its host."));
        }
        let url = Url::parse(address).map_err(|e| ToolError::unavailable(e.to_string()))?;
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST_TIMEOUT)
            // The policy allowed only this host.
            .redirect(Policy::none())
            .build()
            .map_err(|e| {
                ToolError::unavailable(format!(
                    "Cannot create the HTTP client: {}",
                    error_chain(&e)
                ))
            })?;
        Ok(Self { client, url, headers: HeaderMap::new() })
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Result<Self, ToolError> {
        let wrong = || ToolError::unavailable(format!("The target's header '{name}' is invalid"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.headers.insert(key, value);
        Ok(self)
    }

    /// Posts `body`, retrying while the server is busy, and returns the
    /// response.
    pub(crate) async fn send(&self, body: &Value, cx: &ToolContext) -> Result<String, ToolError> {
        let bytes = serde_json::to_vec(body).map_err(|e| ToolError::internal(e.to_string()))?;
        for left in (0..MAX_ATTEMPTS).rev() {
            let request = self
                .client
                .post(self.url.clone())
                .header("content-type", "application/json")
                .headers(self.headers.clone())
                .body(bytes.clone());
            let answer = cx.run_until_cancelled(request.send()).await?.map_err(request_error)?;
            let status = answer.status();
            let retry =
                answer.headers().get("retry-after").and_then(|v| v.to_str().ok()?.parse().ok());
            let text = cx.run_until_cancelled(read_body(answer)).await?;
            if status.is_success() {
                return Ok(text);
            }
            // After any other status the message may have been accepted, so it
            // must not be sent twice.
            let is_busy = matches!(status.as_u16(), 429 | 503);
            if !is_busy || left == 0 {
                let kind = if is_busy { ErrorKind::Limit } else { ErrorKind::Network };
                let said: String = text.chars().take(MAX_QUOTED_CHARS).collect();
                let status = status.as_u16();
                return Err(ToolError::new(
                    kind,
                    format!("The server responded with status {status}: {said}"),
                )
                .with("status", status)
                .with_hint(status_advice(status)));
            }
            let wait = retry
                .or_else(|| retry_after_seconds(&text))
                .unwrap_or(1.0_f64)
                .clamp(0.1, MAX_RETRY_WAIT.as_secs_f64());
            cx.report_progress(None, format!("the server is busy; retrying in {wait:.0} s"));
            cx.run_until_cancelled(tokio::time::sleep(Duration::from_secs_f64(wait))).await?;
        }
        Err(ToolError::internal("The message was never sent"))
    }
}

/// Returns the hint for a failed response.
fn status_advice(status: u16) -> &'static str {
    match status {
        429 | 503 => "The server is busy; retry later.",
        401 | 403 => "The server rejects the key of the target in messaging.targets.",
        300..400 => "The server redirects to another address; correct it in messaging.targets.",
        400..500 => "The same message would be refused again; check the message and the target.",
        _ => "The message may have been accepted; ask the user before sending it again.",
    }
}

/// Parses the retry delay in seconds, as sent by Discord and Telegram.
fn retry_after_seconds(answer: &str) -> Option<f64> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    answer.get("retry_after").or_else(|| answer.pointer("/parameters/retry_after"))?.as_f64()
}

async fn read_body(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_RESPONSE_BYTES {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Omits the URL, which may contain a token.
fn request_error(error: reqwest::Error) -> ToolError {
    let late = error.is_timeout();
    let text = error_chain(&error.without_url());
    match late {
        true => ToolError::new(ErrorKind::Timeout, format!("The request timed out: {text}")),
        false => {
            ToolError::new(ErrorKind::Network, format!("The server cannot be reached: {text}"))
        }
    }
}

fn error_chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
