//! Logins by OAuth 2.1. A login needs a person once; from then on tokens are
//! refreshed without anybody, by one program at a time.

mod callback;
mod store;

use std::path::Path;
use std::time::Duration;

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use rmcp::transport::auth::OAuthClientConfig;
use rmcp::transport::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
};

use super::plain::excerpt;
use super::server::Server;
use super::settings::{Link, OAuthSettings};
use super::web::Web;
use callback::Callback;
use store::Store;

/// How we call ourselves where nothing else is set.
const NAME: &str = "Hermes Agent";

/// How long a login may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Somebody who goes to an address to log in.
pub trait Visitor: Send + Sync {
    /// Shows the address, or opens it. The answer usually comes to us by
    /// itself; where it cannot, the user pastes the address that the browser
    /// has ended up at. None means that the user gives up.
    fn visit<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>>;
}

/// Forgets a login.
pub fn logout(folder: &Path, server: &str) {
    Store::remove(folder, server);
}

/// An HTTP client that is logged in. Who is not is told so at once: nobody is
/// there to log in while tools are called.
pub(crate) async fn client(server: &Server, web: Web) -> Result<AuthClient<Web>, ToolError> {
    let (url, settings) = needs(server)?;
    let mut manager = manager(server, url).await?;
    let is_known = manager.initialize_from_store().await;
    if !is_known.map_err(|error| failed(server.name(), &error))? {
        return Err(super::login_wanted(server.name()));
    }
    if let (Some(id), Some(secret)) = (&settings.client_id, &settings.client_secret) {
        let config = OAuthClientConfig::new(id.clone(), redirect(settings, 0))
            .with_client_secret(secret.clone());
        manager.configure_client(config).map_err(|error| failed(server.name(), &error))?;
    }
    Ok(AuthClient::new(web, manager))
}

/// Logs in.
pub(crate) async fn login(server: &Server, visitor: &dyn Visitor) -> Result<(), ToolError> {
    let name = server.name();
    let (url, settings) = needs(server)?;
    let wrong = |error: &AuthError| failed(name, error);
    let mut manager = manager(server, url).await?;
    let resolved = manager.resolve_metadata().await.map_err(|error| wrong(&error))?;
    manager.set_metadata(resolved.metadata);

    let store = Store::new(&server.shared().logins, name, url);
    let registered = store.registration();
    let port = settings.redirect_port.or_else(|| registered.as_ref().map(|it| it.port));
    // The port of a registration may be taken today; then it is of no use.
    let callback = Callback::open(port, settings.redirect_port.is_some()).await;
    let callback = callback.map_err(|error| {
        ToolError::io("Nothing can be listened to for the answer of the login", &error)
    })?;
    let redirect = redirect(settings, callback.port());
    let mut request = AuthorizationRequest::new(redirect.clone())
        .with_client_name(settings.client_name.as_deref().unwrap_or(NAME))
        .with_scopes(settings.scopes.clone());
    match (&settings.client_id, registered) {
        (Some(id), _) if id.starts_with("https://") && settings.client_secret.is_none() => {
            request = request.with_client_metadata_url(id.clone());
        }
        (Some(id), _) => {
            request = request.with_preregistered_client(id.clone());
            if let Some(secret) = &settings.client_secret {
                request = request.with_client_secret(secret.clone());
            }
        }
        (None, Some(known)) if known.redirect == redirect => {
            request = request.with_preregistered_client(known.client_id);
        }
        (None, _) => {}
    }
    let session = AuthorizationSession::new(manager, request).await.map_err(|it| wrong(&it.1))?;
    let patience = settings.timeout.unwrap_or(PATIENCE);
    let answered = wait(session.get_authorization_url(), callback, visitor);
    let answered = tokio::time::timeout(patience, answered).await.map_err(|_| {
        ToolError::new(ErrorKind::Timeout, format!("Nobody logged in to '{name}' in time"))
    })?;
    let Some(answer) = answered else { return Err(ToolError::cancelled()) };
    let answer = callback::complete(&answer, &redirect);
    if let Err(error) = session.handle_callback_url(&answer).await {
        if error.to_string().contains("invalid_client") && settings.client_id.is_none() {
            // The server has forgotten us: the next login registers anew.
            store.forget_registration();
        }
        return Err(wrong(&error));
    }
    store.note_redirect(&redirect);
    Ok(())
}

/// Waits for the answer, on whichever way it comes.
async fn wait(url: &str, callback: Callback, visitor: &dyn Visitor) -> Option<String> {
    let visited = visitor.visit(url);
    tokio::select! {
        answer = callback.wait() => Some(answer),
        pasted = visited => pasted.filter(|text| !text.trim().is_empty()),
    }
}

fn needs(server: &Server) -> Result<(&str, &OAuthSettings), ToolError> {
    match (&server.settings().link, &server.settings().oauth) {
        (Link::Http { url, .. }, Some(oauth)) => Ok((url, oauth)),
        _ => Err(ToolError::invalid(format!("The MCP server '{}' has no login", server.name()))
            .with_hint("Set `auth: oauth` in its entry of `mcp_servers`.")),
    }
}

async fn manager(server: &Server, url: &str) -> Result<AuthorizationManager, ToolError> {
    // It fails if another part of the program has chosen already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = AuthorizationManager::new(url).await;
    let mut manager = made.map_err(|error| failed(server.name(), &error))?;
    manager.set_credential_store(Store::new(&server.shared().logins, server.name(), url));
    Ok(manager)
}

fn redirect(settings: &OAuthSettings, port: u16) -> String {
    match &settings.redirect_uri {
        Some(uri) => uri.clone(),
        None => format!("http://127.0.0.1:{port}/callback"),
    }
}

fn failed(server: &str, error: &AuthError) -> ToolError {
    if matches!(error, AuthError::AuthorizationRequired) {
        return super::login_wanted(server);
    }
    let text = excerpt(&super::fault::causes(error), 500);
    ToolError::new(
        ErrorKind::Network,
        format!("The login at the MCP server '{server}' failed: {text}"),
    )
}
