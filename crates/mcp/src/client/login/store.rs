//! Tokens on disk, in the files of Hermes Agent, so that a login holds for
//! both: `NAME.json` has the tokens, `NAME.client.json` what we are to the
//! server.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use rmcp::transport::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde_json::{Map, Value, json};

use hermes_store::atomic::write_atomic;

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// The login of one server.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
    name: String,
    /// The address that it is for. Tokens are sent nowhere else, even if
    /// another server has come to the name.
    resource: String,
}

/// What we have registered as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) client_id: String,
    pub(super) redirect: String,
    pub(super) port: u16,
}

/// The name of a server's files, as Hermes Agent makes it.
fn safe(server: &str) -> String {
    let safe: String = server
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(128)
        .collect();
    let safe = safe.trim_matches('_');
    if safe.is_empty() { "default".to_owned() } else { safe.to_owned() }
}

impl Store {
    pub(super) fn new(folder: &Path, server: &str, resource: &str) -> Self {
        Self { folder: folder.to_owned(), name: safe(server), resource: resource.to_owned() }
    }

    pub(super) fn remove(folder: &Path, server: &str) {
        let store = Self::new(folder, server, "");
        for ending in ["json", "client.json", "lock"] {
            let _ = std::fs::remove_file(store.file(ending));
        }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    fn read(&self, ending: &str) -> io::Result<Option<Map<String, Value>>> {
        match std::fs::read(self.file(ending)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).map(Some)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, ending: &str, value: &Map<String, Value>) -> io::Result<()> {
        self.make_folder()?;
        write_atomic(&self.file(ending), &serde_json::to_vec_pretty(value)?, 0o600)
    }

    fn make_folder(&self) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// What we have registered as at this server.
    pub(super) fn registration(&self) -> Option<Registration> {
        let client = self.read("client.json").ok().flatten()?;
        let redirect = client.get("redirect_uris")?.get(0)?.as_str()?.to_owned();
        let port = redirect.split(':').nth(2)?.split('/').next()?.parse().ok()?;
        let client_id = client.get("client_id")?.as_str()?.to_owned();
        self.is_ours(&client).then_some(Registration { client_id, redirect, port })
    }

    pub(super) fn forget_registration(&self) {
        let _ = std::fs::remove_file(self.file("client.json"));
    }

    /// Keeps the address that the registration is for.
    pub(super) fn note_redirect(&self, redirect: &str) {
        let Ok(Some(mut client)) = self.read("client.json") else { return };
        client.insert("redirect_uris".to_owned(), json!([redirect]));
        let _ = self.write("client.json", &client);
    }

    /// Files of Hermes Agent do not say which address they are for.
    fn is_ours(&self, client: &Map<String, Value>) -> bool {
        client.get("resource").is_none_or(|it| it.as_str() == Some(&self.resource))
    }

    fn load_now(&self) -> io::Result<Option<StoredCredentials>> {
        let Some(client) = self.read("client.json")? else { return Ok(None) };
        if !self.is_ours(&client) {
            return Ok(None);
        }
        let text = |key: &str| client.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(client_id) = text("client_id") else { return Ok(None) };
        let mut received = None;
        let mut scopes = Vec::new();
        let tokens = match self.read("json")? {
            Some(tokens) => {
                let number = |key: &str| tokens.get(key).and_then(Value::as_f64);
                if let (Some(at), Some(lasting)) = (number("expires_at"), number("expires_in")) {
                    received = Some((at - lasting).max(0.0) as u64);
                }
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

    fn save_now(&self, credentials: &StoredCredentials) -> io::Result<()> {
        let mut client = self.read("client.json").ok().flatten().unwrap_or_default();
        if client.get("client_id").and_then(Value::as_str) != Some(&credentials.client_id) {
            client = Map::new();
        }
        client.insert("client_id".to_owned(), credentials.client_id.clone().into());
        client.insert("resource".to_owned(), self.resource.clone().into());
        if let Some(issuer) = &credentials.issuer {
            client.insert("issuer".to_owned(), issuer.clone().into());
        }
        self.write("client.json", &client)?;
        let Some(tokens) = &credentials.token_response else {
            return remove(&self.file("json"));
        };
        let Value::Object(mut tokens) = serde_json::to_value(tokens)? else {
            return Err(io::Error::other("the tokens are no object"));
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

    /// Waits until no other program refreshes these tokens.
    fn lock(&self) -> io::Result<File> {
        self.make_folder()?;
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600);
        let file = file.open(self.file("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn told(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

// The trait is written for a macro; these are the types that it makes.
impl CredentialStore for Store {
    fn load<'a, 'b>(&'a self) -> Answer<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { self.load_now().map_err(told) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.save_now(&credentials).map_err(told) })
    }

    fn clear<'a, 'b>(&'a self) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { remove(&self.file("json")).map_err(told) })
    }

    fn on_refresh_token_rejected<'a, 'c, 'b>(
        &'a self,
        credentials: &'c StoredCredentials,
    ) -> Answer<'b, ()>
    where
        'a: 'b,
        'c: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            // Somebody may have logged in meanwhile.
            let is_same = self
                .load_now()
                .map_err(told)?
                .is_some_and(|now| now.token_received_at == credentials.token_received_at);
            if is_same { remove(&self.file("json")).map_err(told) } else { Ok(()) }
        })
    }

    fn acquire_refresh_guard<'a, 'b>(&'a self) -> Answer<'b, Option<CredentialRefreshGuard>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            let store = self.clone();
            let locked = tokio::task::spawn_blocking(move || store.lock()).await;
            let file = locked.map_err(|error| told(io::Error::other(error)))?.map_err(told)?;
            Ok(Some(CredentialRefreshGuard::new(file)))
        })
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
