//! MCP requests over HTTP, with bounds on the size of every response.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Stream, StreamExt as _};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::probe;
use super::stdio_transport::{MAX_MESSAGE_BYTES, TOO_LONG_MARKER, parse_server_message};

const SESSION_HEADER: &str = "Mcp-Session-Id";
const JSON_TYPE: &str = "application/json";
const EVENT_STREAM_TYPE: &str = "text/event-stream";

/// Maximum number of bytes read from an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;

type HttpHeaders = HashMap<HeaderName, HeaderValue>;
type HttpClientError = StreamableHttpError<reqwest::Error>;

/// An HTTP error status. The status shows whether the server accepted the
/// request.
#[derive(Debug, thiserror::Error)]
#[error("HTTP {status}{}{said}", if said.is_empty() { "" } else { ": " })]
pub(crate) struct HttpStatusError {
    pub(crate) status: StatusCode,
    /// The server's `Retry-After` header.
    pub(crate) retry_after: Option<String>,
    said: String,
}

/// Whether a status means that the server did not process the request. After a
/// request timeout it may have.
pub(crate) fn is_declined(status: StatusCode) -> bool {
    (status.is_client_error() || status.is_redirection()) && status != StatusCode::REQUEST_TIMEOUT
}

/// An HTTP client that bounds the size of responses.
#[derive(Debug, Clone)]
pub(crate) struct BoundedHttpClient(pub(crate) reqwest::Client);

impl StreamableHttpClient for BoundedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HttpHeaders,
    ) -> Result<StreamableHttpPostResponse, HttpClientError> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            token,
            headers,
            MAX_MESSAGE_BYTES,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HttpHeaders,
        longest: usize,
    ) -> Result<StreamableHttpPostResponse, HttpClientError> {
        let mut request =
            self.0.post(&*uri).header(ACCEPT, format!("{EVENT_STREAM_TYPE}, {JSON_TYPE}"));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let had_token = token.is_some();
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let had_session = session.is_some();
        if let Some(session) = session {
            request = request.header(SESSION_HEADER, &*session);
        }
        let answer = request.json(&message).send().await?;
        let status = answer.status();
        if let Some(fault) = auth_error(&answer, had_token) {
            return Err(fault);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = header_text(&answer, SESSION_HEADER);
        let kind = header_text(&answer, CONTENT_TYPE.as_str()).unwrap_or_default();
        if !status.is_success() {
            return refused_response(&message, had_session, answer, session).await;
        }
        if kind.starts_with(EVENT_STREAM_TYPE) {
            let bytes = BoundedStream {
                inner: answer.bytes_stream().boxed(),
                max_event_bytes: longest,
                event_bytes: 0,
                last_bytes: [0; 3],
            };
            let events = SseStream::from_bytes_stream(bytes).boxed();
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let wants_answer = request_id(&message).is_some();
        let body = read_body(answer, longest).await?;
        match parse_server_message(&body) {
            // No session starts with the response to a probe.
            Ok(answer) if kind.starts_with(JSON_TYPE) && probe::is_probe(&message) => {
                Ok(StreamableHttpPostResponse::Json(probe::normalize_response(answer), None))
            }
            Ok(answer) if kind.starts_with(JSON_TYPE) => {
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            Err(error) => {
                let text = String::from_utf8_lossy(&body);
                let text = super::sanitize::excerpt(&text, 200);
                Err(unexpected_response(format!("{error}, in a response of type '{kind}': {text}")))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HttpHeaders,
    ) -> Result<(), HttpClientError> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HttpHeaders,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpClientError> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session,
            last_event,
            token,
            headers,
            MAX_MESSAGE_BYTES,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HttpHeaders,
        longest: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpClientError> {
        let inner = &self.0;
        inner
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, longest)
            .await
    }
}

fn unexpected_response(text: String) -> HttpClientError {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
}

fn header_text(answer: &Response, header: &str) -> Option<String> {
    let value = answer.headers().get(header)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// Returns the server's `Bearer` challenge, or its first challenge if there is
/// none.
pub(crate) fn bearer_challenge(answer: &Response) -> Option<String> {
    let all = answer.headers().get_all(WWW_AUTHENTICATE).iter();
    let mut all = all.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let first = all.next()?;
    let is_it =
        |text: &String| text.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    if is_it(&first) { Some(first) } else { all.find(is_it).or(Some(first)) }
}

fn auth_error(answer: &Response, had_token: bool) -> Option<HttpClientError> {
    let challenge = bearer_challenge(answer);
    match answer.status() {
        // A rejected token requires a login even without a challenge.
        StatusCode::UNAUTHORIZED if had_token || challenge.is_some() => {
            let error = AuthRequiredError::new(challenge.unwrap_or_default());
            Some(StreamableHttpError::AuthRequired(error))
        }
        StatusCode::FORBIDDEN => {
            let params = WWWAuthenticateParams::parse(challenge.as_deref()?, answer.url());
            let error = InsufficientScopeError::new(challenge?, params.scope.clone());
            params.is_insufficient_scope().then_some(StreamableHttpError::InsufficientScope(error))
        }
        _ => None,
    }
}

/// Converts an HTTP error to the JSON-RPC error in its body, or to an error.
async fn refused_response(
    message: &ClientJsonRpcMessage,
    had_session: bool,
    answer: Response,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, HttpClientError> {
    let status = answer.status();
    let retry_after = header_text(&answer, RETRY_AFTER.as_str());
    let elsewhere = header_text(&answer, LOCATION.as_str());
    let body = read_body(answer, MAX_ERROR_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let shown = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(JsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // Servers that do not know the probe reject it in many ways, and often
    // without its request id.
    if probe::is_probe(message) && !had_session && status.is_client_error() && !is_login {
        let error = match shown {
            Some(error) => error.error,
            None => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let answer = ServerJsonRpcMessage::error(error, request_id(message).cloned());
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    if let Some(error) = shown.filter(|_| !is_login) {
        return Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session));
    }
    let said = match elsewhere {
        Some(place) => format!("redirects to {}", super::sanitize::excerpt(&place, 200)),
        None => super::sanitize::excerpt(&text, 200),
    };
    let failed = HttpStatusError { status, retry_after, said };
    Err(StreamableHttpError::Io(std::io::Error::other(failed)))
}

/// Reads a response body of at most `longest` bytes.
async fn read_body(mut answer: Response, longest: usize) -> Result<Vec<u8>, HttpClientError> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if body.len() + piece.len() > longest {
            return Err(unexpected_response(TOO_LONG_MARKER.to_owned()));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// A byte stream of events, each of bounded size.
struct BoundedStream<S> {
    inner: S,
    max_event_bytes: usize,
    event_bytes: usize,
    last_bytes: [u8; 3],
}

/// Why a bounded stream ends.
#[derive(Debug, thiserror::Error)]
enum BoundedStreamError {
    #[error("{}", TOO_LONG_MARKER)]
    TooLong,
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

impl<S, B> Stream for BoundedStream<S>
where
    S: Stream<Item = Result<B, reqwest::Error>> + Unpin,
    B: AsRef<[u8]>,
{
    type Item = Result<B, BoundedStreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = match self.inner.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(piece))) => piece,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        };
        for byte in piece.as_ref() {
            self.event_bytes += 1;
            let [_, b, c] = self.last_bytes;
            self.last_bytes = [b, c, *byte];
            // An empty line ends an event.
            if matches!(
                self.last_bytes,
                [_, b'\n', b'\n'] | [b'\n', b'\r', b'\n'] | [_, b'\r', b'\r']
            ) {
                self.event_bytes = 0;
            }
            if self.event_bytes > self.max_event_bytes {
                return Poll::Ready(Some(Err(BoundedStreamError::TooLong)));
            }
        }
        Poll::Ready(Some(Ok(piece)))
    }
}
