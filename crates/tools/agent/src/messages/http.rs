//! JSON to a server, once it takes it.

use std::error::Error as _;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::targets::checked_host;

/// How long a server may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a message is offered to a server that is busy.
const MAX_ATTEMPTS: usize = 3;

/// The longest that a busy server is waited for.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(20);

/// How much of an answer is read.
const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// How much of an answer an error shows.
const MAX_QUOTED_CHARS: usize = 300;

/// A way to one host.
pub(crate) struct WebhookClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

impl WebhookClient {
    /// A way to `address`, which must be on the host that was declared.
    pub(crate) fn new(address: &str, host: &str) -> Result<Self, ToolError> {
        let actual = checked_host(address).map_err(ToolError::unavailable)?;
        if actual != host {
            return Err(ToolError::denied(format!(
                "The target's address is on {actual}, not on {host}"
            ))
            .with_hint("Put the address itself into the settings, or give its host."));
        }
        let url = Url::parse(address).map_err(|e| ToolError::unavailable(e.to_string()))?;
        // It fails if another part of the program has chosen already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST_TIMEOUT)
            // What was allowed is this host and no other.
            .redirect(Policy::none())
            .build()
            .map_err(|e| {
                ToolError::unavailable(format!("HTTP cannot be set up: {}", error_chain(&e)))
            })?;
        Ok(Self { client, url, headers: HeaderMap::new() })
    }

    /// With one more header.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Result<Self, ToolError> {
        let wrong =
            || ToolError::unavailable(format!("The header '{name}' of the target is wrong"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.headers.insert(key, value);
        Ok(self)
    }

    /// Offers `body` until the server takes it, and gives its answer.
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
            // Anything else may have been taken, and must not be sent twice.
            let is_busy = matches!(status.as_u16(), 429 | 503);
            if !is_busy || left == 0 {
                let kind = if is_busy { ErrorKind::Limit } else { ErrorKind::Network };
                let said: String = text.chars().take(MAX_QUOTED_CHARS).collect();
                let status = status.as_u16();
                return Err(ToolError::new(
                    kind,
                    format!("The server refused with {status}: {said}"),
                )
                .with("status", status)
                .with_hint(status_advice(status)));
            }
            let wait = retry
                .or_else(|| retry_after_seconds(&text))
                .unwrap_or(1.0_f64)
                .clamp(0.1, MAX_RETRY_WAIT.as_secs_f64());
            cx.report_progress(None, format!("the server is busy; trying again in {wait:.0} s"));
            cx.run_until_cancelled(tokio::time::sleep(Duration::from_secs_f64(wait))).await?;
        }
        Err(ToolError::internal("The message was never offered"))
    }
}

/// What to do about a refusal.
fn status_advice(status: u16) -> &'static str {
    match status {
        429 | 503 => "The server is busy; try again later.",
        401 | 403 => "The key of the target in messaging.targets is not accepted.",
        300..400 => "The address leads elsewhere; correct it in messaging.targets.",
        400..500 => "The same message would be refused again; look at it and at the target.",
        _ => "Whether it was taken is unknown; ask the user before it is sent again.",
    }
}

/// How many seconds to wait, as Discord and Telegram say it.
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

/// The address may hold a token, so that it is left out.
fn request_error(error: reqwest::Error) -> ToolError {
    let late = error.is_timeout();
    let text = error_chain(&error.without_url());
    match late {
        true => {
            ToolError::new(ErrorKind::Timeout, format!("The server did not answer in time: {text}"))
        }
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
