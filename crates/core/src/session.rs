//! What outlives a call: small JSON documents kept per session, so that
//! separate processes can share one session.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ToolError;

/// A session document could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError(pub String);

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SessionError {}

impl From<SessionError> for ToolError {
    fn from(error: SessionError) -> Self {
        ToolError::unavailable(error.0)
            .with_hint("The session's state cannot be read or kept; check the file, and that HERMES_HOME can be written.")
    }
}

/// Where session documents are kept.
pub trait SessionStore: Send + Sync {
    /// The document of that key; null if there is none.
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError>;

    /// Changes the document of that key in one step that no other process
    /// can come between. Nothing is written if `change` fails.
    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError>;
}

/// Sessions that live as long as the process.
#[derive(Debug, Default)]
pub struct MemorySessions {
    documents: Mutex<HashMap<(String, String), Value>>,
}

impl SessionStore for MemorySessions {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        let documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.is_empty() {
            return Ok(Value::Null);
        }
        Ok(documents.get(&(session.to_owned(), key.to_owned())).cloned().unwrap_or_default())
    }

    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (session.to_owned(), key.to_owned());
        let new = change(documents.get(&slot).cloned().unwrap_or_default())?;
        documents.insert(slot, new);
        Ok(())
    }
}

/// Changes that a session makes to the environment: a value, or none for a
/// variable that is taken away.
pub type Variables = BTreeMap<String, Option<String>>;

/// One session's documents.
#[derive(Clone)]
pub struct Session {
    id: Arc<str>,
    store: Arc<dyn SessionStore>,
}

impl Session {
    /// The session of that id in `store`.
    pub fn new(id: impl Into<Arc<str>>, store: Arc<dyn SessionStore>) -> Self {
        Self { id: id.into(), store }
    }

    /// A session that nobody else sees.
    pub fn in_memory() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = format!("memory-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self::new(id, Arc::new(MemorySessions::default()))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The document of that key, or the type's default.
    pub fn read<T: DeserializeOwned + Default>(&self, key: &str) -> Result<T, SessionError> {
        decode(key, self.store.read(&self.id, key)?)
    }

    /// Changes the document of that key in one step.
    pub fn update<T, R>(
        &self,
        key: &str,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R, SessionError>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let mut change = Some(change);
        let mut answer = None;
        self.store.update(&self.id, key, &mut |old| {
            let mut document: T = decode(key, old)?;
            if let Some(change) = change.take() {
                answer = Some(change(&mut document));
            }
            serde_json::to_value(&document).map_err(|e| {
                SessionError(format!("Session document '{key}' cannot be written: {e}"))
            })
        })?;
        answer.ok_or_else(|| SessionError(format!("Session document '{key}' was not changed")))
    }

    /// The session's working folder, if it has chosen one.
    pub fn cwd(&self) -> Result<Option<PathBuf>, SessionError> {
        self.read("cwd")
    }

    /// What the session changes in the environment.
    pub fn variables(&self) -> Result<Variables, SessionError> {
        self.read("env")
    }
}

fn decode<T: DeserializeOwned + Default>(key: &str, value: Value) -> Result<T, SessionError> {
    if value.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(value)
        .map_err(|e| SessionError(format!("Session document '{key}' is damaged: {e}")))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.id)
    }
}
