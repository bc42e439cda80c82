//! Requests with a token. One that is not taken is replaced, once; what the
//! server says of the login that it wants is kept for whoever logs in next.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::account::Account;
use crate::client::pipes::LONGEST;
use crate::client::web::Web;

type Headers = HashMap<HeaderName, HeaderValue>;
type Fault = StreamableHttpError<reqwest::Error>;

/// An HTTP client that is logged in.
#[derive(Debug, Clone)]
pub(crate) struct Bearer {
    web: Web,
    account: Arc<Account>,
}

impl Bearer {
    pub(super) fn new(web: Web, account: Account) -> Self {
        Self { web, account: Arc::new(account) }
    }

    async fn send<T, F>(&self, call: impl Fn(Option<String>) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let account = &self.account;
        let token = account.token().await?;
        let first = call(token.clone()).await;
        let (refused, token) = match (first, token) {
            (Err(StreamableHttpError::AuthRequired(refused)), Some(token)) => (refused, token),
            (done, _) => return account.heed(done),
        };
        let challenge = &refused.www_authenticate_header;
        match account.renew(Some(&token), Some(challenge)).await? {
            Some(fresh) if fresh != token => account.heed(call(Some(fresh)).await),
            _ => account.heed(Err(StreamableHttpError::AuthRequired(refused))),
        }
    }
}

impl StreamableHttpClient for Bearer {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, LONGEST)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.send(|token| {
            let (uri, message, session, headers) =
                (uri.clone(), message.clone(), session.clone(), headers.clone());
            self.web.post_message_with_max_sse_event_size(
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
        headers: Headers,
    ) -> Result<(), Fault> {
        self.send(|token| {
            self.web.delete_session(uri.clone(), session.clone(), token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, LONGEST)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        self.send(|token| {
            let (uri, session, last_event, headers) =
                (uri.clone(), session.clone(), last_event.clone(), headers.clone());
            self.web.get_stream_with_max_sse_event_size(
                uri, session, last_event, token, headers, longest,
            )
        })
        .await
    }
}
