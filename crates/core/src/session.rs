//! What outlives a call: small JSON documents kept per session, so that
//! separate processes can share one session.

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

/// A session document could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionError {
    /// The store could not do it.
    Failed(String),
    /// The call did not declare that it would touch this document.
    Undeclared(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) => f.write_str(message),
            Self::Undeclared(key) => {
                write!(f, "The call reaches for the session's {key}, which it did not declare")
            }
        }
    }
}

impl std::error::Error for SessionError {}

impl From<SessionError> for ToolError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Failed(message) => ToolError::unavailable(message).with_hint(
                "The session's state cannot be read or kept; check the file, and that HERMES_HOME can be written.",
            ),
            SessionError::Undeclared(_) => ToolError::denied(error.to_string())
                .with("rule", "undeclared-effect")
                .with_hint("This is a defect of the tool; report it to its author."),
        }
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

    /// Whether other processes or a disk may have to be waited for.
    fn may_block(&self) -> bool {
        true
    }
}

/// Sessions that live as long as the process.
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

/// Changes that a session makes to the environment: a value, or none for a
/// variable that is taken away.
pub type EnvOverrides = BTreeMap<String, Option<String>>;

/// One session's documents.
#[derive(Clone)]
pub struct Session {
    id: Arc<str>,
    store: Arc<dyn SessionStore>,
    /// What the holder may touch; none for the engine itself.
    grants: Option<Arc<Grants>>,
}

impl Session {
    /// The session of that id in `store`.
    pub fn new(id: impl Into<Arc<str>>, store: Arc<dyn SessionStore>) -> Self {
        Self { id: id.into(), store, grants: None }
    }

    /// Whether other processes or a disk may have to be waited for, so that it
    /// is not for a thread that others need.
    pub fn may_block(&self) -> bool {
        self.store.may_block()
    }

    /// The same session, for a call that may touch only what it was granted.
    #[must_use]
    pub fn with_grants(&self, grants: Arc<Grants>) -> Self {
        Self { grants: Some(grants), ..self.clone() }
    }

    /// The same session without bounds, for the documents of the engine.
    pub(crate) fn without_grants(&self) -> Self {
        Self { grants: None, ..self.clone() }
    }

    /// An error unless the holder declared that it would touch this document.
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

    /// A session that nobody else sees.
    pub fn in_memory() -> Self {
        static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);
        // Unique among all programs: what a session leaves running is found by it.
        let number = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
        let id = format!("memory-{}-{number}", std::process::id());
        Self::new(id, Arc::new(MemorySessionStore::default()))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The document of that key, or the type's default.
    pub fn read<T: DeserializeOwned + Default>(&self, key: &str) -> Result<T, SessionError> {
        self.check_access(key, DocumentAccess::Read)?;
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

    /// The session's working folder, if it has chosen one.
    pub fn cwd(&self) -> Result<Option<PathBuf>, SessionError> {
        self.read_dir("cwd")
    }

    /// Where it was before it chose one, if that was written down.
    pub fn initial_cwd(&self) -> Result<Option<PathBuf>, SessionError> {
        self.read_dir("beginning")
    }

    fn read_dir(&self, key: &str) -> Result<Option<PathBuf>, SessionError> {
        let folder: Option<StoredDir> = self.read(key)?;
        Ok(folder.map(|folder| match folder {
            StoredDir::Text(text) => text.into(),
            StoredDir::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }))
    }

    /// Moves the session to that folder; none is where it began.
    pub fn set_cwd(&self, folder: Option<&Path>) -> Result<(), SessionError> {
        self.set_dir("cwd", folder)
    }

    /// Writes down where it began.
    pub fn set_initial_cwd(&self, folder: &Path) -> Result<(), SessionError> {
        self.set_dir("beginning", Some(folder))
    }

    fn set_dir(&self, key: &str, folder: Option<&Path>) -> Result<(), SessionError> {
        self.update(key, |kept: &mut Option<StoredDir>| {
            *kept = folder.map(|folder| match folder.to_str() {
                Some(text) => StoredDir::Text(text.to_owned()),
                None => StoredDir::Bytes(folder.as_os_str().as_bytes().to_vec()),
            });
        })
    }

    /// What the session changes in the environment.
    pub fn env_overrides(&self) -> Result<EnvOverrides, SessionError> {
        self.read("env")
    }
}

/// A folder in a document, which is text: what is not is written as numbers.
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

/// Who may touch a document.
enum DocumentOwner {
    /// A tool's own notes.
    AnyCall,
    /// Calls with one of these effects: reading, writing.
    Scoped(Scope, Scope),
    /// The same; child processes get it, so whoever starts one may read it.
    Inherited(Scope, Scope),
    /// What later commands are judged by. Its variables are those of the
    /// session's environment as well.
    Shell,
    /// Everyone may read it; commands write it.
    PubliclyReadable,
    /// The engine alone.
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
        .map_err(|e| SessionError::Failed(format!("Session document '{key}' is damaged: {e}")))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.id)
    }
}
