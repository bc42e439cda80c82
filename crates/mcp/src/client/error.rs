//! Errors of requests to a server, classified by what the server may have done.

use std::error::Error;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};
use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::AuthError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};
use serde_json::Value;

use super::sanitize::excerpt;
use super::stdio_transport::{TOO_LONG_MARKER, UNREADABLE_MARKER};
use super::streamable_http::{HttpStatusError, is_declined};

type StreamableError = StreamableHttpError<reqwest::Error>;

/// Maximum length of a server's message, in characters.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// Error code of a server that requires the user to open a URL first.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// Authorization that a server requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthRequirement {
    /// A login.
    Login,
    /// A login with these scopes.
    Scopes(String),
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum McpRequestError {
    /// The server did not receive the request.
    NotSent(String),
    /// The server received the request, or may have, and the response was lost.
    Lost(String),
    /// The server was silent for too long; the request was cancelled.
    IdleTimeout(Duration),
    /// The request took too long despite progress, and was cancelled.
    TotalTimeout(Duration),
    /// The caller cancelled the request.
    Cancelled,
    /// The server requires a login.
    AuthRequired(AuthRequirement),
    /// The user must open URLs first; the server's elicitations.
    UrlElicitation(Vec<Value>),
    /// The server refused the request, or its response cannot be used.
    Refused(ToolError),
    /// The server responded, but the response cannot be read.
    Unreadable(ToolError),
}

impl McpRequestError {
    pub(crate) fn from_service_error(server: &str, error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) if error.code == URL_ELICITATION_REQUIRED => {
                let list = error.data.as_ref().and_then(|data| data.get("elicitations"));
                Self::UrlElicitation(list.and_then(Value::as_array).cloned().unwrap_or_default())
            }
            ServiceError::McpError(error) => match unreadable_error(server, &error) {
                Some(unread) => Self::Unreadable(unread),
                None => Self::Refused(refusal_error(server, &error)),
            },
            ServiceError::TransportSend(error) => {
                let error: &(dyn Error + 'static) = error.error.as_ref();
                let text = excerpt(&error_chain(error), 500);
                if let Some(want) = auth_requirement(error) {
                    Self::AuthRequired(want)
                } else if is_too_long(error) {
                    Self::Unreadable(too_long_error(server))
                } else if let Some(error) = declined_error(server, error) {
                    Self::Refused(error)
                } else if was_not_sent(error) {
                    Self::NotSent(text)
                } else {
                    Self::Lost(text)
                }
            }
            ServiceError::TransportClosed => Self::Lost("the connection was closed".to_owned()),
            ServiceError::Timeout { timeout } => Self::IdleTimeout(timeout),
            ServiceError::Cancelled { .. } => Self::Cancelled,
            other => Self::Refused(unexpected_response(server, &other.to_string())),
        }
    }

    /// Whether the error is the server's fault rather than the request's.
    pub(crate) fn is_connection_failure(&self) -> bool {
        matches!(
            self,
            Self::NotSent(_) | Self::Lost(_) | Self::IdleTimeout(_) | Self::TotalTimeout(_)
        )
    }
}

impl std::fmt::Display for McpRequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSent(why) | Self::Lost(why) => f.write_str(why),
            Self::IdleTimeout(after) => write!(f, "no response for {} s", after.as_secs_f64()),
            Self::TotalTimeout(after) => write!(f, "it took longer than {} s", after.as_secs_f64()),
            Self::Cancelled => f.write_str("the request was cancelled"),
            Self::AuthRequired(_) => f.write_str("it requires a login"),
            Self::UrlElicitation(_) => f.write_str("it requires the user to open a URL first"),
            Self::Refused(error) | Self::Unreadable(error) => f.write_str(error.message()),
        }
    }
}

/// Error for a response that does not match its request.
pub(crate) fn unexpected_response(server: &str, what: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Network,
        format!("The MCP server '{server}' sent a response that cannot be used: {what}"),
    )
}

fn too_long_error(server: &str) -> ToolError {
    ToolError::limit(format!(
        "The response of the MCP server '{server}' exceeds {} MiB and was discarded",
        super::stdio_transport::MAX_MESSAGE_BYTES >> 20
    ))
}

/// Returns the error for an unreadable response, if it is one.
fn unreadable_error(server: &str, error: &ErrorData) -> Option<ToolError> {
    let has = |mark: &str| error.data.as_ref().is_some_and(|data| data.get(mark).is_some());
    if has(TOO_LONG_MARKER) {
        return Some(too_long_error(server));
    }
    has(UNREADABLE_MARKER).then(|| unexpected_response(server, &error.message))
}

fn refusal_error(server: &str, error: &ErrorData) -> ToolError {
    let message = excerpt(&error.message, MAX_MESSAGE_CHARS);
    let text = format!("The MCP server '{server}' refuses: {message}");
    let failed = match error.code {
        ErrorCode::INVALID_PARAMS => ToolError::invalid(text),
        ErrorCode::METHOD_NOT_FOUND | ErrorCode::RESOURCE_NOT_FOUND => ToolError::not_found(text),
        _ => ToolError::conflict(text)
            .with_hint("This is the server's own message; another call or another tool may help."),
    };
    let failed = failed.with("code", error.code.0);
    match &error.data {
        None | Some(Value::Null) => failed,
        Some(Value::String(text)) => failed.with("data", excerpt(text, MAX_MESSAGE_CHARS)),
        Some(data) => failed.with("data", excerpt(&data.to_string(), MAX_MESSAGE_CHARS)),
    }
}

/// Formats an error with its causes, without repetitions.
pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // A pure wrapper adds nothing to the message.
        let passes_on =
            matches!(error.downcast_ref::<StreamableError>(), Some(StreamableError::Io(_)));
        if !passes_on && !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = error_source(error).filter(|_| parts.len() < 5);
    }
    parts.join(": ")
}

/// Formats why the handshake with a server failed.
pub(crate) fn initialize_error_chain(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            let (newer, older) =
                (initialize_error_chain(discover), initialize_error_chain(fallback));
            if newer == older {
                newer
            } else {
                format!("{older} (with the newer protocol: {newer})")
            }
        }
        ClientInitializeError::TransportError { error, .. } => error_chain(error.error.as_ref()),
        ClientInitializeError::JsonRpcError(error) => format!("it refuses: {}", error.message),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs = server_supported.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>();
            format!("it speaks an unsupported protocol version: {}", theirs.join(", "))
        }
        ClientInitializeError::ExpectedInitResult(Some(answer)) => {
            let answer = serde_json::to_string(answer).unwrap_or_default();
            format!("its response to the handshake cannot be used: {}", excerpt(&answer, 300))
        }
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        other => error_chain(other),
    }
}

/// Whether a server responded to the handshake with a refusal.
pub(crate) fn is_refusal(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_refusal(fallback),
        ClientInitializeError::JsonRpcError(_)
        | ClientInitializeError::NoCompatibleProtocolVersion { .. } => true,
        _ => false,
    }
}

/// Whether the server supports none of our protocol versions.
pub(crate) fn is_version_mismatch(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            is_version_mismatch(fallback)
        }
        other => matches!(other, ClientInitializeError::NoCompatibleProtocolVersion { .. }),
    }
}

/// Whether a server responded to the handshake.
pub(crate) fn has_answered(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => has_answered(fallback),
        ClientInitializeError::ExpectedInitResult(Some(_)) => true,
        other => is_refusal(other),
    }
}

/// Returns the cause of an error.
fn error_source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let web = match error.downcast_ref::<StreamableError>() {
        // Does not report its cause through `source`.
        Some(StreamableError::Client(error)) => Some(error as &(dyn Error + 'static)),
        _ => None,
    };
    // Neither does `io::Error`.
    let inner =
        || error.downcast_ref::<std::io::Error>()?.get_ref().map(|it| it as &(dyn Error + 'static));
    web.or_else(inner).or_else(|| error.source())
}

fn error_sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error_source(error);
        Some(error)
    })
    .take(16)
}

/// Whether the request cannot have reached the server.
fn was_not_sent(error: &(dyn Error + 'static)) -> bool {
    error_sources(error).any(|error| {
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return error.is_connect() || error.is_builder();
        }
        // Without a valid token no request was sent.
        if error.is::<AuthError>() {
            return true;
        }
        // The server ignores an incomplete line.
        error.downcast_ref::<std::io::Error>().is_some_and(|error| {
            use std::io::ErrorKind::{BrokenPipe, ConnectionRefused, NotConnected};
            matches!(error.kind(), BrokenPipe | NotConnected | ConnectionRefused)
        })
    })
}

fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    error_sources(error).any(|error| error.to_string().contains(TOO_LONG_MARKER))
}

/// Returns the error for a request that the server rejected without running it.
fn declined_error(server: &str, error: &(dyn Error + 'static)) -> Option<ToolError> {
    let (status, retry_after, text) = error_sources(error).find_map(|error| {
        if let Some(it) = error.downcast_ref::<HttpStatusError>() {
            let shown = (it.status, it.retry_after.clone(), it.to_string());
            return is_declined(it.status).then_some(shown);
        }
        let status = error.downcast_ref::<reqwest::Error>()?.status()?;
        is_declined(status).then(|| (status, None, format!("HTTP {status}")))
    })?;
    let text = format!("The MCP server '{server}' did not accept the call: {text}");
    let shown = match status.as_u16() {
        401 | 403 => ToolError::denied(text).with_hint(format!(
            "Nothing was done. Check `headers` and `auth` of its entry; `hermes mcp test \
             {server}` shows its state."
        )),
        404 | 410 => {
            ToolError::not_found(text).with_hint("Nothing was done. Check `url` of its entry.")
        }
        429 => {
            let when = match &retry_after {
                Some(after) => format!("The server says when to retry: {}.", excerpt(after, 100)),
                None => "Wait before retrying.".to_owned(),
            };
            ToolError::limit(text).with_hint(format!("Nothing was done. {when}"))
        }
        _ => ToolError::conflict(text).with_hint("Nothing was done."),
    };
    let shown = shown.with("effect_disposition", "none");
    Some(match retry_after {
        Some(after) => shown.with("retry_after", excerpt(&after, 100)),
        None => shown,
    })
}

/// Returns the login that the server requires, if that is the cause.
pub(crate) fn auth_requirement(error: &(dyn Error + 'static)) -> Option<AuthRequirement> {
    error_sources(error).find_map(|error| {
        if let Some(refused) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(AuthRequirement::Scopes(
                refused.required_scope.clone().unwrap_or_default(),
            ));
        }
        let is_login = error.is::<AuthRequiredError>()
            || matches!(error.downcast_ref(), Some(AuthError::AuthorizationRequired));
        is_login.then_some(AuthRequirement::Login)
    })
}

/// Returns the login that the server requires for the handshake, if that is the
/// cause.
pub(crate) fn initialize_auth_requirement(
    error: &ClientInitializeError,
) -> Option<AuthRequirement> {
    let found = match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            initialize_auth_requirement(fallback).or_else(|| initialize_auth_requirement(discover))
        }
        ClientInitializeError::TransportError { error, .. } => {
            auth_requirement(error.error.as_ref())
        }
        other => auth_requirement(other),
    };
    found.or_else(|| error.is_authorization_required().then_some(AuthRequirement::Login))
}
