//! OAuth 2.1 logins. A login needs the user once; after that, tokens are
//! refreshed automatically, by one process at a time.

mod account;
mod bearer;
mod callback;
mod challenge;
mod http_client;
mod store;

use std::path::Path;
use std::time::Duration;

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use rmcp::transport::auth::AuthorizationMetadataSource;
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
};
use serde_json::{Map, Value, json};

use super::error::AuthRequirement;
use super::sanitize::excerpt;
use super::server::SupervisedServer;
use super::settings::{OAuthSettings, ServerTransport};
use super::streamable_http::BoundedHttpClient;
pub(crate) use account::OAuthAccount;
pub(crate) use bearer::BearerClient;
use callback::CallbackListener;
use store::{CONFIGURED_KEY, ClientRegistration, RESOURCE_METADATA_KEY, TokenStore};

/// Client name for registrations, unless configured.
const DEFAULT_CLIENT_NAME: &str = "Hermes Agent";

/// How long a login may take.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// Directs the user to a URL to log in.
pub trait LoginPrompter: Send + Sync {
    /// Shows or opens the URL. The redirect usually arrives at the listener;
    /// where it cannot, the user pastes the URL that the browser ended at.
    /// `None` means that the user gave up.
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Reports why the pasted text is not the redirect, and waits for another.
    /// The redirect may still arrive at the listener.
    fn retry<'a>(&'a self, _why: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::pending())
    }
}

/// Removes a stored login.
pub fn logout(dir: &Path, server: &str) {
    TokenStore::remove(dir, server);
}

/// Returns an HTTP client with a token. Fails at once without a login, since no
/// user is present during tool calls.
pub(crate) fn authorized_client(
    server: &SupervisedServer,
    web: BoundedHttpClient,
) -> Result<BearerClient, ToolError> {
    let account = OAuthAccount::for_server(server)?;
    match account.store.token() {
        Ok(Some(_)) => Ok(BearerClient::new(web, account)),
        Ok(None) if account.settings.uses_client_credentials => Ok(BearerClient::new(web, account)),
        Ok(None) => Err(auth_required_error(server, &AuthRequirement::Login)),
        Err(error) => Err(ToolError::io("Cannot read the stored login", &error)
            .with_hint(format!("Run `hermes mcp login {}` to log in again.", server.name()))),
    }
}

/// Logs in to a server.
pub(crate) async fn login(
    server: &SupervisedServer,
    visitor: &dyn LoginPrompter,
) -> Result<(), ToolError> {
    let name = server.name();
    let wrong = |error: AuthError| login_error(server, &error);
    let account = OAuthAccount::for_server(server)?;
    let (settings, store) = (&account.settings, &account.store);
    let challenge = challenge::fetch_challenge(server).await;
    if settings.uses_client_credentials {
        let old = store.token().ok().flatten().map(|token| token.text);
        let fetched = account.refresh_token(old.as_deref(), challenge.as_deref()).await;
        return fetched.map(drop).map_err(wrong);
    }
    let mut manager = account.authorization_manager().await.map_err(wrong)?;
    let found = account.discover(&manager, challenge.as_deref()).await.map_err(wrong)?;
    // Metadata without PKCE methods means no support; without metadata, try it.
    if found.source != AuthorizationMetadataSource::LegacyEndpointFallback
        && found.metadata.code_challenge_methods_supported.is_none()
    {
        return Err(wrong(AuthError::PkceUnsupported));
    }
    let issuer = found.metadata.issuer.clone();
    let reads_documents =
        found.metadata.additional_fields.get("client_id_metadata_document_supported")
            == Some(&Value::Bool(true));
    manager.set_metadata(found.metadata);
    let known = store.registration();
    let known = known
        .map(|it| registration_for_issuer(name, settings, it, issuer.as_deref()))
        .transpose()?;
    let known = known.flatten();

    let scopes = choose_scopes(&manager, settings, known.as_ref()).await;
    let registered = known.as_ref().and_then(|it| registration_for_scopes(it, &scopes));
    let port = registered.as_ref().or(known.as_ref()).and_then(ClientRegistration::redirect_port);
    let port = settings.redirect_port.or(port);
    // The port of an earlier registration may be in use; then it is replaced.
    let callback = CallbackListener::open(port, settings.redirect_port.is_some()).await;
    let callback = callback
        .map_err(|error| ToolError::io("Cannot open the OAuth callback listener", &error))?;
    let redirect = redirect_uri(settings, callback.port());
    let mut request = AuthorizationRequest::new(redirect.clone())
        .with_initial_scope_selection()
        .with_scopes(scopes.clone());
    let mut draft = Map::new();
    match &settings.client_id {
        Some(id) if is_metadata_document(settings) && reads_documents => {
            request = request.with_client_metadata_url(id.clone());
        }
        Some(id) if !is_metadata_document(settings) => {
            request = request.with_preregistered_client(id.clone());
            if let Some(secret) = &settings.client_secret {
                request = request.with_client_secret(secret.clone());
            }
        }
        _ => {
            draft = match registered {
                Some(known) if known.redirect_uri() == Some(&redirect) => known.into(),
                _ => register_client(&mut manager, settings, &redirect, &scopes)
                    .await
                    .map_err(wrong)?,
            };
            let text = |key: &str| draft.get(key).and_then(Value::as_str);
            request = request.with_preregistered_client(text("client_id").unwrap_or_default());
            if let Some(secret) = text("client_secret") {
                request = request.with_client_secret(secret);
            }
        }
    }
    draft.insert("redirect_uris".to_owned(), json!([redirect]));
    if request.client_id == settings.client_id || request.client_metadata_url.is_some() {
        draft.insert(CONFIGURED_KEY.to_owned(), true.into());
    }
    if let Some(issuer) = &issuer {
        draft.insert("issuer".to_owned(), issuer.clone().into());
    }
    let said = challenge.and_then(|it| account.challenge_params(&it).resource_metadata_url);
    let before =
        store.registration().and_then(|it| it.text(RESOURCE_METADATA_KEY).map(str::to_owned));
    if let Some(url) = said.map(String::from).or(before) {
        draft.insert(RESOURCE_METADATA_KEY.to_owned(), url.into());
    }
    let store = store.with_draft(draft, &scopes);
    if settings.client_id.is_none() {
        store.save_registration().map_err(|it| wrong(store::store_error(it)))?;
    }
    manager.set_credential_store(store.clone());

    let session = AuthorizationSession::new(manager, request).await.map_err(|it| wrong(it.1))?;
    let timeout = settings.timeout.unwrap_or(LOGIN_TIMEOUT);
    let answered = wait_for_redirect(session.get_authorization_url(), &redirect, callback, visitor);
    let answered = tokio::time::timeout(timeout, answered).await.map_err(|_| {
        ToolError::new(ErrorKind::Timeout, format!("The login to '{name}' timed out"))
    })?;
    let Some(answer) = answered else { return Err(ToolError::cancelled()) };
    if let Some(refused) = callback::authorization_error(&answer) {
        let text = excerpt(&refused, 500);
        return Err(ToolError::denied(format!("The login to '{name}' was refused: {text}")));
    }
    let _held = store.lock().await.map_err(|it| wrong(store::store_error(it)))?;
    if let Err(error) = session.handle_callback_url(&answer).await {
        if error.to_string().contains("invalid_client") && settings.client_id.is_none() {
            // The server no longer knows our registration; the next login
            // registers again.
            store.forget_registration();
        }
        return Err(wrong(error));
    }
    Ok(())
}

/// Returns the registration if it belongs to this issuer. Credentials from one
/// issuer are never sent to another.
fn registration_for_issuer(
    name: &str,
    settings: &OAuthSettings,
    known: ClientRegistration,
    issuer: Option<&str>,
) -> Result<Option<ClientRegistration>, ToolError> {
    if known.issuer().is_none() || known.issuer() == issuer {
        return Ok(Some(known));
    }
    let is_theirs =
        known.is_configured() && known.text("client_id") == settings.client_id.as_deref();
    if is_theirs && !is_metadata_document(settings) {
        let (was, is) = (known.issuer().unwrap_or_default(), issuer.unwrap_or("an unnamed issuer"));
        return Err(ToolError::denied(format!(
            "The MCP server '{name}' now requires a login at {is}, but `client_id` of its \
             entry was used at {was}"
        ))
        .with_hint(format!(
            "If this is expected, run `hermes mcp remove {name}` to remove the old login, then \
             add it again with the client_id for the new issuer."
        )));
    }
    Ok(None)
}

/// Returns a registration for these scopes, if there is one: of the current
/// login, or of one that was not completed.
fn registration_for_scopes(
    known: &ClientRegistration,
    scopes: &[String],
) -> Option<ClientRegistration> {
    let all = [Some(known.clone()), known.pending_registration()].into_iter().flatten();
    all.into_iter().find(|it| !it.is_configured() && it.is_registered_for(scopes))
}

/// Returns the scopes to request: the configured ones or the server's, plus
/// those that a request lacked, with all requested before.
async fn choose_scopes(
    manager: &AuthorizationManager,
    settings: &OAuthSettings,
    known: Option<&ClientRegistration>,
) -> Vec<String> {
    let mut scopes = settings.scopes.clone();
    if scopes.is_empty() {
        scopes = manager.select_initial_scopes(&[]).await;
    }
    if let Some(known) = known.filter(|it| !it.missing_scopes().is_empty()) {
        for scope in known.requested_scopes().into_iter().chain(known.missing_scopes()) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    scopes
}

/// Registers a client. Returns the stored form, with the keys of Hermes Agent.
async fn register_client(
    manager: &mut AuthorizationManager,
    settings: &OAuthSettings,
    redirect: &str,
    scopes: &[String],
) -> Result<Map<String, Value>, AuthError> {
    let name = settings.client_name.as_deref().unwrap_or(DEFAULT_CLIENT_NAME);
    let wanted: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let made = manager.register_client(name, redirect, &wanted).await?;
    let method = if made.client_secret.is_some() { "client_secret_post" } else { "none" };
    let mut client = Map::new();
    client.insert("client_id".to_owned(), made.client_id.into());
    if let Some(secret) = made.client_secret {
        client.insert("client_secret".to_owned(), secret.into());
    }
    client.insert("client_name".to_owned(), name.into());
    client.insert("token_endpoint_auth_method".to_owned(), method.into());
    if !scopes.is_empty() {
        client.insert("scope".to_owned(), scopes.join(" ").into());
    }
    Ok(client)
}

/// Whether our client id is the URL of a metadata document.
fn is_metadata_document(settings: &OAuthSettings) -> bool {
    settings.client_secret.is_none()
        && settings.client_id.as_ref().is_some_and(|id| id.starts_with("https://"))
}

/// Waits for the redirect, from the listener or pasted.
async fn wait_for_redirect(
    url: &str,
    redirect: &str,
    callback: CallbackListener,
    visitor: &dyn LoginPrompter,
) -> Option<String> {
    let state = callback::state_param(url);
    tokio::select! {
        answer = callback.wait_for_redirect(state.clone()) => Some(callback::complete_redirect_url(&answer, redirect)),
        pasted = read_pasted_redirect(url, redirect, state.as_deref(), visitor) => pasted,
    }
}

/// Returns the redirect that the user pastes. Asks again for invalid input.
async fn read_pasted_redirect(
    url: &str,
    redirect: &str,
    state: Option<&str>,
    visitor: &dyn LoginPrompter,
) -> Option<String> {
    let mut pasted = visitor.open_url(url).await;
    loop {
        let text = pasted.filter(|text| !text.trim().is_empty())?;
        let answer = callback::complete_redirect_url(&text, redirect);
        match callback::redirect_mismatch(&answer, state) {
            None => return Some(answer),
            Some(why) => pasted = visitor.retry(why).await,
        }
    }
}

fn redirect_uri(settings: &OAuthSettings, port: u16) -> String {
    match (&settings.redirect_uri, &settings.redirect_host) {
        (Some(uri), _) => uri.clone(),
        (None, Some(host)) => format!("http://{}:{port}/callback", host.trim()),
        (None, None) => format!("http://127.0.0.1:{port}/callback"),
    }
}

fn login_error(server: &SupervisedServer, error: &AuthError) -> ToolError {
    if matches!(error, AuthError::AuthorizationRequired) {
        return auth_required_error(server, &AuthRequirement::Login);
    }
    let name = server.name();
    let text = excerpt(&super::error::error_chain(error), 500);
    let text = format!("The login to the MCP server '{name}' failed: {text}");
    let failed = ToolError::new(ErrorKind::Network, text);
    match error {
        AuthError::RegistrationFailed(_) => failed.with_hint(
            "The server does not register clients automatically. Register a client there, and \
             set `client_id` (and `client_secret`) below `oauth` in its entry of `mcp_servers`.",
        ),
        _ => failed,
    }
}

/// Returns the error for a server that requires a login.
pub(crate) fn auth_required_error(server: &SupervisedServer, want: &AuthRequirement) -> ToolError {
    let (name, settings) = (server.name(), server.settings());
    let account = OAuthAccount::for_server(server);
    let failed = match want {
        AuthRequirement::Login => format!("The MCP server '{name}' requires a login"),
        AuthRequirement::Scopes(scope) if scope.is_empty() => {
            format!("The MCP server '{name}' does not allow this for the current login")
        }
        AuthRequirement::Scopes(scope) => format!(
            "The MCP server '{name}' does not allow this for the current login: it requires \
             the scopes '{}'",
            excerpt(scope, 200)
        ),
    };
    let is_new = match (want, &account) {
        (_, Err(_)) => false,
        (AuthRequirement::Login, Ok(_)) => true,
        (AuthRequirement::Scopes(scope), Ok(account)) => {
            !scope.is_empty() && !account.has_requested_scopes(scope)
        }
    };
    if is_new {
        return ToolError::unavailable(failed)
            .with("needs_reauth", true)
            .with("server", name)
            .with_hint(format!("Ask the user to run `hermes mcp login {name}`."));
    }
    let has_headers =
        matches!(&settings.transport, ServerTransport::Http { headers, .. } if !headers.is_empty());
    let hint = match (want, &account) {
        (AuthRequirement::Scopes(scope), Ok(_)) if scope.is_empty() => {
            format!("`hermes mcp login {name}` requests all scopes that the server lists.")
        }
        (AuthRequirement::Scopes(_), Ok(_)) => format!(
            "The login already requested all required scopes. Another account may have the \
             permission: `hermes mcp login {name}`."
        ),
        (_, Err(_)) if has_headers => {
            "The server does not accept the `headers` of its entry in `mcp_servers`.".to_owned()
        }
        _ => format!(
            "Set `auth: oauth` in its entry of `mcp_servers`, and run `hermes mcp login {name}`."
        ),
    };
    let kind =
        if *want == AuthRequirement::Login { ToolError::unavailable } else { ToolError::denied };
    kind(failed).with("login_refused", true).with("server", name).with_hint(hint)
}

/// Whether an error requires a login, so a retry does not help.
pub(crate) fn is_auth_required(error: &ToolError) -> bool {
    let details = error.details();
    details.contains_key("needs_reauth") || details.contains_key("login_refused")
}
