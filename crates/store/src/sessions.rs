//! Sessions that outlive a process: one file each, shared by as many
//! processes as like to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use hermes_core::{SessionError, SessionStore};
use serde_json::Value;

use crate::atomic::Lasting;
use crate::lock::Lock;
use crate::names::{MARK, file_stem};
use crate::record::Record;
use crate::{StoreError, atomic, regular};

const FILE_MODE: u32 = 0o600;

/// How the folder of a session's many documents ends.
const PARTS: &str = "parts";

/// Session documents in a folder, one JSON file per session.
///
/// A change is made under a lock and written as a whole, so no process loses
/// the update of another; reading needs no lock.
///
/// A document with a `/` in its key is one of many, and has a file of its own:
/// what a long session gathers is not written anew with each change. Such a
/// file is not waited for until it is on the disk, and one that a power cut has
/// damaged counts for nothing.
#[derive(Debug, Clone)]
pub struct FileSessions {
    folder: PathBuf,
    /// The last failure to write, shared by all copies.
    problem: Arc<Mutex<Option<String>>>,
}

/// One session that has a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// The session's id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// When it last changed, if the system knows.
    pub modified: Option<SystemTime>,
    /// The size of the file.
    pub bytes: u64,
}

impl FileSessions {
    /// Sessions below `folder`, which is created with the first of them.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), problem: Arc::default() }
    }

    /// Why something of a session could not be written down, if that has
    /// happened.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The sessions that have a file, by id.
    pub fn list(&self) -> Result<Vec<SessionEntry>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read", &self.folder, error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| StoreError::io("read", &self.folder, e))?;
            found.extend(describe(entry.path()));
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// Forgets a session; whether there was one.
    pub fn remove(&self, session: &str) -> Result<bool, StoreError> {
        let path = self.file(session);
        if !self.folder.exists() {
            return Ok(false);
        }
        let lock = self.lock(session)?;
        let removed =
            atomic::remove_if_there(&path).map_err(|e| StoreError::io("remove", &path, e))?;
        let parts = self.parts(session);
        match fs::remove_dir_all(&parts) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &parts, error));
            }
            _ => {}
        }
        let temporary = path.with_file_name(atomic::temporary_name(&path));
        atomic::remove_if_there(&temporary).map_err(|e| StoreError::io("remove", &temporary, e))?;
        let guard = self.lock_file(session);
        lock.release_and_remove(&guard).map_err(|e| StoreError::io("remove", &guard, e))?;
        Ok(removed)
    }

    fn file(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{}.json", file_stem(session)))
    }

    fn parts(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{}.{PARTS}", file_stem(session)))
    }

    /// The file of a document.
    fn place(&self, session: &str, key: &str) -> PathBuf {
        match is_part(key) {
            true => self.parts(session).join(format!("{}.json", file_stem(key))),
            false => self.file(session),
        }
    }

    fn lock_file(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{}.lock", file_stem(session)))
    }

    fn lock(&self, session: &str) -> Result<Lock, StoreError> {
        let path = self.lock_file(session);
        Lock::acquire(&path).map_err(|e| StoreError::io("lock", &path, e))
    }

    fn load(&self, session: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let path = self.place(session, key);
        match regular::read(&path) {
            Ok(bytes) => match Record::parse(&path, &bytes) {
                Err(StoreError::Damaged { .. }) if is_part(key) => Ok(None),
                parsed => parsed.map(Some),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", &path, error)),
        }
    }

    fn change(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), StoreError> {
        create_private(&self.folder).map_err(|e| StoreError::io("create", &self.folder, e))?;
        let _lock = self.lock(session)?;
        let path = self.place(session, key);
        let mut record = self.load(session, key)?.unwrap_or_else(|| Record::new(session));
        let new = change(record.get(&path, key)?).map_err(StoreError::Change)?;
        if !record.set(key, &new)? {
            return Ok(());
        }
        if !is_part(key) {
            return write(&path, &record, Lasting::PowerCuts);
        }
        let parts = self.parts(session);
        create_private(&parts).map_err(|e| StoreError::io("create", &parts, e))?;
        // Without a file of its own nobody would know of the session.
        let main = self.file(session);
        if !main.exists() {
            write(&main, &Record::new(session), Lasting::PowerCuts)?;
        }
        write(&path, &record, Lasting::Kills)
    }
}

impl SessionStore for FileSessions {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        match self.load(session, key)? {
            Some(record) => Ok(record.get(&self.place(session, key), key)?),
            None => Ok(Value::Null),
        }
    }

    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError> {
        let done = self.change(session, key, change);
        if let Err(error) = &done
            && !matches!(error, StoreError::Change(_))
        {
            let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
            *problem = Some(error.to_string());
        }
        Ok(done?)
    }
}

fn is_part(key: &str) -> bool {
    key.contains('/')
}

fn write(path: &Path, record: &Record, lasting: Lasting) -> Result<(), StoreError> {
    let bytes = record.to_bytes(path)?;
    atomic::write_alone(path, &bytes, FILE_MODE, lasting)
        .map_err(|e| StoreError::io("write", path, e))
}

/// The session of a file, if it is a session's.
fn describe(path: PathBuf) -> Option<SessionEntry> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    if stem.starts_with('.') {
        return None;
    }
    let found = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let id = if stem.contains(MARK) { written_id(&path) } else { None };
    let id = id.unwrap_or_else(|| stem.to_owned());
    Some(SessionEntry { id, modified: found.modified().ok(), bytes: found.len(), path })
}

/// The id inside a file whose name does not show all of it.
fn written_id(path: &Path) -> Option<String> {
    Record::parse(path, &regular::read(path).ok()?).ok().map(|record| record.session)
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
