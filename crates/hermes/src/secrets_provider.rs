//! The user's secrets: where they come from, and how they are kept out of
//! results and stored state.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_config::HermesHome;
use hermes_core::{SessionError, SessionStore};
use hermes_engine::SecretSource;
use hermes_exec::output::OutputMask;
use hermes_secrets::{Redactor, Secret, Vault, VaultError, is_secret};
use hermes_store::dotenv::DotenvFile;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

/// Name of the session document with environment variables.
const ENV_DOCUMENT: &str = "env";

/// The secrets of a user: environment variables that look secret, the `.env`
/// file of the home, and the vault.
pub struct SecretsProvider {
    env_file: PathBuf,
    vault: Vault,
    /// Values that sessions have received since.
    learned: Mutex<BTreeMap<String, String>>,
    redactor: RwLock<Option<Arc<Redactor>>>,
}

impl SecretsProvider {
    /// Creates a provider of the secrets in `home`. Reads nothing yet.
    pub fn new(home: &HermesHome) -> Self {
        Self {
            env_file: home.env_file(),
            vault: Vault::new(home.secrets_file()),
            learned: Mutex::default(),
            redactor: RwLock::default(),
        }
    }

    /// Fails if the vault cannot be read, because its secrets could then not be
    /// redacted.
    pub fn check(&self) -> Result<(), VaultError> {
        self.vault.values_for_redaction().map(drop)
    }

    fn known_secrets(&self) -> Vec<(String, String)> {
        let dotenv = DotenvFile::load(&self.env_file).vars;
        let mut known: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .chain(dotenv)
            .filter(|(name, value)| is_secret(name, value))
            .collect();
        let stored = self.vault.values_for_redaction().unwrap_or_default();
        known.extend(stored.into_iter().map(|(name, secret)| (name, secret.expose().to_owned())));
        known.extend(self.learned.lock().clone());
        known
    }

    /// Adds the secret ones among the variables of a session.
    fn learn_variables(&self, variables: &Value) {
        let Some(variables) = variables.as_object() else { return };
        let secret = |(name, value): (&String, &Value)| {
            let value = value.as_str().filter(|value| is_secret(name, value))?;
            Some((name.clone(), value.to_owned()))
        };
        for (name, value) in variables.iter().filter_map(secret) {
            self.learn_secret(&name, &value);
        }
    }

    /// Adds a secret, which is redacted from now on.
    pub fn learn_secret(&self, name: &str, value: &str) {
        let mut learned = self.learned.lock();
        if learned.get(name).map(String::as_str) != Some(value) {
            learned.insert(name.to_owned(), value.to_owned());
            *self.redactor.write() = None;
        }
    }
}

impl fmt::Debug for SecretsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretsProvider").field("env_file", &self.env_file).finish_non_exhaustive()
    }
}

impl OutputMask for SecretsProvider {
    fn mask(&self, bytes: &mut [u8]) {
        self.redactor().mask(bytes);
    }
}

impl SecretSource for SecretsProvider {
    fn redactor(&self) -> Arc<Redactor> {
        let built = self.redactor.read().clone();
        built.unwrap_or_else(|| {
            let redactor = Arc::new(Redactor::new(self.known_secrets()).unwrap_or_default());
            let mut slot = self.redactor.write();
            Arc::clone(slot.insert(redactor))
        })
    }

    fn lookup(&self, name: &str) -> Result<Option<Secret>, String> {
        if let Some(secret) = self.vault.get(name).map_err(|error| error.to_string())? {
            return Ok(Some(secret));
        }
        let from_file = || DotenvFile::load(&self.env_file).vars.get(name).cloned();
        Ok(std::env::var(name).ok().or_else(from_file).map(Secret::new))
    }
}

/// A session store that redacts secrets in every document except the
/// environment variables, which programs need unchanged.
pub struct RedactingStore {
    store: Box<dyn SessionStore>,
    secrets: Arc<SecretsProvider>,
}

impl RedactingStore {
    /// Wraps `store`.
    pub fn new(store: Box<dyn SessionStore>, secrets: Arc<SecretsProvider>) -> Self {
        Self { store, secrets }
    }
}

impl fmt::Debug for RedactingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactingStore").finish_non_exhaustive()
    }
}

impl SessionStore for RedactingStore {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        let document = self.store.read(session, key)?;
        if key == ENV_DOCUMENT {
            self.secrets.learn_variables(&document);
        }
        Ok(document)
    }

    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError> {
        self.store.update(session, key, &mut |old| {
            let new = change(old)?;
            if key == ENV_DOCUMENT {
                self.secrets.learn_variables(&new);
                return Ok(new);
            }
            let mut text = new.to_string();
            self.secrets.redactor().redact_state(&mut text);
            Ok(serde_json::from_str(&text).unwrap_or(new))
        })
    }

    fn may_block(&self) -> bool {
        self.store.may_block()
    }
}
