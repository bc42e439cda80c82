//! Version history of a list, one file per version; the oldest are pruned.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::MemoryError;
use crate::files;

/// Maximum number of versions kept per list.
const MAX_KEPT_VERSIONS: usize = 200;

/// A version of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListVersion {
    /// Its number; later versions have higher ones.
    pub number: u64,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: u64,
    /// What caused it: `add`, `replace`, `batch`, `edit`, `rollback to 3`,
    /// `another program` …
    pub cause: String,
    /// The text of the file.
    pub text: String,
    /// Entries that this change removed from the archive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
}

/// The versions of one list, in a directory.
#[derive(Debug)]
pub(crate) struct VersionStore {
    dir: PathBuf,
}

impl VersionStore {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { dir: directory }
    }

    /// Returns the version numbers in ascending order.
    fn numbers(&self) -> Result<Vec<u64>, MemoryError> {
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(MemoryError::io("read", &self.dir, error)),
        };
        let number = |name: std::ffi::OsString| -> Option<u64> {
            name.to_str()?.strip_suffix(".json")?.parse().ok()
        };
        let mut numbers: Vec<u64> =
            entries.flatten().filter_map(|entry| number(entry.file_name())).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads a version. One that cannot be parsed counts as missing.
    pub(crate) fn get(&self, number: u64) -> Result<ListVersion, MemoryError> {
        let text = files::read(&self.path(number))?;
        text.and_then(|text| serde_json::from_str(&text).ok()).ok_or(MemoryError::NoVersion(number))
    }

    /// Returns all readable versions, latest first.
    pub(crate) fn all(&self) -> Result<Vec<ListVersion>, MemoryError> {
        Ok(self.numbers()?.into_iter().rev().filter_map(|number| self.get(number).ok()).collect())
    }

    /// Returns the latest readable version.
    pub(crate) fn latest(&self) -> Result<Option<ListVersion>, MemoryError> {
        Ok(self.numbers()?.into_iter().rev().find_map(|number| self.get(number).ok()))
    }

    /// Saves a version and returns its number.
    pub(crate) fn save(
        &self,
        cause: &str,
        text: &str,
        dropped: Vec<String>,
    ) -> Result<u64, MemoryError> {
        files::create_private_dir(&self.dir)?;
        let numbers = self.numbers()?;
        let number = numbers.last().map_or(1, |last| last.saturating_add(1));
        let version = ListVersion {
            number,
            at_ms: hermes_core::clock::unix_millis(),
            cause: cause.to_owned(),
            text: text.to_owned(),
            dropped,
        };
        let path = self.path(number);
        let json = serde_json::to_string(&version)
            .map_err(|e| MemoryError::io("write", &path, std::io::Error::other(e)))?;
        files::write(&path, &json)?;
        let over = (numbers.len() + 1).saturating_sub(MAX_KEPT_VERSIONS);
        for old in numbers.into_iter().take(over) {
            files::remove(&self.path(old))?;
        }
        Ok(number)
    }

    /// Removes a version whose change failed.
    pub(crate) fn discard(&self, number: u64) {
        let _ = files::remove(&self.path(number));
    }

    fn path(&self, number: u64) -> PathBuf {
        Path::new(&self.dir).join(format!("{number:06}.json"))
    }
}
