//! The conversations of a home folder, opened when they are first needed: a
//! file that cannot be used must not keep a program from starting.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::HistoryError;
use crate::reader::HistoryReader;
use crate::store::HistoryStore;

/// The conversations of a home folder.
#[derive(Debug)]
pub struct HomeHistory {
    home: PathBuf,
    reader: Mutex<Option<Arc<HistoryReader>>>,
    store: Mutex<Option<Arc<HistoryStore>>>,
}

impl HomeHistory {
    /// Those of this home folder. Nothing is opened.
    pub fn for_home(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), reader: Mutex::default(), store: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.home.join(crate::DB_FILE_NAME)
    }

    /// For reading; none if nothing was ever said.
    pub fn reader(&self) -> Result<Option<Arc<HistoryReader>>, HistoryError> {
        let mut open = self.reader.lock();
        if open.is_none() {
            *open = HistoryReader::open(self.path())?.map(Arc::new);
        }
        Ok(open.clone())
    }

    /// For writing.
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

    /// The names of the profiles below this home, each a home of its own.
    pub fn profiles(&self) -> Vec<String> {
        let folders = std::fs::read_dir(self.home.join("profiles")).into_iter().flatten().flatten();
        let kept = folders.filter(|folder| folder.path().join(crate::DB_FILE_NAME).is_file());
        let mut names: Vec<String> =
            kept.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The conversations of a profile; none if it has none.
    pub fn profile_reader(&self, name: &str) -> Result<Option<HistoryReader>, HistoryError> {
        // A name and not a way out of the folder.
        let is_name = Path::new(name).file_name().is_some_and(|last| last == name);
        if !is_name {
            return Ok(None);
        }
        HistoryReader::open(self.home.join("profiles").join(name).join(crate::DB_FILE_NAME))
    }
}
