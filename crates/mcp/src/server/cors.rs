//! What a browser is told, so that the pages that may call the server can, and
//! can read what it says. Other pages are told nothing.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, StatusCode};

use super::request::{Reply, brief};

/// What clients send, in both eras of the protocol.
const SENT: &str = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, \
                    MCP-Protocol-Version, Mcp-Method, Mcp-Name";

/// How the headers begin that repeat an argument of a call.
const ARGUMENT: &str = "mcp-param-";

/// What they read.
const READ: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate");

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// How long a browser need not ask again, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Pages from elsewhere may ask for a server on this machine only if it says so.
const LOCAL_ASKED: &str = "access-control-request-private-network";
const LOCAL_ALLOWED: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The page that a request comes from, if a browser says so.
pub(crate) fn origin(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ORIGIN).cloned()
}

/// Whether a browser asks if it may ask. It never shows a token for that.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Tells a browser that it may ask.
pub(crate) fn may_ask(headers: &HeaderMap) -> Reply {
    let mut reply = brief(StatusCode::NO_CONTENT, "");
    let told = reply.headers_mut();
    told.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    told.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    let allowed = HeaderValue::try_from(allowed(headers));
    told.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        allowed.unwrap_or_else(|_| HeaderValue::from_static(SENT)),
    );
    if headers.contains_key(LOCAL_ASKED) {
        told.insert(LOCAL_ALLOWED, HeaderValue::from_static("true"));
    }
    reply
}

/// The headers that a page may send. Those that repeat arguments have the
/// names of arguments, of which there are many.
fn allowed(headers: &HeaderMap) -> String {
    let asked = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
    let asked = asked.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let arguments = asked.map(str::trim).filter(|name| {
        let begin = name.get(..ARGUMENT.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(ARGUMENT))
            && HeaderName::from_bytes(name.as_bytes()).is_ok()
    });
    std::iter::once(SENT).chain(arguments).collect::<Vec<_>>().join(", ")
}

/// Lets the page of this origin read a reply.
pub(crate) fn open(reply: &mut Reply, origin: HeaderValue) {
    let told = reply.headers_mut();
    told.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    told.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    told.append(VARY, HeaderValue::from_static("Origin"));
}
