//! Local listener that receives the OAuth redirect from the browser.

use std::io;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Maximum size of a request.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// Shown before the code is exchanged, so success is not known yet.
const SUCCESS_PAGE: &str = "<!doctype html><title>Back to hermes</title><p>The login response \
                    was received. hermes shows whether you are logged in; you can close this \
                    window.";
const REFUSED_PAGE: &str = "<!doctype html><title>Not logged in</title><p>The login was refused. You can \
                       close this window.";

const OTHER_LOGIN_PAGE: &str = "<!doctype html><title>Not this login</title><p>This response \
                       belongs to another login. hermes is still waiting for the current one: \
                       open the URL that it showed last.";

/// Listener for the redirect.
#[derive(Debug)]
pub(super) struct CallbackListener {
    listener: TcpListener,
    port: u16,
}

impl CallbackListener {
    /// Listens on a port: the given one, or unless `is_fixed`, any free port as
    /// a fallback.
    pub(super) async fn open(port: Option<u16>, is_fixed: bool) -> io::Result<Self> {
        let listener = match TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await {
            Err(_) if !is_fixed => TcpListener::bind(("127.0.0.1", 0)).await?,
            opened => opened?,
        };
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the redirect and returns its request target. Rejects other
    /// requests and those with another `state`.
    pub(super) async fn wait_for_redirect(self, state: Option<String>) -> String {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                continue;
            };
            let timeout = std::time::Duration::from_secs(5);
            if let Ok(Ok(Some(target))) =
                tokio::time::timeout(timeout, serve_redirect(stream, state.as_deref())).await
            {
                return target;
            }
        }
    }
}

async fn serve_redirect(mut stream: TcpStream, state: Option<&str>) -> io::Result<Option<String>> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|it| it == b"\r\n\r\n") && request.len() < MAX_REQUEST_BYTES {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        request.extend_from_slice(&buffer[..read]);
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_it = method == "GET" && is_matching_redirect(target, state);
    let (status, page) = match is_it {
        true if authorization_error(target).is_some() => ("200 OK", REFUSED_PAGE),
        true => ("200 OK", SUCCESS_PAGE),
        false
            if method == "GET"
                && parse_target(target).is_some_and(|url| has_code_or_error(&url)) =>
        {
            ("400 Bad Request", OTHER_LOGIN_PAGE)
        }
        false => ("404 Not Found", ""),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(is_it.then(|| target.to_owned()))
}

/// Whether a request target is the redirect of this login.
fn is_matching_redirect(target: &str, state: Option<&str>) -> bool {
    redirect_mismatch(target, state).is_none()
}

/// Returns why a URL is not the redirect of this login, if so.
pub(super) fn redirect_mismatch(target: &str, state: Option<&str>) -> Option<&'static str> {
    let Some(url) = parse_target(target).filter(has_code_or_error) else {
        return Some("it contains no `code`");
    };
    let given = url.query_pairs().find(|it| it.0 == "state").map(|it| it.1);
    match (given, state) {
        (Some(given), Some(state)) if given == state => None,
        // Any page could send the browser here.
        (None, Some(_)) => Some("it contains no `state`"),
        (Some(_), Some(_)) => Some("it belongs to another login"),
        (_, None) => None,
    }
}

/// Whether a URL is the redirect of any login.
fn has_code_or_error(url: &Url) -> bool {
    url.query_pairs().any(|it| it.0 == "code" || it.0 == "error")
}

fn parse_target(target: &str) -> Option<Url> {
    Url::parse("http://127.0.0.1/").ok()?.join(target).ok()
}

/// Returns the `state` of a login URL, which the redirect must repeat.
pub(super) fn state_param(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.query_pairs().find(|it| it.0 == "state").map(|it| it.1.into_owned())
}

/// Returns why a login was refused, if the redirect reports an error.
pub(super) fn authorization_error(answer: &str) -> Option<String> {
    let url = parse_target(answer)?;
    let value = |name: &str| url.query_pairs().find(|it| it.0 == name).map(|it| it.1.into_owned());
    let error = value("error")?;
    Some(value("error_description").map_or(error.clone(), |why| format!("{error}: {why}")))
}

/// Completes a pasted redirect: users paste the whole URL, the part from the
/// question mark, or only the query.
pub(super) fn complete_redirect_url(answer: &str, redirect: &str) -> String {
    let answer = answer.trim();
    if answer.starts_with("http://") || answer.starts_with("https://") {
        return answer.to_owned();
    }
    let query = answer.split_once('?').map_or(answer, |it| it.1);
    format!("{redirect}?{query}")
}

#[cfg(test)]
#[path = "callback_tests.rs"]
mod tests;
