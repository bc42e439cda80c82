//! Token store in the files of Hermes Agent, so both share a login: `NAME.json`
//! holds the tokens, `NAME.client.json` the client registration.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rmcp::transport::{AuthError, CredentialStore, StoredCredentials};
use serde_json::{Map, Value};

use hermes_store::atomic::write_atomic;

type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// How long before its expiry a token is refreshed, in seconds and as a
/// fraction of its lifetime, so a new token is usable however short it lives.
const EXPIRY_MARGIN_SECS: u64 = 30;
const EXPIRY_MARGIN_DIVISOR: u64 = 10;

/// How long to wait for the lock of a login.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// How often to retry the lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Stored login of one server.
#[derive(Debug, Clone)]
pub(super) struct TokenStore {
    dir: PathBuf,
    name: String,
    /// The URL that the tokens are for. They are never sent elsewhere, even if
    /// another server takes the name.
    resource: String,
    /// The registration to store once a login completes.
    draft: Option<Map<String, Value>>,
}

/// A token that is sent with requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccessToken {
    pub(super) text: String,
    /// Whether it must be refreshed before use.
    pub(super) is_stale: bool,
}

/// Client registration at a server.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientRegistration(Map<String, Value>);

impl ClientRegistration {
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    pub(super) fn issuer(&self) -> Option<&str> {
        self.text("issuer")
    }

    /// Whether the client id comes from the settings.
    pub(super) fn is_configured(&self) -> bool {
        self.0.get(CONFIGURED_KEY) == Some(&Value::Bool(true))
    }

    /// Where the browser is redirected to.
    pub(super) fn redirect_uri(&self) -> Option<&str> {
        self.0.get("redirect_uris")?.get(0)?.as_str()
    }

    pub(super) fn redirect_port(&self) -> Option<u16> {
        self.redirect_uri()?.split(':').nth(2)?.split('/').next()?.parse().ok()
    }

    fn scopes(&self, key: &str) -> Vec<String> {
        self.text(key).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// Scopes that the last login requested.
    pub(super) fn requested_scopes(&self) -> Vec<String> {
        self.scopes(SCOPE_ASKED_KEY)
    }

    /// Scopes that a request has lacked since then.
    pub(super) fn missing_scopes(&self) -> Vec<String> {
        self.scopes(SCOPE_WANTED_KEY)
    }

    /// Registration for a login that was not completed.
    pub(super) fn pending_registration(&self) -> Option<Self> {
        self.0.get(PENDING_KEY)?.as_object().cloned().map(Self)
    }

    /// Whether the registration covers these scopes.
    pub(super) fn is_registered_for(&self, scopes: &[String]) -> bool {
        let registered = self.scopes("scope");
        registered.is_empty() || scopes.iter().all(|scope| registered.contains(scope))
    }
}

impl From<ClientRegistration> for Map<String, Value> {
    fn from(client: ClientRegistration) -> Self {
        client.0
    }
}

// Our own keys in the files of Hermes Agent.
const SCOPE_ASKED_KEY: &str = "scope_asked";
const SCOPE_WANTED_KEY: &str = "scope_wanted";
const PENDING_KEY: &str = "pending";
pub(super) const CONFIGURED_KEY: &str = "configured";
pub(super) const RESOURCE_METADATA_KEY: &str = "resource_metadata";

/// File name for a server, as Hermes Agent builds it.
fn file_stem(server: &str) -> String {
    let safe: String = server
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(128)
        .collect();
    let safe = safe.trim_matches('_');
    if safe.is_empty() { "default".to_owned() } else { safe.to_owned() }
}

impl TokenStore {
    pub(super) fn new(directory: &Path, server: &str, resource: &str) -> Self {
        let (directory, resource) = (directory.to_owned(), resource.to_owned());
        Self { dir: directory, name: file_stem(server), resource, draft: None }
    }

    pub(super) fn remove(dir: &Path, server: &str) {
        let store = Self::new(dir, server, "");
        for ending in ["json", "client.json", "meta.json", "lock"] {
            let _ = std::fs::remove_file(store.file(ending));
        }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.dir.join(format!("{}.{ending}", self.name))
    }

    fn read(&self, ending: &str) -> io::Result<Option<Map<String, Value>>> {
        match std::fs::read(self.file(ending)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).map(Some)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, ending: &str, value: &Map<String, Value>) -> io::Result<()> {
        self.create_dir()?;
        write_atomic(&self.file(ending), &serde_json::to_vec_pretty(value)?, 0o600)
    }

    fn create_dir(&self) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)
    }

    /// Returns the registration at this server.
    pub(super) fn registration(&self) -> Option<ClientRegistration> {
        let client = self.read("client.json").ok().flatten()?;
        self.matches_resource(&client).then_some(ClientRegistration(client))
    }

    /// Returns a store that saves this registration together with the tokens of
    /// a completed login.
    pub(super) fn with_draft(&self, client: Map<String, Value>, asked: &[String]) -> Self {
        let mut draft = client;
        draft.remove(SCOPE_WANTED_KEY);
        draft.remove(PENDING_KEY);
        draft.insert(SCOPE_ASKED_KEY.to_owned(), asked.join(" ").into());
        Self { draft: Some(draft), ..self.clone() }
    }

    /// Saves a registration at once, so an abandoned login does not need
    /// another. Existing tokens belong to another registration; this one is
    /// kept beside it as pending.
    pub(super) fn save_registration(&self) -> io::Result<()> {
        let Some(draft) = &self.draft else { return Ok(()) };
        let mut client = draft.clone();
        client.remove(SCOPE_ASKED_KEY);
        client.remove(PENDING_KEY);
        client.insert("resource".to_owned(), self.resource.clone().into());
        match self.registration().filter(|_| self.file("json").exists()) {
            None => self.write("client.json", &client),
            Some(known) if known.0.get("client_id") == client.get("client_id") => Ok(()),
            Some(ClientRegistration(mut known)) => {
                known.insert(PENDING_KEY.to_owned(), client.into());
                self.write("client.json", &known)
            }
        }
    }

    /// Removes the registration of this login, but not one that belongs to
    /// another login.
    pub(super) fn forget_registration(&self) {
        let ours = self.draft.as_ref().and_then(|draft| draft.get("client_id"));
        if let Some(ClientRegistration(mut known)) = self.registration()
            && ours.is_some_and(|ours| known.get("client_id") != Some(ours))
        {
            known.remove(PENDING_KEY);
            let _ = self.write("client.json", &known);
            return;
        }
        for ending in ["json", "client.json"] {
            let _ = remove_if_exists(&self.file(ending));
        }
    }

    /// Stores the challenge of a refused request.
    pub(super) fn record_refusal(&self, metadata: Option<&str>, wanted: Option<&str>) {
        let Some(ClientRegistration(mut client)) = self.registration() else { return };
        let before = client.clone();
        if let Some(url) = metadata {
            client.insert(RESOURCE_METADATA_KEY.to_owned(), url.into());
        }
        if let Some(scope) = wanted {
            client.insert(SCOPE_WANTED_KEY.to_owned(), scope.into());
        }
        if client != before {
            let _ = self.write("client.json", &client);
        }
    }

    /// Returns the current token, if there is one.
    pub(super) fn token(&self) -> io::Result<Option<AccessToken>> {
        if self.registration().is_none() {
            return Ok(None);
        }
        let Some(tokens) = self.read("json")? else { return Ok(None) };
        let Some(text) = tokens.get("access_token").and_then(Value::as_str) else {
            return Ok(None);
        };
        // A lifetime of zero means unknown.
        let lasting = tokens.get("expires_in").and_then(Value::as_f64).map(|it| it as u64);
        let lasting = lasting.filter(|lasting| *lasting > 0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let is_stale = self.received_at(&tokens).zip(lasting).is_some_and(|(at, lasting)| {
            at.saturating_add(lasting)
                <= now + EXPIRY_MARGIN_SECS.min(lasting / EXPIRY_MARGIN_DIVISOR)
        });
        Ok(Some(AccessToken { text: text.to_owned(), is_stale }))
    }

    /// Returns when the tokens were received. Older files of Hermes Agent lack
    /// that; then it is the file time.
    fn received_at(&self, tokens: &Map<String, Value>) -> Option<u64> {
        let number = |key: &str| tokens.get(key).and_then(Value::as_f64);
        let lasting = number("expires_in")?;
        if let Some(at) = number("expires_at") {
            return Some((at - lasting).max(0.0) as u64);
        }
        let written = std::fs::metadata(self.file("json")).ok()?.modified().ok()?;
        Some(written.duration_since(UNIX_EPOCH).ok()?.as_secs())
    }

    /// Whether a registration is for this URL. Files of Hermes Agent do not
    /// name one.
    fn matches_resource(&self, client: &Map<String, Value>) -> bool {
        client.get("resource").is_none_or(|it| it.as_str() == Some(&self.resource))
    }

    fn load_credentials(&self) -> io::Result<Option<StoredCredentials>> {
        let Some(client) = self.read("client.json")? else { return Ok(None) };
        if !self.matches_resource(&client) {
            return Ok(None);
        }
        let text = |key: &str| client.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(client_id) = text("client_id") else { return Ok(None) };
        let mut received = None;
        let mut scopes = Vec::new();
        let tokens = match self.read("json")? {
            Some(tokens) => {
                received = self.received_at(&tokens);
                if let Some(scope) = tokens.get("scope").and_then(Value::as_str) {
                    scopes = scope.split_whitespace().map(str::to_owned).collect();
                }
                let mut tokens = tokens;
                tokens.retain(|key, value| key != "expires_at" && !value.is_null());
                Some(serde_json::from_value(Value::Object(tokens))?)
            }
            None => None,
        };
        let stored = StoredCredentials::new(client_id, tokens, scopes, received);
        Ok(Some(stored.with_issuer(text("issuer"))))
    }

    fn save_credentials(&self, credentials: &StoredCredentials) -> io::Result<()> {
        let mut client = match &self.draft {
            Some(draft) => draft.clone(),
            None => self.read("client.json").ok().flatten().unwrap_or_default(),
        };
        let is_same = |it: &Value| it.as_str() == Some(&credentials.client_id);
        if self.draft.is_none() && !client.get("client_id").is_some_and(is_same) {
            client = Map::new();
        }
        client.insert("client_id".to_owned(), credentials.client_id.clone().into());
        client.insert("resource".to_owned(), self.resource.clone().into());
        if let Some(issuer) = &credentials.issuer {
            client.insert("issuer".to_owned(), issuer.clone().into());
        }
        self.write("client.json", &client)?;
        let Some(tokens) = &credentials.token_response else {
            return remove_if_exists(&self.file("json"));
        };
        let Value::Object(mut tokens) = serde_json::to_value(tokens)? else {
            return Err(io::Error::other("the tokens are not a JSON object"));
        };
        let lasting = tokens.get("expires_in").and_then(Value::as_u64);
        if let (Some(lasting), Some(received)) = (lasting, credentials.token_received_at) {
            tokens.insert("expires_at".to_owned(), (received + lasting).into());
        }
        if !credentials.granted_scopes.is_empty() {
            tokens.insert("scope".to_owned(), credentials.granted_scopes.join(" ").into());
        }
        self.write("json", &tokens)
    }

    /// Locks the tokens against other tasks and processes until the file is
    /// dropped.
    pub(super) async fn lock(&self) -> io::Result<File> {
        self.create_dir()?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(self.file("lock"))?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    let text = "timed out waiting for another process that holds the lock of \
                        this login";
                    return Err(io::Error::other(text));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL_INTERVAL).await,
            }
        }
    }
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn store_error(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

// The signatures that the async trait macro generates.
impl CredentialStore for TokenStore {
    fn load<'a, 'b>(&'a self) -> StoreFuture<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { self.load_credentials().map_err(store_error) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> StoreFuture<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.save_credentials(&credentials).map_err(store_error) })
    }

    fn clear<'a, 'b>(&'a self) -> StoreFuture<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { remove_if_exists(&self.file("json")).map_err(store_error) })
    }

    fn on_refresh_token_rejected<'a, 'c, 'b>(
        &'a self,
        credentials: &'c StoredCredentials,
    ) -> StoreFuture<'b, ()>
    where
        'a: 'b,
        'c: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            // The user may have logged in meanwhile.
            let is_same = self
                .load_credentials()
                .map_err(store_error)?
                .is_some_and(|now| now.token_received_at == credentials.token_received_at);
            if is_same { remove_if_exists(&self.file("json")).map_err(store_error) } else { Ok(()) }
        })
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
