//! HTTP client that sends a bearer token. A rejected token is refreshed once;
//! the server's challenge is stored for the next login.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::account::OAuthAccount;
use crate::client::stdio_transport::MAX_MESSAGE_BYTES;
use crate::client::streamable_http::BoundedHttpClient;

type AuthorizedHeaders = HashMap<HeaderName, HeaderValue>;
type AuthorizedHttpError = StreamableHttpError<reqwest::Error>;

/// An HTTP client with a bearer token.
#[derive(Debug, Clone)]
pub(crate) struct BearerClient {
    http: BoundedHttpClient,
    account: Arc<OAuthAccount>,
}

impl BearerClient {
    pub(super) fn new(web: BoundedHttpClient, account: OAuthAccount) -> Self {
        Self { http: web, account: Arc::new(account) }
    }

    async fn send_authorized<T, F>(
        &self,
        call: impl Fn(Option<String>) -> F,
    ) -> Result<T, AuthorizedHttpError>
    where
        F: Future<Output = Result<T, AuthorizedHttpError>>,
    {
        let account = &self.account;
        let token = account.current_token().await?;
        let first = call(token.clone()).await;
        let (refused, token) = match (first, token) {
            (Err(StreamableHttpError::AuthRequired(refused)), Some(token)) => (refused, token),
            (done, _) => return account.record_challenge(done),
        };
        let challenge = &refused.www_authenticate_header;
        match account.refresh_token(Some(&token), Some(challenge)).await? {
            Some(fresh) if fresh != token => account.record_challenge(call(Some(fresh)).await),
            _ => account.record_challenge(Err(StreamableHttpError::AuthRequired(refused))),
        }
    }
}

impl StreamableHttpClient for BearerClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: AuthorizedHeaders,
    ) -> Result<StreamableHttpPostResponse, AuthorizedHttpError> {
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
        _token: Option<String>,
        headers: AuthorizedHeaders,
        longest: usize,
    ) -> Result<StreamableHttpPostResponse, AuthorizedHttpError> {
        self.send_authorized(|token| {
            let (uri, message, session, headers) =
                (uri.clone(), message.clone(), session.clone(), headers.clone());
            self.http.post_message_with_max_sse_event_size(
                uri, message, session, token, headers, longest,
            )
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: AuthorizedHeaders,
    ) -> Result<(), AuthorizedHttpError> {
        self.send_authorized(|token| {
            self.http.delete_session(uri.clone(), session.clone(), token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: AuthorizedHeaders,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, AuthorizedHttpError> {
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
        _token: Option<String>,
        headers: AuthorizedHeaders,
        longest: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, AuthorizedHttpError> {
        self.send_authorized(|token| {
            let (uri, session, last_event, headers) =
                (uri.clone(), session.clone(), last_event.clone(), headers.clone());
            self.http.get_stream_with_max_sse_event_size(
                uri, session, last_event, token, headers, longest,
            )
        })
        .await
    }
}
