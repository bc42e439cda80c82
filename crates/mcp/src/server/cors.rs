//! CORS headers, which allow pages of permitted origins to call the server and
//! read its replies. Other origins get none.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, StatusCode};

use super::request::{HttpReply, text_reply};

/// Request headers of clients, in both eras of the protocol.
const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, \
                    MCP-Protocol-Version, Mcp-Method, Mcp-Name";

/// Prefix of the headers that repeat an argument of a call.
const PARAM_HEADER_PREFIX: &str = "mcp-param-";

/// Response headers that clients read.
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate");

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// How long a browser may cache a preflight reply, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Pages from other networks may call a server on this machine only if it
/// allows it.
const PRIVATE_NETWORK_REQUEST: &str = "access-control-request-private-network";
const PRIVATE_NETWORK_ALLOW: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");

/// Returns the origin of the requesting page, if a browser sends it.
pub(crate) fn origin(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ORIGIN).cloned()
}

/// Whether a request is a CORS preflight, which never carries a token.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Builds the reply to an allowed preflight.
pub(crate) fn preflight_reply(headers: &HeaderMap) -> HttpReply {
    let mut reply = text_reply(StatusCode::NO_CONTENT, "");
    let shown = reply.headers_mut();
    shown.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    shown.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    let allowed = HeaderValue::try_from(allowed_headers(headers));
    shown.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        allowed.unwrap_or_else(|_| HeaderValue::from_static(ALLOWED_HEADERS)),
    );
    if headers.contains_key(PRIVATE_NETWORK_REQUEST) {
        shown.insert(PRIVATE_NETWORK_ALLOW, HeaderValue::from_static("true"));
    }
    reply
}

/// Returns the headers that a page may send. Headers that repeat arguments are
/// named after them, so those that were requested are allowed by prefix.
fn allowed_headers(headers: &HeaderMap) -> String {
    let asked = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
    let asked = asked.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let arguments = asked.map(str::trim).filter(|name| {
        let begin = name.get(..PARAM_HEADER_PREFIX.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(PARAM_HEADER_PREFIX))
            && HeaderName::from_bytes(name.as_bytes()).is_ok()
    });
    std::iter::once(ALLOWED_HEADERS).chain(arguments).collect::<Vec<_>>().join(", ")
}

/// Lets pages of this origin read a reply.
pub(crate) fn allow_origin(reply: &mut HttpReply, origin: HeaderValue) {
    let shown = reply.headers_mut();
    shown.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    shown.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    shown.append(VARY, HeaderValue::from_static("Origin"));
}
