//! Sessions that outlive a process: one file each, shared between processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hermes_core::{SessionError, SessionStore};
use parking_lot::Mutex;
use serde_json::Value;

use crate::atomic::Durability;
use crate::file_names::{DIGEST_SEPARATOR, file_stem};
use crate::lock::FileLock;
use crate::session_record::SessionRecord;
use crate::{StoreError, atomic, regular_file};

const FILE_MODE: u32 = 0o600;

/// The extension of the directory for documents in separate files.
const PARTS_EXTENSION: &str = "parts";

/// Session documents in a directory, one JSON file per session.
///
/// A change is made under a lock and written atomically, so no process loses
/// the update of another; reading needs no lock.
///
/// A document with a `/` in its key has a separate file, so a long session does
/// not rewrite all its data on every change. Such a file is not synced to disk,
/// and one damaged by a power failure is treated as missing.
#[derive(Debug, Clone)]
pub struct FileSessionStore {
    dir: PathBuf,
    /// The last write failure, shared by all clones.
    problem: Arc<Mutex<Option<String>>>,
}

/// A session that has a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// The session's id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// When it last changed, if known.
    pub modified: Option<SystemTime>,
    /// The size of the file.
    pub bytes: u64,
}

impl FileSessionStore {
    /// Creates a store below `folder`, which is created on the first write.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), problem: Arc::default() }
    }

    /// Returns the last failure to write session state, if any.
    pub fn last_problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Returns the directory of the store.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Lists the sessions that have a file, sorted by id.
    pub fn list(&self) -> Result<Vec<SessionEntry>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read", &self.dir, error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| StoreError::io("read", &self.dir, e))?;
            found.extend(session_entry(entry.path()));
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// Deletes a session; returns whether it existed.
    pub fn remove(&self, session: &str) -> Result<bool, StoreError> {
        let path = self.session_file(session);
        if !self.dir.exists() {
            return Ok(false);
        }
        let lock = self.lock(session)?;
        let removed =
            atomic::remove_if_exists(&path).map_err(|e| StoreError::io("remove", &path, e))?;
        let parts = self.parts_dir(session);
        match fs::remove_dir_all(&parts) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &parts, error));
            }
            _ => {}
        }
        let temporary = path.with_file_name(atomic::temporary_name(&path));
        atomic::remove_if_exists(&temporary)
            .map_err(|e| StoreError::io("remove", &temporary, e))?;
        let guard = self.lock_file(session);
        lock.release_and_remove(&guard).map_err(|e| StoreError::io("remove", &guard, e))?;
        Ok(removed)
    }

    fn session_file(&self, session: &str) -> PathBuf {
        self.dir.join(format!("{}.json", file_stem(session)))
    }

    fn parts_dir(&self, session: &str) -> PathBuf {
        self.dir.join(format!("{}.{PARTS_EXTENSION}", file_stem(session)))
    }

    /// Returns the path of a document.
    fn document_path(&self, session: &str, key: &str) -> PathBuf {
        match is_part_key(key) {
            true => self.parts_dir(session).join(format!("{}.json", file_stem(key))),
            false => self.session_file(session),
        }
    }

    fn lock_file(&self, session: &str) -> PathBuf {
        self.dir.join(format!("{}.lock", file_stem(session)))
    }

    fn lock(&self, session: &str) -> Result<FileLock, StoreError> {
        let path = self.lock_file(session);
        FileLock::acquire(&path).map_err(|e| StoreError::io("lock", &path, e))
    }

    fn load(&self, session: &str, key: &str) -> Result<Option<SessionRecord>, StoreError> {
        let path = self.document_path(session, key);
        match regular_file::read(&path) {
            Ok(bytes) => match SessionRecord::parse(&path, &bytes) {
                Err(StoreError::Damaged { .. }) if is_part_key(key) => Ok(None),
                parsed => parsed.map(Some),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", &path, error)),
        }
    }

    fn change_document(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), StoreError> {
        create_private(&self.dir).map_err(|e| StoreError::io("create", &self.dir, e))?;
        let _lock = self.lock(session)?;
        let path = self.document_path(session, key);
        let mut record = self.load(session, key)?.unwrap_or_else(|| SessionRecord::new(session));
        let new = change(record.get(&path, key)?).map_err(StoreError::ChangeFailed)?;
        if !record.set(key, &new)? {
            return Ok(());
        }
        if !is_part_key(key) {
            return write_record(&path, &record, Durability::PowerLoss);
        }
        let parts = self.parts_dir(session);
        create_private(&parts).map_err(|e| StoreError::io("create", &parts, e))?;
        // The session is only listed if its main file exists.
        let main = self.session_file(session);
        if !main.exists() {
            write_record(&main, &SessionRecord::new(session), Durability::PowerLoss)?;
        }
        write_record(&path, &record, Durability::ProcessCrash)
    }
}

impl SessionStore for FileSessionStore {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        match self.load(session, key)? {
            Some(record) => Ok(record.get(&self.document_path(session, key), key)?),
            None => Ok(Value::Null),
        }
    }

    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError> {
        let done = self.change_document(session, key, change);
        if let Err(error) = &done
            && !matches!(error, StoreError::ChangeFailed(_))
        {
            let mut problem = self.problem.lock();
            *problem = Some(error.to_string());
        }
        Ok(done?)
    }
}

fn is_part_key(key: &str) -> bool {
    key.contains('/')
}

fn write_record(
    path: &Path,
    record: &SessionRecord,
    lasting: Durability,
) -> Result<(), StoreError> {
    let bytes = record.to_bytes(path)?;
    atomic::write_exclusive(path, &bytes, FILE_MODE, lasting)
        .map_err(|e| StoreError::io("write", path, e))
}

/// Returns the session of a file, if it is a session file.
fn session_entry(path: PathBuf) -> Option<SessionEntry> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    if stem.starts_with('.') {
        return None;
    }
    let found = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let id = if stem.contains(DIGEST_SEPARATOR) { read_session_id(&path) } else { None };
    let id = id.unwrap_or_else(|| stem.to_owned());
    Some(SessionEntry { id, modified: found.modified().ok(), bytes: found.len(), path })
}

/// Reads the id from a file whose name shows only part of it.
fn read_session_id(path: &Path) -> Option<String> {
    SessionRecord::parse(path, &regular_file::read(path).ok()?).ok().map(|record| record.session)
}

#[cfg(unix)]
fn create_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn create_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
