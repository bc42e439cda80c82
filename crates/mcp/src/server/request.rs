//! Protocol-independent checks of an HTTP request: content type, accepted types
//! and size.

use std::convert::Infallible;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};

use super::message::{self, MessageRejection};

pub(crate) type HttpReply = Response<BoxBody<Bytes, Infallible>>;

const JSON_TYPE: &str = "application/json";
const EVENT_STREAM_TYPE: &str = "text/event-stream";

/// Multiple of the limit up to which an oversized body is read. A client that
/// is cut off while sending does not read the error.
const OVERSIZE_READ_FACTOR: usize = 4;

/// Builds a plain text reply.
pub(crate) fn text_reply(status: StatusCode, text: impl Into<Bytes>) -> HttpReply {
    let mut reply = Response::new(Full::new(text.into()).boxed());
    *reply.status_mut() = status;
    reply
}

/// Checks the headers, and rewrites equivalent forms to the one that the
/// service accepts.
pub(crate) fn normalize_headers(
    method: &Method,
    headers: &mut HeaderMap,
) -> Result<(), Box<HttpReply>> {
    let wanted: &[&str] = match *method {
        Method::POST => &[JSON_TYPE, EVENT_STREAM_TYPE],
        Method::GET => &[EVENT_STREAM_TYPE],
        _ => return Ok(()),
    };
    if !wanted.iter().all(|media| accepts(headers, media)) {
        let wanted = wanted.join(" and ");
        let said = format!("Accept must include {wanted}");
        return Err(text_reply(StatusCode::NOT_ACCEPTABLE, said).into());
    }
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    if method == Method::POST {
        if !is_json(headers) {
            let wanted = "Content-Type must be application/json";
            return Err(text_reply(StatusCode::UNSUPPORTED_MEDIA_TYPE, wanted).into());
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE));
    }
    Ok(())
}

/// Whether the client accepts this media type.
fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let family = media.split('/').next().unwrap_or_default();
    let ranges = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    ranges.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().unwrap_or_default().to_ascii_lowercase();
        let none = parts.any(|part| {
            let weight = part.split_once('=').filter(|(key, _)| key.trim() == "q");
            weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0))
        });
        let fits = named == media
            || named == "*/*"
            || named.strip_suffix("/*").is_some_and(|named| named == family);
        fits && !none
    })
}

/// Whether the content type is JSON in UTF-8.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(said) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let mut parts = said.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case(JSON_TYPE));
    is_json
        && parts.all(|part| match part.split_once('=') {
            Some((key, value)) if key.trim().eq_ignore_ascii_case("charset") => {
                let value = value.trim().trim_matches('"');
                ["utf-8", "utf8", "us-ascii"].iter().any(|it| value.eq_ignore_ascii_case(it))
            }
            _ => true,
        })
}

/// Reads a body of at most `most` bytes.
pub(crate) async fn read_body<B>(
    headers: &HeaderMap,
    body: B,
    most: usize,
) -> Result<Bytes, HttpReply>
where
    B: Body<Data = Bytes> + Unpin,
{
    let too_large = || {
        let text = format!("The request exceeds {most} bytes");
        let mut reply = text_reply(StatusCode::PAYLOAD_TOO_LARGE, text);
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        reply
    };
    let bound = most.saturating_mul(OVERSIZE_READ_FACTOR);
    let shown = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if shown.is_some_and(|shown: usize| shown > bound) {
        return Err(too_large());
    }
    let mut body = body;
    let mut gathered = Vec::new();
    let mut only = None;
    let mut size = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(text_reply(StatusCode::BAD_REQUEST, "The request body is incomplete"));
        };
        let Ok(data) = frame.into_data() else { continue };
        size = size.saturating_add(data.len());
        if size > bound {
            return Err(too_large());
        }
        if size > most {
            (gathered, only) = (Vec::new(), None);
        } else if size == data.len() {
            // Most bodies arrive in one frame, which need not be copied.
            only = Some(data);
        } else {
            if let Some(first) = only.take() {
                gathered.extend_from_slice(&first);
            }
            gathered.extend_from_slice(&data);
        }
    }
    if size > most {
        return Err(too_large());
    }
    Ok(only.unwrap_or_else(|| gathered.into()))
}

/// Builds the reply to a body that is not a valid message.
pub(crate) fn reject_body(body: &[u8]) -> HttpReply {
    let refusal = message::reject(body).unwrap_or_else(MessageRejection::invalid_reply);
    rejection_reply(&refusal, StatusCode::BAD_REQUEST)
}

/// Builds the reply to an invalid `initialize` request, if the body is one.
pub(crate) fn reject_initialize(body: &[u8]) -> Option<HttpReply> {
    let read = message::parse_message(body).ok().flatten()?;
    message::reject_initialize(&read).map(|it| rejection_reply(&it, StatusCode::BAD_REQUEST))
}

/// Builds the reply for a rejection.
pub(crate) fn rejection_reply(refusal: &MessageRejection, status: StatusCode) -> HttpReply {
    let mut reply = text_reply(status, refusal.to_json());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE));
    reply
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
