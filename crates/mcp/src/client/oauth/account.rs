//! OAuth account for a server: discovery, tokens and their refresh.

use std::sync::Arc;

use hermes_core::ToolError;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthorizationMetadataResolution, ClientCredentialsConfig, OAuthClientConfig,
    WWWAuthenticateParams,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{AuthError, AuthorizationManager};
use serde_json::{Map, Value};

use super::http_client::SecuredOAuthClient;
use super::store::{RESOURCE_METADATA_KEY, TokenStore, store_error};
use crate::client::server::SupervisedServer;
use crate::client::settings::{OAuthSettings, ServerTransport};
use crate::client::tls::TlsSettings;

/// OAuth settings and stored tokens of a server.
#[derive(Debug, Clone)]
pub(crate) struct OAuthAccount {
    pub(super) url: String,
    pub(super) settings: OAuthSettings,
    pub(super) tls: TlsSettings,
    pub(super) store: TokenStore,
}

impl OAuthAccount {
    pub(crate) fn for_server(server: &SupervisedServer) -> Result<Self, ToolError> {
        let settings = server.settings();
        let (ServerTransport::Http { url, .. }, Some(oauth)) =
            (&settings.transport, &settings.oauth)
        else {
            let text = format!("The MCP server '{}' is not configured for login", server.name());
            return Err(ToolError::invalid(text)
                .with_hint("Set `auth: oauth` in its entry of `mcp_servers`."));
        };
        Ok(Self {
            url: url.clone(),
            settings: oauth.clone(),
            tls: settings.tls.clone(),
            store: TokenStore::new(&server.shared().logins, server.name(), url),
        })
    }

    /// Creates the authorization manager for this account.
    pub(super) async fn authorization_manager(&self) -> Result<AuthorizationManager, AuthError> {
        // Fails if another part of the program has installed a provider, which
        // is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut manager = if self.tls.is_default() {
            AuthorizationManager::new(self.url.as_str()).await?
        } else {
            let wire = SecuredOAuthClient::new(&self.tls);
            let wire =
                wire.map_err(|error| AuthError::InternalError(error.message().to_owned()))?;
            let made = AuthorizationManager::new_with_oauth_http_client;
            made(self.url.as_str(), Arc::new(wire)).await?
        };
        manager.set_credential_store(self.store.clone());
        Ok(manager)
    }

    /// Discovers the authorization server, starting from the server's
    /// challenge: this one, or the one stored last.
    pub(super) async fn discover(
        &self,
        manager: &AuthorizationManager,
        challenge: Option<&str>,
    ) -> Result<AuthorizationMetadataResolution, AuthError> {
        let mut challenge = challenge.filter(|it| !it.is_empty()).map(str::to_owned);
        if challenge
            .as_deref()
            .and_then(|it| self.challenge_params(it).resource_metadata_url)
            .is_none()
            && let Some(url) =
                self.store.registration().as_ref().and_then(|it| it.text(RESOURCE_METADATA_KEY))
        {
            let said = challenge.map_or("Bearer ".to_owned(), |said| said + ", ");
            challenge = Some(format!("{said}{RESOURCE_METADATA_KEY}=\"{url}\""));
        }
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
        found.map(|it| self.prefer_client_secret_post(it))
    }

    /// Prefers `client_secret_post` for a configured secret where both methods
    /// are supported, as Hermes Agent does: some servers ignore the header.
    fn prefer_client_secret_post(
        &self,
        mut found: AuthorizationMetadataResolution,
    ) -> AuthorizationMetadataResolution {
        let methods =
            found.metadata.additional_fields.get_mut("token_endpoint_auth_methods_supported");
        if let (Some(Value::Array(methods)), Some(_)) = (methods, &self.settings.client_secret)
            && methods.iter().any(|it| it == "client_secret_post")
        {
            methods.retain(|it| it != "client_secret_basic");
        }
        found
    }

    pub(super) fn challenge_params(&self, challenge: &str) -> WWWAuthenticateParams {
        match Url::parse(&self.url) {
            Ok(url) => WWWAuthenticateParams::parse(challenge, &url),
            Err(_) => WWWAuthenticateParams::default(),
        }
    }

    /// Returns the token to send, refreshed if it is about to expire.
    pub(crate) async fn current_token(&self) -> Result<Option<String>, AuthError> {
        match self.store.token().map_err(store_error)? {
            Some(token) if token.is_stale => self.refresh_token(Some(&token.text), None).await,
            None if self.settings.uses_client_credentials => self.refresh_token(None, None).await,
            found => Ok(found.map(|token| token.text)),
        }
    }

    /// Returns a token other than `old`. One process fetches it under the lock;
    /// the others reuse it. `None` means that the user has to log in.
    pub(crate) async fn refresh_token(
        &self,
        old: Option<&str>,
        challenge: Option<&str>,
    ) -> Result<Option<String>, AuthError> {
        let _held = self.store.lock().await.map_err(store_error)?;
        match self.store.token().map_err(store_error)? {
            None if !self.settings.uses_client_credentials => return Ok(None),
            Some(now) if Some(&*now.text) != old && !now.is_stale => return Ok(Some(now.text)),
            _ => {}
        }
        let mut manager = self.authorization_manager().await?;
        let resolved = self.discover(&manager, challenge).await?;
        let client = self.store.registration().unwrap_or_default();
        if client.issuer().is_some() && !resolved.source.is_discovered() {
            // Credentials of a known issuer must not go to a guessed endpoint.
            return Err(AuthError::MetadataError(
                "no authorization server metadata found".to_owned(),
            ));
        }
        let issuer = resolved.metadata.issuer.clone();
        manager.set_metadata(resolved.metadata);
        if self.settings.uses_client_credentials {
            let is_same = client.text("client_id") == self.settings.client_id.as_deref();
            return self
                .fetch_client_credentials(manager, client.issuer().filter(|_| is_same), issuer)
                .await;
        }
        // Clears credentials that another issuer granted.
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        let own = (self.settings.client_id.as_deref(), self.settings.client_secret.as_deref());
        let known = (client.text("client_id"), client.text("client_secret"));
        let (id, secret) = if own.0.is_some() { own } else { known };
        if let (Some(id), Some(secret)) = (id, secret) {
            let redirect = client.redirect_uri().unwrap_or(&self.url);
            let config = OAuthClientConfig::new(id, redirect).with_client_secret(secret);
            manager.configure_client(config)?;
        }
        match manager.refresh_token().await {
            Ok(_) => Ok(self.store.token().map_err(store_error)?.map(|token| token.text)),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(AuthError::TokenRefreshFailed(text))
                if text.contains("invalid_client") && own.0.is_none() =>
            {
                // The server no longer knows our registration; the next login
                // registers again.
                self.store.forget_registration();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Fetches a token with the client credentials, which are sent only to the
    /// issuer that received them first.
    async fn fetch_client_credentials(
        &self,
        mut manager: AuthorizationManager,
        known: Option<&str>,
        issuer: Option<String>,
    ) -> Result<Option<String>, AuthError> {
        if let (Some(known), Some(issuer)) = (known, &issuer)
            && known != issuer
        {
            return Err(AuthError::AuthorizationServerMismatch {
                expected_issuer: known.to_owned(),
                received_issuer: issuer.clone(),
            });
        }
        let mut scopes = self.settings.scopes.clone();
        if scopes.is_empty() {
            scopes = manager.select_initial_scopes(&[]).await;
        }
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: self.settings.client_id.clone().unwrap_or_default(),
            client_secret: self.settings.client_secret.clone().unwrap_or_default(),
            scopes: scopes.clone(),
            resource: Some(self.url.clone()),
        };
        manager.validate_client_credentials_metadata(&config)?;
        manager.configure_client_credentials(&config)?;
        let before = self.store.registration().unwrap_or_default();
        let place = before
            .text(RESOURCE_METADATA_KEY)
            .map(|url| (RESOURCE_METADATA_KEY.to_owned(), url.into()));
        let draft = Map::from_iter(place);
        manager.set_credential_store(self.store.with_draft(draft, &scopes));
        manager.exchange_client_credentials(&config).await?;
        Ok(self.store.token().map_err(store_error)?.map(|token| token.text))
    }

    /// Stores the server's authorization challenge.
    pub(super) fn record_challenge<T>(
        &self,
        answer: Result<T, StreamableHttpError<reqwest::Error>>,
    ) -> Result<T, StreamableHttpError<reqwest::Error>> {
        let said = match &answer {
            Err(StreamableHttpError::AuthRequired(it)) => (&it.www_authenticate_header, None),
            Err(StreamableHttpError::InsufficientScope(it)) => {
                (&it.www_authenticate_header, it.required_scope.as_deref())
            }
            _ => return answer,
        };
        let metadata = self.challenge_params(said.0).resource_metadata_url;
        self.store.record_refusal(metadata.as_ref().map(Url::as_str), said.1);
        answer
    }

    /// Whether a login has already requested these scopes.
    pub(super) fn has_requested_scopes(&self, scope: &str) -> bool {
        let asked =
            self.store.registration().map(|client| client.requested_scopes()).unwrap_or_default();
        scope.split_whitespace().all(|it| asked.iter().any(|asked| asked == it))
    }
}
