//! Session state: small JSON documents that outlive a call and that several
//! processes can share.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Grants, Scope, ToolError, taint};

/// Why a session document could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionError {
    /// The store failed.
    Failed(String),
    /// The call did not declare access to this document.
    Undeclared(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) => f.write_str(message),
            Self::Undeclared(key) => {
                write!(f, "The call accesses the session's {key}, which it did not declare")
            }
        }
    }
}

impl std::error::Error for SessionError {}

impl From<SessionError> for ToolError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Failed(message) => ToolError::unavailable(message).with_hint(
                "The session state cannot be read or saved; check the file, and that \
                 HERMES_HOME is writable.",
            ),
            SessionError::Undeclared(_) => ToolError::denied(error.to_string())
                .with("rule", "undeclared-effect")
                .with_hint("This is a bug in the tool; report it to its author."),
        }
    }
}

/// Storage for session documents.
pub trait SessionStore: Send + Sync {
    /// Returns the document stored under `key`; null if it does not exist.
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError>;

    /// Changes the document stored under `key` atomically with respect to other
    /// processes. Nothing is written if `change` fails.
    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError>;

    /// Whether an operation may block on the disk or another process.
    fn may_block(&self) -> bool {
        true
    }
}

/// A store that lives as long as the process.
#[derive(Debug, Default)]
pub struct MemorySessionStore {
    documents: Mutex<HashMap<(String, String), Value>>,
}

impl SessionStore for MemorySessionStore {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        let documents = self.documents.lock();
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
        let mut documents = self.documents.lock();
        let slot = (session.to_owned(), key.to_owned());
        let new = change(documents.get(&slot).cloned().unwrap_or_default())?;
        documents.insert(slot, new);
        Ok(())
    }

    fn may_block(&self) -> bool {
        false
    }
}

/// Changes a session makes to the environment: a value, or none for a removed
/// variable.
pub type EnvOverrides = BTreeMap<String, Option<String>>;

/// Handle to one session's documents.
#[derive(Clone)]
pub struct Session {
    id: Arc<str>,
    store: Arc<dyn SessionStore>,
    /// What the holder may touch; none for the engine.
    grants: Option<Arc<Grants>>,
}

impl Session {
    /// Returns the session `id` in `store`.
    pub fn new(id: impl Into<Arc<str>>, store: Arc<dyn SessionStore>) -> Self {
        Self { id: id.into(), store, grants: None }
    }

    /// Whether an operation may block on the disk or another process, so it
    /// must not run on a shared thread.
    pub fn may_block(&self) -> bool {
        self.store.may_block()
    }

    /// Returns the same session, restricted to the grants of a call.
    #[must_use]
    pub fn with_grants(&self, grants: Arc<Grants>) -> Self {
        Self { grants: Some(grants), ..self.clone() }
    }

    /// Returns the same session without restrictions, for engine documents.
    pub(crate) fn without_grants(&self) -> Self {
        Self { grants: None, ..self.clone() }
    }

    /// Returns an error unless the holder declared access to this document.
    fn check_access(&self, key: &str, access: DocumentAccess) -> Result<(), SessionError> {
        let Some(list) = self.grants.as_ref().and_then(|grants| grants.list()) else {
            return Ok(());
        };
        let scopes = match (document_owner(key), access) {
            (DocumentOwner::AnyCall, _)
            | (DocumentOwner::PubliclyReadable, DocumentAccess::Read) => return Ok(()),
            (DocumentOwner::Scoped(read, write), DocumentAccess::Read) => vec![read, write],
            (DocumentOwner::Inherited(read, write), DocumentAccess::Read) => {
                vec![read, write, Scope::TERMINAL_EXECUTE, Scope::CODE_EXECUTE]
            }
            (DocumentOwner::Inherited(_, write), DocumentAccess::Write) => vec![write],
            (DocumentOwner::Shell, DocumentAccess::Read) => vec![
                Scope::TERMINAL_EXECUTE,
                Scope::CODE_EXECUTE,
                Scope::ENV_READ,
                Scope::ENV_WRITE,
            ],
            (DocumentOwner::Shell, DocumentAccess::Write) => {
                vec![Scope::TERMINAL_EXECUTE, Scope::ENV_WRITE]
            }
            (DocumentOwner::Scoped(_, write), DocumentAccess::Write) => vec![write],
            (DocumentOwner::PubliclyReadable, DocumentAccess::Write) => {
                vec![Scope::TERMINAL_EXECUTE, Scope::CODE_EXECUTE]
            }
            (DocumentOwner::EngineOnly, _) => Vec::new(),
        };
        if list.iter().any(|grant| scopes.contains(&grant.effect.scope)) {
            return Ok(());
        }
        Err(SessionError::Undeclared(key.to_owned()))
    }

    /// Returns a session that is private to this process.
    pub fn in_memory() -> Self {
        static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);
        // Unique across processes: jobs that a session leaves running are found
        // by its id.
        let number = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
        let id = format!("memory-{}-{number}", std::process::id());
        Self::new(id, Arc::new(MemorySessionStore::default()))
    }

    /// The session id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the document stored under `key`, or the type's default.
    pub fn read<T: DeserializeOwned + Default>(&self, key: &str) -> Result<T, SessionError> {
        self.check_access(key, DocumentAccess::Read)?;
        decode(key, self.store.read(&self.id, key)?)
    }

    /// Changes the document stored under `key` atomically.
    pub fn update<T, R>(
        &self,
        key: &str,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R, SessionError>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        self.check_access(key, DocumentAccess::Write)?;
        let mut change = Some(change);
        let mut answer = None;
        self.store.update(&self.id, key, &mut |old| {
            let mut document: T = decode(key, old)?;
            if let Some(change) = change.take() {
                answer = Some(change(&mut document));
            }
            serde_json::to_value(&document).map_err(|e| {
                SessionError::Failed(format!("Session document '{key}' cannot be written: {e}"))
            })
        })?;
        answer.ok_or_else(|| {
            SessionError::Failed(format!("Session document '{key}' was not changed"))
        })
    }

    /// Returns the session's working directory, if one was set.
    pub fn cwd(&self) -> Result<Option<PathBuf>, SessionError> {
        self.read_dir("cwd")
    }

    /// Returns the session's initial directory, if it was recorded.
    pub fn initial_cwd(&self) -> Result<Option<PathBuf>, SessionError> {
        self.read_dir("beginning")
    }

    fn read_dir(&self, key: &str) -> Result<Option<PathBuf>, SessionError> {
        let dir: Option<StoredDir> = self.read(key)?;
        Ok(dir.map(|dir| match dir {
            StoredDir::Text(text) => text.into(),
            StoredDir::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }))
    }

    /// Sets the session's working directory; none resets it to the initial one.
    pub fn set_cwd(&self, dir: Option<&Path>) -> Result<(), SessionError> {
        self.set_dir("cwd", dir)
    }

    /// Records the session's initial directory.
    pub fn set_initial_cwd(&self, dir: &Path) -> Result<(), SessionError> {
        self.set_dir("beginning", Some(dir))
    }

    fn set_dir(&self, key: &str, dir: Option<&Path>) -> Result<(), SessionError> {
        self.update(key, |kept: &mut Option<StoredDir>| {
            *kept = dir.map(|dir| match dir.to_str() {
                Some(text) => StoredDir::Text(text.to_owned()),
                None => StoredDir::Bytes(dir.as_os_str().as_bytes().to_vec()),
            });
        })
    }

    /// Returns the session's changes to the environment.
    pub fn env_overrides(&self) -> Result<EnvOverrides, SessionError> {
        self.read("env")
    }
}

/// A stored directory: text if it is UTF-8, bytes otherwise.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredDir {
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Clone, Copy)]
enum DocumentAccess {
    Read,
    Write,
}

/// Who may access a document.
enum DocumentOwner {
    /// Any call; a tool's private state.
    AnyCall,
    /// Calls with one of these effects: read, write.
    Scoped(Scope, Scope),
    /// Like `Scoped`; child processes inherit the value, so calls that start
    /// one may read it.
    Inherited(Scope, Scope),
    /// Shell state by which later commands are judged. Its variables are also
    /// part of the session's environment.
    Shell,
    /// Readable by every call; written by commands.
    PubliclyReadable,
    /// Only the engine.
    EngineOnly,
}

fn document_owner(key: &str) -> DocumentOwner {
    match key {
        "env" => DocumentOwner::Inherited(Scope::ENV_READ, Scope::ENV_WRITE),
        "todo" => DocumentOwner::Scoped(Scope::PLAN_READ, Scope::PLAN_WRITE),
        "shell" => DocumentOwner::Shell,
        "cwd" | "beginning" => DocumentOwner::PubliclyReadable,
        taint::TAINT_DOCUMENT | "approvals" => DocumentOwner::EngineOnly,
        _ => DocumentOwner::AnyCall,
    }
}

fn decode<T: DeserializeOwned + Default>(key: &str, value: Value) -> Result<T, SessionError> {
    if value.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(value)
        .map_err(|e| SessionError::Failed(format!("Session document '{key}' is invalid: {e}")))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.id)
    }
}
