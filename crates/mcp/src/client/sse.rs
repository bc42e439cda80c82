//! The older HTTP+SSE transport: one event stream from the server, and a POST
//! request for each message to it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Instant;

use hermes_llm::sse::{SseEvent, SseParser};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::AuthRequiredError;

use super::connect::{ConnectError, connect_timeout_error, initialize_error};
use super::connection::{McpConnection, ProtocolEra};
use super::error::{auth_requirement, error_chain, unexpected_response};
use super::oauth::{OAuthAccount, auth_required_error};
use super::server::SupervisedServer;
use super::stdio_transport::MAX_MESSAGE_BYTES;

type SseHeaders = HashMap<HeaderName, HeaderValue>;

/// Connects to the server and performs the handshake.
pub(crate) async fn connect_sse(
    server: &SupervisedServer,
    client: Client,
    url: &str,
    headers: &SseHeaders,
    until: Instant,
) -> Result<McpConnection, ConnectError> {
    let left = until.saturating_duration_since(Instant::now());
    let opened = async {
        let account = match server.settings().oauth {
            Some(_) => {
                Some(Arc::new(OAuthAccount::for_server(server).map_err(ConnectError::Fatal)?))
            }
            None => None,
        };
        let sender = SseSender { client, headers: headers.clone(), account };
        let transport = LegacySseTransport::open(sender, url).await.map_err(|why| {
            ConnectError::Fatal(match auth_requirement(&why) {
                Some(want) => auth_required_error(server, &want),
                None => unexpected_response(server.name(), &error_chain(&why)),
            })
        })?;
        let name = server.name().into();
        let greeted = McpConnection::handshake(
            name,
            server.client_handler(),
            transport,
            Some(ProtocolEra::Legacy),
        )
        .await;
        greeted.map_err(|error| ConnectError::Fatal(initialize_error(server, &error)))
    };
    tokio::time::timeout(left, opened)
        .await
        .unwrap_or_else(|_| Err(ConnectError::Fatal(connect_timeout_error(server))))
}

/// Sends the requests, with a token if a login is configured.
#[derive(Clone)]
struct SseSender {
    client: Client,
    headers: SseHeaders,
    account: Option<Arc<OAuthAccount>>,
}

impl SseSender {
    async fn send(&self, mut request: RequestBuilder) -> io::Result<Response> {
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let Some(account) = &self.account else {
            return request.send().await.map_err(io::Error::other);
        };
        let token = account.current_token().await.map_err(io::Error::other)?;
        let again = request.try_clone();
        if let Some(token) = &token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.map_err(io::Error::other)?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let challenge = super::streamable_http::bearer_challenge(&answer).unwrap_or_default();
        if let (Some(again), Some(token)) = (again, token) {
            let fresh = account.refresh_token(Some(&token), Some(&challenge)).await;
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

/// An HTTP+SSE transport.
struct LegacySseTransport {
    sender: SseSender,
    /// URL for messages to the server.
    endpoint: Url,
    response: Response,
    parser: SseParser,
    /// Events that were received, but not returned yet.
    pending: VecDeque<SseEvent>,
    is_open: bool,
}

impl LegacySseTransport {
    async fn open(sender: SseSender, url: &str) -> io::Result<Self> {
        let url = Url::parse(url).map_err(io::Error::other)?;
        let request = sender.client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let answer = sender.send(request).await?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if !answer.status().is_success()
            || !kind.is_some_and(|it| it.starts_with("text/event-stream"))
        {
            let text =
                format!("HTTP {} with content type {}", answer.status(), kind.unwrap_or("none"));
            return Err(io::Error::other(text));
        }
        let mut it = Self {
            sender,
            endpoint: url.clone(),
            response: answer,
            parser: SseParser::new(MAX_MESSAGE_BYTES),
            pending: VecDeque::new(),
            is_open: true,
        };
        while let Some(event) = it.next_event().await {
            if event.name.as_deref() == Some("endpoint") {
                let speak = url.join(event.data.trim()).map_err(io::Error::other)?;
                // Messages and credentials are for this server only.
                if speak.origin() != url.origin() {
                    return Err(io::Error::other("its endpoint is on another server"));
                }
                it.endpoint = speak;
                return Ok(it);
            }
        }
        Err(io::Error::other("it does not name an endpoint"))
    }

    /// Returns the next event. Cancel safe.
    async fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.pending.extend(self.parser.feed(&chunk).ok()?);
        }
    }
}

impl Transport<RoleClient> for LegacySseTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let request = self.sender.client.post(self.endpoint.clone()).json(&item);
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
            let event = self.next_event().await?;
            if event.name.as_deref().is_some_and(|name| name != "message") {
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
