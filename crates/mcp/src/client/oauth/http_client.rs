//! HTTP client for OAuth requests with custom TLS settings.

use hermes_core::ToolError;
use hyper::http;
use reqwest::Client;
use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

use crate::client::tls::{TlsSettings, TrustRoots};

/// Maximum size of a response.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// Timeout of a request.
const REQUEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// An HTTP client for logins.
pub(super) struct SecuredOAuthClient {
    redirecting: Client,
    non_redirecting: Client,
}

impl SecuredOAuthClient {
    pub(super) fn new(tls: &TlsSettings) -> Result<Self, ToolError> {
        let build = |redirect: Policy| {
            let builder = Client::builder().timeout(REQUEST_TIMEOUT).redirect(redirect);
            // The authorization server may be another host than the MCP server.
            tls.apply(builder, TrustRoots::FileAndSystem)?.build().map_err(|error| {
                ToolError::internal(format!("cannot create the HTTP client: {error}"))
            })
        };
        Ok(Self {
            redirecting: build(Policy::limited(5))?,
            non_redirecting: build(Policy::none())?,
        })
    }
}

impl OAuthHttpClient for SecuredOAuthClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let client = match asked.redirect_policy {
                OAuthHttpRedirectPolicy::Follow => &self.redirecting,
                _ => &self.non_redirecting,
            };
            let request = reqwest::Request::try_from(asked.request)?;
            let mut answer = client.execute(request).await?;
            let mut made = http::Response::builder().status(answer.status());
            for (name, value) in answer.headers() {
                made = made.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(piece) = answer.chunk().await? {
                if body.len() + piece.len() > MAX_RESPONSE_BYTES {
                    return Err("the response exceeds the maximum size".into());
                }
                body.extend_from_slice(&piece);
            }
            Ok(made.body(body)?)
        })
    }
}
