//! Sends quick responses over HTTP as plain JSON. Only a response that takes
//! longer, or follows other messages, becomes an event stream, which costs both
//! sides twice the work.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout_at};

use super::request::HttpReply;

/// How long to wait for a response before streaming. Clients that wait longer
/// need progress.
pub(crate) const INLINE_REPLY_TIMEOUT: Duration = Duration::from_millis(500);

/// The first message of an event stream.
#[derive(Debug, PartialEq)]
enum FirstEvent {
    /// The response, as JSON text.
    Response(Bytes),
    /// A message before the response.
    Other,
}

/// Converts an event stream to a plain response if that arrives in time.
pub(crate) async fn inline_if_quick(reply: HttpReply, moment: Duration) -> HttpReply {
    let kind = reply.headers().get(CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "text/event-stream") {
        return reply;
    }
    let (mut parts, mut body) = reply.into_parts();
    let until = Instant::now() + moment;
    let mut text = Vec::new();
    while let Ok(Some(Ok(frame))) = timeout_at(until, body.frame()).await {
        let Ok(data) = frame.into_data() else { continue };
        text.extend_from_slice(&data);
        match first_event(&text) {
            None => {}
            Some(FirstEvent::Other) => break,
            Some(FirstEvent::Response(answer)) => {
                parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                parts.headers.remove(CACHE_CONTROL);
                return HttpReply::from_parts(parts, BoxBody::new(Full::new(answer)));
            }
        }
    }
    let begun = stream::iter((!text.is_empty()).then(|| Ok(Frame::data(Bytes::from(text)))));
    let all = StreamBody::new(begun.chain(BodyStream::new(body)));
    HttpReply::from_parts(parts, BoxBody::new(all))
}

/// Parses the first message of an event stream; none if it is incomplete.
fn first_event(text: &[u8]) -> Option<FirstEvent> {
    #[derive(Deserialize)]
    struct EventMessage {
        method: Option<IgnoredAny>,
    }
    let text = std::str::from_utf8(text).ok()?;
    // An empty line ends an event; the text after the last one is incomplete.
    let (ended, _) = text.rsplit_once("\n\n")?;
    let mut events = ended.split("\n\n").map(|event| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    });
    let data = events.find(|data| !data.trim().is_empty())?;
    match serde_json::from_str::<EventMessage>(&data) {
        Ok(EventMessage { method: None }) => Some(FirstEvent::Response(data.into())),
        _ => Some(FirstEvent::Other),
    }
}

#[cfg(test)]
#[path = "reply_body_tests.rs"]
mod tests;
