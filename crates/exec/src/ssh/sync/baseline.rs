//! Baselines of fetched files, to distinguish local changes from outdated files
//! in the next run.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::settings::SshSettings;
use super::SyncRoot;
use super::checksum::FileChecksum;

/// Stores one baseline file per sync mapping.
#[derive(Debug)]
pub(super) struct BaselineStore {
    directory: Option<PathBuf>,
    /// The host as configured.
    host: String,
}

/// Checksums of files when both sides were equal, by path relative to the
/// mapping. Paths that are not UTF-8 are not recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SyncBaseline(BTreeMap<String, (u32, u64)>);

impl SyncBaseline {
    pub(super) fn get(&self, below: &[u8]) -> Option<FileChecksum> {
        let &(check, length) = self.0.get(std::str::from_utf8(below).ok()?)?;
        Some(FileChecksum { crc: check, length })
    }

    pub(super) fn record(&mut self, below: &[u8], sum: FileChecksum) {
        if let Ok(name) = std::str::from_utf8(below) {
            self.0.insert(name.to_owned(), (sum.crc, sum.length));
        }
    }
}

impl BaselineStore {
    pub(super) fn for_settings(settings: &SshSettings) -> Self {
        let SshSettings { user, host, port, .. } = settings;
        Self { directory: settings.storage.clone(), host: format!("{user:?} {host} {port:?}") }
    }

    /// Returns the baseline of a mapping; an empty one if it cannot be read.
    pub(super) fn read(&self, root: &SyncRoot) -> SyncBaseline {
        let text =
            self.baseline_path(root).and_then(|file| fs::read(file).ok()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes the baseline. If that fails, the next run compares file times, as
    /// the first run does.
    pub(super) fn write(&self, root: &SyncRoot, seen: &SyncBaseline) {
        let (Some(file), Some(dir)) = (self.baseline_path(root), &self.directory) else {
            return;
        };
        if *seen == self.read(root) {
            return;
        }
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            let mut fresh = tempfile::NamedTempFile::new_in(dir)?;
            fresh.write_all(&serde_json::to_vec(seen)?)?;
            fresh.persist(&file)?;
            std::io::Result::Ok(())
        };
        if write().is_err() {
            // A stale baseline would be taken for the last fetch.
            let _ = fs::remove_file(&file);
        }
    }

    fn baseline_path(&self, root: &SyncRoot) -> Option<PathBuf> {
        let local = std::path::absolute(&root.local).unwrap_or_else(|_| root.local.clone());
        let mut hasher = blake3::Hasher::new();
        for part in [self.host.as_bytes(), root.remote.as_bytes(), local.as_os_str().as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let name = format!("{}.json", &hasher.finalize().to_hex()[..24]);
        self.directory.as_ref().map(|dir| dir.join(name))
    }
}
