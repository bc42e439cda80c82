//! The engine's view of secrets: redaction, and lookup of placeholders.

use std::sync::Arc;

use hermes_secrets::{Redactor, Secret};

/// A store of secrets.
pub trait SecretSource: Send + Sync {
    /// Returns the redactor for known secrets.
    fn redactor(&self) -> Arc<Redactor>;

    /// Looks up `secret://NAME`; the error says why the secret is unavailable.
    fn lookup(&self, name: &str) -> Result<Option<Secret>, String>;
}

/// An empty store; common token formats are still redacted.
#[derive(Debug, Default)]
pub(crate) struct NoSecrets {
    redactor: Arc<Redactor>,
}

impl SecretSource for NoSecrets {
    fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    fn lookup(&self, _name: &str) -> Result<Option<Secret>, String> {
        Ok(None)
    }
}
