//! Why a request to a server failed, in terms of what may have happened.

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

use super::pipes::{TOO_LONG, UNREADABLE};
use super::plain::excerpt;
use super::web::{Failed, is_declined};

type Web = StreamableHttpError<reqwest::Error>;

/// How much of a server's words is shown.
const SHOWN: usize = 4_000;

/// The code of a refusal that ends when the user has been somewhere.
const VISIT_FIRST: ErrorCode = ErrorCode(-32042);

/// What a server wants before it does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Want {
    /// A login.
    Login,
    /// A login with these scopes.
    Scope(String),
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server did not get it.
    NotSent(String),
    /// It got it, or may have, and the answer was lost.
    Lost(String),
    /// It was silent for too long, and told to stop.
    Late(Duration),
    /// It took too long, however much it said, and was told to stop.
    Long(Duration),
    /// We no longer want it.
    Cancelled,
    /// It wants a login.
    Login(Want),
    /// The user must go somewhere first; what the server says of it.
    Visit(Vec<Value>),
    /// The server refused it, or answered in a way that cannot be used.
    Refused(ToolError),
    /// It has answered, and nobody can read what.
    Unread(ToolError),
}

impl Fault {
    pub(crate) fn of(server: &str, error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) if error.code == VISIT_FIRST => {
                let list = error.data.as_ref().and_then(|data| data.get("elicitations"));
                Self::Visit(list.and_then(Value::as_array).cloned().unwrap_or_default())
            }
            ServiceError::McpError(error) => match unread(server, &error) {
                Some(unread) => Self::Unread(unread),
                None => Self::Refused(refusal(server, &error)),
            },
            ServiceError::TransportSend(error) => {
                let error: &(dyn Error + 'static) = error.error.as_ref();
                let text = excerpt(&causes(error), 500);
                if let Some(want) = want_of(error) {
                    Self::Login(want)
                } else if is_too_long(error) {
                    Self::Unread(too_long(server))
                } else if let Some(error) = declined(server, error) {
                    Self::Refused(error)
                } else if is_unsent(error) {
                    Self::NotSent(text)
                } else {
                    Self::Lost(text)
                }
            }
            ServiceError::TransportClosed => Self::Lost("the connection was closed".to_owned()),
            ServiceError::Timeout { timeout } => Self::Late(timeout),
            ServiceError::Cancelled { .. } => Self::Cancelled,
            other => Self::Refused(odd(server, &other.to_string())),
        }
    }

    /// Whether it speaks against the server rather than against the request.
    pub(crate) fn is_breakdown(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::Lost(_) | Self::Late(_) | Self::Long(_))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSent(why) | Self::Lost(why) => f.write_str(why),
            Self::Late(after) => write!(f, "it said nothing for {} s", after.as_secs_f64()),
            Self::Long(after) => write!(f, "it took longer than {} s", after.as_secs_f64()),
            Self::Cancelled => f.write_str("it is no longer wanted"),
            Self::Login(_) => f.write_str("it wants a login"),
            Self::Visit(_) => f.write_str("it wants the user to go somewhere first"),
            Self::Refused(error) | Self::Unread(error) => f.write_str(error.message()),
        }
    }
}

/// An answer that fits no question.
pub(crate) fn odd(server: &str, what: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Network,
        format!("The MCP server '{server}' answered in a way that cannot be used: {what}"),
    )
}

fn too_long(server: &str) -> ToolError {
    ToolError::limit(format!(
        "The answer of the MCP server '{server}' is longer than {} MiB and was thrown away",
        super::pipes::LONGEST >> 20
    ))
}

/// What is told of an answer that could not be read, if that is what it is.
fn unread(server: &str, error: &ErrorData) -> Option<ToolError> {
    let has = |mark: &str| error.data.as_ref().is_some_and(|data| data.get(mark).is_some());
    if has(TOO_LONG) {
        return Some(too_long(server));
    }
    has(UNREADABLE).then(|| odd(server, &error.message))
}

fn refusal(server: &str, error: &ErrorData) -> ToolError {
    let message = excerpt(&error.message, SHOWN);
    let text = format!("The MCP server '{server}' refuses: {message}");
    let failed = match error.code {
        ErrorCode::INVALID_PARAMS => ToolError::invalid(text),
        ErrorCode::METHOD_NOT_FOUND | ErrorCode::RESOURCE_NOT_FOUND => ToolError::not_found(text),
        _ => ToolError::conflict(text)
            .with_hint("These are the server's own words; another call or another tool may help."),
    };
    let failed = failed.with("code", error.code.0);
    match &error.data {
        None | Some(Value::Null) => failed,
        Some(Value::String(text)) => failed.with("data", excerpt(text, SHOWN)),
        Some(data) => failed.with("data", excerpt(&data.to_string(), SHOWN)),
    }
}

/// An error and what has caused it, each once.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // What only passes something on says nothing by itself.
        let passes_on = matches!(error.downcast_ref::<Web>(), Some(Web::Io(_)));
        if !passes_on && !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = beneath(error).filter(|_| parts.len() < 5);
    }
    parts.join(": ")
}

/// Why a server could not be greeted.
pub(crate) fn greeting_causes(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            let (newer, older) = (greeting_causes(discover), greeting_causes(fallback));
            if newer == older { newer } else { format!("{older} (the newer way: {newer})") }
        }
        ClientInitializeError::TransportError { error, .. } => causes(error.error.as_ref()),
        ClientInitializeError::JsonRpcError(error) => format!("it refuses: {}", error.message),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs = server_supported.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>();
            format!(
                "it speaks a version of the protocol that is not known here: {}",
                theirs.join(", ")
            )
        }
        ClientInitializeError::ExpectedInitResult(Some(answer)) => {
            let answer = serde_json::to_string(answer).unwrap_or_default();
            format!("its answer to the greeting cannot be used: {}", excerpt(&answer, 300))
        }
        ClientInitializeError::ConnectionClosed(_) => "it has closed the connection".to_owned(),
        other => causes(other),
    }
}

/// Whether a server has answered the greeting, and refuses.
pub(crate) fn is_refusal(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_refusal(fallback),
        ClientInitializeError::JsonRpcError(_)
        | ClientInitializeError::NoCompatibleProtocolVersion { .. } => true,
        _ => false,
    }
}

/// Whether it speaks no version of the protocol that we know.
pub(crate) fn is_foreign(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_foreign(fallback),
        other => matches!(other, ClientInitializeError::NoCompatibleProtocolVersion { .. }),
    }
}

/// Whether a server has answered the greeting at all.
pub(crate) fn has_answered(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => has_answered(fallback),
        ClientInitializeError::ExpectedInitResult(Some(_)) => true,
        other => is_refusal(other),
    }
}

/// What an error was caused by.
fn beneath<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let web = match error.downcast_ref::<Web>() {
        // It does not name its cause in the usual way.
        Some(Web::Client(error)) => Some(error as &(dyn Error + 'static)),
        _ => None,
    };
    // Nor does this one.
    let inner =
        || error.downcast_ref::<std::io::Error>()?.get_ref().map(|it| it as &(dyn Error + 'static));
    web.or_else(inner).or_else(|| error.source())
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = beneath(error);
        Some(error)
    })
    .take(16)
}

/// Whether it cannot have reached the server.
fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return error.is_connect() || error.is_builder();
        }
        // Without a token that is good nothing was done.
        if error.is::<AuthError>() {
            return true;
        }
        // A line that was not written to its end is none.
        error.downcast_ref::<std::io::Error>().is_some_and(|error| {
            use std::io::ErrorKind::{BrokenPipe, ConnectionRefused, NotConnected};
            matches!(error.kind(), BrokenPipe | NotConnected | ConnectionRefused)
        })
    })
}

fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| error.to_string().contains(TOO_LONG))
}

/// What is told of a request that the server has not taken.
fn declined(server: &str, error: &(dyn Error + 'static)) -> Option<ToolError> {
    let (status, retry_after, text) = chain(error).find_map(|error| {
        if let Some(it) = error.downcast_ref::<Failed>() {
            let told = (it.status, it.retry_after.clone(), it.to_string());
            return is_declined(it.status).then_some(told);
        }
        let status = error.downcast_ref::<reqwest::Error>()?.status()?;
        is_declined(status).then(|| (status, None, format!("HTTP {status}")))
    })?;
    let text = format!("The MCP server '{server}' has not taken the call: {text}");
    let told = match status.as_u16() {
        401 | 403 => ToolError::denied(text).with_hint(format!(
            "Nothing was done. Look at `headers` and `auth` of its entry; `hermes mcp test \
             {server}` shows how it does."
        )),
        404 | 410 => {
            ToolError::not_found(text).with_hint("Nothing was done. Look at `url` of its entry.")
        }
        429 => {
            let when = match &retry_after {
                Some(after) => format!("It says when to try again: {}.", excerpt(after, 100)),
                None => "Wait before you try again.".to_owned(),
            };
            ToolError::limit(text).with_hint(format!("Nothing was done. {when}"))
        }
        _ => ToolError::conflict(text).with_hint("Nothing was done."),
    };
    let told = told.with("effect_disposition", "none");
    Some(match retry_after {
        Some(after) => told.with("retry_after", excerpt(&after, 100)),
        None => told,
    })
}

/// The login that the server wants first.
pub(crate) fn want_of(error: &(dyn Error + 'static)) -> Option<Want> {
    chain(error).find_map(|error| {
        if let Some(refused) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(Want::Scope(refused.required_scope.clone().unwrap_or_default()));
        }
        let is_login = error.is::<AuthRequiredError>()
            || matches!(error.downcast_ref(), Some(AuthError::AuthorizationRequired));
        is_login.then_some(Want::Login)
    })
}

/// The login that a server wants before it is greeted.
pub(crate) fn greeting_want(error: &ClientInitializeError) -> Option<Want> {
    let found = match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            greeting_want(fallback).or_else(|| greeting_want(discover))
        }
        ClientInitializeError::TransportError { error, .. } => want_of(error.error.as_ref()),
        other => want_of(other),
    };
    found.or_else(|| error.is_authorization_required().then_some(Want::Login))
}
