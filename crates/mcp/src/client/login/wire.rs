//! Requests of a login, where connections are secured in a way of their own.

use hermes_core::ToolError;
use hyper::http;
use reqwest::Client;
use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

use crate::client::tls::{TlsSettings, Trust};

/// The longest answer.
const LONGEST: usize = 1024 * 1024;

/// How long a request may take if nothing else is said.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// An HTTP client for logins.
pub(super) struct Wire {
    follows: Client,
    stays: Client,
}

impl Wire {
    pub(super) fn new(tls: &TlsSettings) -> Result<Self, ToolError> {
        let build = |redirect: Policy| {
            let builder = Client::builder().timeout(PATIENCE).redirect(redirect);
            // Whoever one logs in at may be somebody else than the server.
            tls.secure(builder, Trust::Also)?
                .build()
                .map_err(|error| ToolError::internal(format!("HTTP cannot be set up: {error}")))
        };
        Ok(Self { follows: build(Policy::limited(5))?, stays: build(Policy::none())? })
    }
}

impl OAuthHttpClient for Wire {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let client = match asked.redirect_policy {
                OAuthHttpRedirectPolicy::Follow => &self.follows,
                _ => &self.stays,
            };
            let request = reqwest::Request::try_from(asked.request)?;
            let mut answer = client.execute(request).await?;
            let mut made = http::Response::builder().status(answer.status());
            for (name, value) in answer.headers() {
                made = made.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(piece) = answer.chunk().await? {
                if body.len() + piece.len() > LONGEST {
                    return Err("the answer is too long".into());
                }
                body.extend_from_slice(&piece);
            }
            Ok(made.body(body)?)
        })
    }
}
