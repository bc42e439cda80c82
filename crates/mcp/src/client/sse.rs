//! The older way over HTTP: one connection on which the server speaks, and
//! requests of their own for what is said to it.

use std::collections::HashMap;
use std::io;
use std::time::Instant;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::connection::{Connection, Era};
use super::dial::{Trouble, explain, late};
use super::fault::{Want, odd};
use super::login::{Account, failed, wanted};
use super::pipes::LONGEST;
use super::server::Server;

type Headers = HashMap<HeaderName, HeaderValue>;

/// Calls the server and greets it.
pub(crate) async fn call(
    server: &Server,
    client: Client,
    url: &str,
    headers: &Headers,
    until: Instant,
) -> Result<Connection, Trouble> {
    let left = until.saturating_duration_since(Instant::now());
    let opened = async {
        let mut headers = headers.clone();
        if server.settings().oauth.is_some() {
            let account = Account::of(server).map_err(Trouble::Final)?;
            let token = account.token().await;
            let token = token.map_err(|error| Trouble::Final(failed(server, &error)))?;
            let Some(value) = token.and_then(|it| bearer(&it)) else {
                return Err(Trouble::Final(wanted(server, &Want::Login)));
            };
            headers.insert(AUTHORIZATION, value);
        }
        let transport = Events::open(client, url, &headers).await.map_err(|why| {
            Trouble::Final(match why {
                Unopened::Login => wanted(server, &Want::Login),
                Unopened::Other(why) => odd(server.name(), &why.to_string()),
            })
        })?;
        let name = server.name().into();
        let greeted = Connection::greet(name, server.host(), transport, Some(Era::Legacy)).await;
        greeted.map_err(|error| Trouble::Final(explain(server, &error)))
    };
    tokio::time::timeout(left, opened).await.unwrap_or_else(|_| Err(Trouble::Final(late(server))))
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Why there is no connection.
enum Unopened {
    Login,
    Other(io::Error),
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        Self::Other(error)
    }
}

/// The connection.
struct Events {
    client: Client,
    headers: Headers,
    /// Where to speak.
    speak: Url,
    answer: Response,
    unread: Vec<u8>,
    /// How much of it is known to hold no end of a line.
    looked_at: usize,
    event: Event,
    is_open: bool,
}

#[derive(Default)]
struct Event {
    kind: String,
    data: String,
}

impl Events {
    async fn open(client: Client, url: &str, headers: &Headers) -> Result<Self, Unopened> {
        let url = Url::parse(url).map_err(io::Error::other)?;
        let mut request = client.get(url.clone()).header(ACCEPT, "text/event-stream");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = request.send().await.map_err(io::Error::other)?;
        if answer.status() == StatusCode::UNAUTHORIZED && headers.contains_key(&AUTHORIZATION) {
            return Err(Unopened::Login);
        }
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if !answer.status().is_success()
            || !kind.is_some_and(|it| it.starts_with("text/event-stream"))
        {
            let text = format!("HTTP {} and {}", answer.status(), kind.unwrap_or("nothing"));
            return Err(io::Error::other(text).into());
        }
        let mut it = Self {
            client,
            headers: headers.clone(),
            speak: url.clone(),
            answer,
            unread: Vec::new(),
            looked_at: 0,
            event: Event::default(),
            is_open: true,
        };
        while let Some(event) = it.next().await {
            if event.kind == "endpoint" {
                let speak = url.join(event.data.trim()).map_err(io::Error::other)?;
                // Nobody else gets what is meant for this server.
                if speak.origin() != url.origin() {
                    return Err(io::Error::other("it sends us to another server").into());
                }
                it.speak = speak;
                return Ok(it);
            }
        }
        Err(io::Error::other("it does not say where to speak").into())
    }

    /// The next event. Nothing is lost if this is dropped while it waits.
    async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(line) = self.take_line() {
                if line.is_empty() {
                    if !self.event.data.is_empty() || !self.event.kind.is_empty() {
                        return Some(std::mem::take(&mut self.event));
                    }
                    continue;
                }
                let (field, value) = line.split_once(':').unwrap_or((&line, ""));
                let value = value.strip_prefix(' ').unwrap_or(value);
                match field {
                    "event" => value.clone_into(&mut self.event.kind),
                    "data" => {
                        if !self.event.data.is_empty() {
                            self.event.data.push('\n');
                        }
                        self.event.data.push_str(value);
                    }
                    _ => {}
                }
            }
            if self.unread.len() + self.event.data.len() > LONGEST {
                return None;
            }
            let piece = self.answer.chunk().await.ok().flatten()?;
            self.unread.extend_from_slice(&piece);
        }
    }

    fn take_line(&mut self) -> Option<String> {
        let found = self.unread[self.looked_at..].iter().position(|byte| *byte == b'\n');
        let Some(at) = found.map(|at| at + self.looked_at) else {
            self.looked_at = self.unread.len();
            return None;
        };
        self.looked_at = 0;
        let line: Vec<u8> = self.unread.drain(..=at).collect();
        let line = line.trim_ascii_end();
        Some(String::from_utf8_lossy(line).into_owned())
    }
}

impl Transport<RoleClient> for Events {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let mut request = self.client.post(self.speak.clone()).json(&item);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let is_open = self.is_open;
        async move {
            if !is_open {
                return Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the connection is closed",
                ));
            }
            let answer = request.send().await.map_err(io::Error::other)?;
            answer.error_for_status().map(drop).map_err(io::Error::other)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.is_open {
            let event = self.next().await?;
            if !matches!(event.kind.as_str(), "" | "message") {
                continue;
            }
            if let Ok(message) = serde_json::from_str::<ServerJsonRpcMessage>(&event.data) {
                return Some(message);
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.is_open = false;
        Ok(())
    }
}
