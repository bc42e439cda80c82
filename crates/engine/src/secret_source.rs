//! What the engine knows of secrets: how to find them in text, and what a
//! placeholder stands for.

use std::sync::Arc;

use hermes_secrets::{Redactor, Secret};

/// Whoever keeps the secrets.
pub trait SecretSource: Send + Sync {
    /// Takes known secrets out of any text.
    fn redactor(&self) -> Arc<Redactor>;

    /// What `secret://NAME` stands for; the error says why it cannot be had.
    fn lookup(&self, name: &str) -> Result<Option<Secret>, String>;
}

/// No secrets of one's own; the usual shapes of tokens are masked all the same.
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
