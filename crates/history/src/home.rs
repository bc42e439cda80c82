//! The history of a home directory, opened on first use: an unusable database
//! must not keep a program from starting.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::agent_state::{AgentStateDb, AgentStateSession};
use crate::error::HistoryError;
use crate::import::ImportReport;
use crate::reader::HistoryReader;
use crate::store::HistoryStore;

/// The history of a home directory.
#[derive(Debug)]
pub struct HomeHistory {
    home: PathBuf,
    reader: Mutex<Option<Arc<HistoryReader>>>,
    store: Mutex<Option<Arc<HistoryStore>>>,
}

impl HomeHistory {
    /// Creates the handle without opening the database.
    pub fn for_home(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), reader: Mutex::default(), store: Mutex::default() }
    }

    /// Returns the path of the database.
    pub fn path(&self) -> PathBuf {
        self.home.join(crate::DB_FILE_NAME)
    }

    /// Returns a reader; none if the database does not exist or is empty.
    pub fn reader(&self) -> Result<Option<Arc<HistoryReader>>, HistoryError> {
        let mut open = self.reader.lock();
        if open.is_none() {
            *open = HistoryReader::open(self.path())?.map(Arc::new);
        }
        Ok(open.clone())
    }

    /// Returns the store for writing.
    pub fn store(&self) -> Result<Arc<HistoryStore>, HistoryError> {
        let mut open = self.store.lock();
        match &*open {
            Some(store) => Ok(Arc::clone(store)),
            None => {
                let store = Arc::new(HistoryStore::open(self.path())?);
                *open = Some(Arc::clone(&store));
                Ok(store)
            }
        }
    }

    /// Returns the conversations of Hermes Agent in this directory.
    pub fn agent_state(&self) -> AgentStateDb {
        AgentStateDb::new(self.home.join(crate::AGENT_STATE_FILE_NAME))
    }

    /// Lists the conversations of Hermes Agent that are not imported, the most
    /// recently active first; without empty ones and those that were imported
    /// and then deleted.
    pub fn pending_imports(&self) -> Result<Vec<AgentStateSession>, HistoryError> {
        let mut sessions = self.agent_state().sessions()?;
        sessions.retain(|session| session.summary.messages > 0);
        if !sessions.is_empty()
            && let Some(reader) = self.reader()?
        {
            let taken = reader.taken_ids()?;
            sessions.retain(|session| !taken.contains(&session.summary.id));
        }
        Ok(sessions)
    }

    /// Imports a conversation of Hermes Agent, or what it has added since.
    pub fn import(&self, session: &AgentStateSession) -> Result<ImportReport, HistoryError> {
        let messages = self.agent_state().messages(&session.summary.id)?;
        self.store()?.import(session, &messages)
    }

    /// Lists the profiles of this home directory, each a home directory itself.
    pub fn profiles(&self) -> Vec<String> {
        let dirs = std::fs::read_dir(self.home.join("profiles")).into_iter().flatten().flatten();
        let kept = dirs.filter(|dir| dir.path().join(crate::DB_FILE_NAME).is_file());
        let mut names: Vec<String> =
            kept.filter_map(|dir| dir.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Opens a profile's history; none if it has none.
    pub fn profile_reader(&self, name: &str) -> Result<Option<HistoryReader>, HistoryError> {
        // Rejects a path that leads out of the directory.
        let is_name = Path::new(name).file_name().is_some_and(|last| last == name);
        if !is_name {
            return Ok(None);
        }
        HistoryReader::open(self.home.join("profiles").join(name).join(crate::DB_FILE_NAME))
    }
}
