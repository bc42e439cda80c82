//! JSON-RPC batches over HTTP, which only 2025-03-26 allows. Each message is
//! handled separately; the responses are joined into one reply.

use futures_util::stream::select_all;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::{HttpReply, text_reply};

/// The protocol version that allows batches.
const BATCH_VERSION: &str = "2025-03-26";

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Whether a message initializes a session of that version.
pub(crate) fn is_batch_initialize(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeMessage {
        params: InitializeVersion,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeVersion {
        protocol_version: String,
    }
    let read = serde_json::from_slice::<InitializeMessage>(body);
    read.is_ok_and(|it| it.params.protocol_version == BATCH_VERSION)
}

/// Splits a body into its messages if it is a batch.
pub(crate) fn split_batch(body: &Bytes) -> Option<Vec<Bytes>> {
    if body.trim_ascii_start().first() != Some(&b'[') {
        return None;
    }
    let all: Vec<&RawValue> = serde_json::from_slice(body).ok()?;
    let all = all.iter().map(|one| body.slice_ref(one.get().as_bytes()));
    Some(all.collect::<Vec<_>>()).filter(|all| !all.is_empty())
}

/// The response to one message.
enum BatchPart {
    Json(Bytes),
    Events(HttpReply),
}

/// Joins the replies into one: a JSON array, or an event stream if any of them
/// is a stream.
pub(crate) async fn join_replies(replies: Vec<HttpReply>) -> HttpReply {
    let mut parts = Vec::new();
    let mut first = None;
    for reply in replies {
        let status = reply.status();
        let is_stream = reply.headers().get(CONTENT_TYPE) == Some(&EVENT_STREAM);
        if status.is_success() && first.is_none() {
            first = Some(reply.headers().clone());
        }
        match status {
            // Notifications get no response.
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {}
            _ if is_stream => parts.push(BatchPart::Events(reply)),
            // A response, or the error of one message.
            StatusCode::OK | StatusCode::BAD_REQUEST if is_json(&reply) => {
                let Ok(text) = reply.into_body().collect().await;
                parts.push(BatchPart::Json(text.to_bytes()));
            }
            // An authentication or session error is returned once for the
            // batch.
            _ => return reply,
        }
    }
    let headers = first.unwrap_or_default();
    if parts.is_empty() {
        return with_mcp_headers(text_reply(StatusCode::ACCEPTED, ""), headers);
    }
    if parts.iter().any(|part| matches!(part, BatchPart::Events(_))) {
        return with_mcp_headers(as_stream(parts), headers);
    }
    let texts = parts.iter().map(|part| match part {
        BatchPart::Json(text) => text.as_ref(),
        BatchPart::Events(_) => b"",
    });
    let array = [&b"["[..], &texts.collect::<Vec<_>>().join(&b','), b"]"].concat();
    let mut reply = text_reply(StatusCode::OK, array);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    with_mcp_headers(reply, headers)
}

fn is_json(reply: &HttpReply) -> bool {
    let kind = reply.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

fn as_stream(parts: Vec<BatchPart>) -> HttpReply {
    let streams = parts.into_iter().map(|part| {
        BodyStream::new(match part {
            BatchPart::Json(text) => {
                let event = [&b"data: "[..], &text, b"\n\n"].concat();
                BoxBody::new(Full::new(event.into()))
            }
            BatchPart::Events(reply) => reply.into_body(),
        })
    });
    let mut reply = HttpReply::new(BoxBody::new(StreamBody::new(select_all(streams))));
    reply.headers_mut().insert(CONTENT_TYPE, EVENT_STREAM);
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    reply
}

/// Copies the MCP headers of one of the joined replies.
fn with_mcp_headers(mut reply: HttpReply, headers: HeaderMap) -> HttpReply {
    for (name, value) in &headers {
        if name.as_str().starts_with("mcp-") {
            reply.headers_mut().insert(name.clone(), value.clone());
        }
    }
    reply
}
