//! The older way over HTTP: one connection on which the server speaks, and
//! requests of their own for what is said to it.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::AuthRequiredError;

use super::connection::{Connection, Era};
use super::dial::{Trouble, explain, late};
use super::fault::{causes, odd, want_of};
use super::login::{Account, wanted};
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
        let account = match server.settings().oauth {
            Some(_) => Some(Arc::new(Account::of(server).map_err(Trouble::Final)?)),
            None => None,
        };
        let sender = Sender { client, headers: headers.clone(), account };
        let transport = Events::open(sender, url).await.map_err(|why| {
            Trouble::Final(match want_of(&why) {
                Some(want) => wanted(server, &want),
                None => odd(server.name(), &causes(&why)),
            })
        })?;
        let name = server.name().into();
        let greeted = Connection::greet(name, server.host(), transport, Some(Era::Legacy)).await;
        greeted.map_err(|error| Trouble::Final(explain(server, &error)))
    };
    tokio::time::timeout(left, opened).await.unwrap_or_else(|_| Err(Trouble::Final(late(server))))
}

/// Whoever makes the requests, with a token where there is a login.
#[derive(Clone)]
struct Sender {
    client: Client,
    headers: Headers,
    account: Option<Arc<Account>>,
}

impl Sender {
    async fn send(&self, mut request: RequestBuilder) -> io::Result<Response> {
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let Some(account) = &self.account else {
            return request.send().await.map_err(io::Error::other);
        };
        let token = account.token().await.map_err(io::Error::other)?;
        let again = request.try_clone();
        if let Some(token) = &token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.map_err(io::Error::other)?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let challenge = super::web::challenge(&answer).unwrap_or_default();
        if let (Some(again), Some(token)) = (again, token) {
            let fresh = account.renew(Some(&token), Some(&challenge)).await;
            if let Some(fresh) = fresh.map_err(io::Error::other)?.filter(|it| *it != token) {
                let answer = again.bearer_auth(fresh).send().await.map_err(io::Error::other)?;
                if answer.status() != StatusCode::UNAUTHORIZED {
                    return Ok(answer);
                }
            }
        }
        Err(io::Error::other(AuthRequiredError::new(challenge)))
    }
}

/// The connection.
struct Events {
    sender: Sender,
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
    async fn open(sender: Sender, url: &str) -> io::Result<Self> {
        let url = Url::parse(url).map_err(io::Error::other)?;
        let request = sender.client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let answer = sender.send(request).await?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if !answer.status().is_success()
            || !kind.is_some_and(|it| it.starts_with("text/event-stream"))
        {
            let text = format!("HTTP {} and {}", answer.status(), kind.unwrap_or("nothing"));
            return Err(io::Error::other(text));
        }
        let mut it = Self {
            sender,
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
                    return Err(io::Error::other("it sends us to another server"));
                }
                it.speak = speak;
                return Ok(it);
            }
        }
        Err(io::Error::other("it does not say where to speak"))
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
        let request = self.sender.client.post(self.speak.clone()).json(&item);
        let (sender, is_open) = (self.sender.clone(), self.is_open);
        async move {
            if !is_open {
                return Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the connection is closed",
                ));
            }
            let answer = sender.send(request).await?;
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
