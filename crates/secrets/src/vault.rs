//! Secrets in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hermes_store::atomic::write_atomic;
use hermes_store::regular_file;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::Secret;
use crate::reference::is_valid_name;

const FORMAT_VERSION: u32 = 1;
const FILE_MODE: u32 = 0o600;

/// Maximum size of a value, more than a key or certificate needs.
const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Maximum size of the secrets file.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// An error of the secrets file. No message contains a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// An I/O operation failed.
    #[error("Cannot {action} {}: {source}", .path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The affected file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// Other users can read or write the file.
    #[error(
        "{} is accessible to other users (mode {mode:03o}). Run `chmod 600 {}`, and rotate its \
         secrets if another user may have read them.",
        .path.display(), .path.display()
    )]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file belongs to another user.
    #[error(
        "{} belongs to another user (id {owner}). Take ownership with `chown`, then run `chmod \
         600 {}`.",
        .path.display(), .path.display()
    )]
    WrongOwner {
        /// The file.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
    },
    /// The file's content is invalid.
    #[error(
        "The secrets file {} is damaged ({reason}). It was not changed: repair it, restore it \
         from a backup, or move it away to start over.",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why it is damaged.
        reason: String,
    },
    /// The name is not valid for a secret.
    #[error(
        "'{name}' cannot be the name of a secret: use a letter or `_` first, then letters, \
         digits, `_`, `.` and `-`, at most 128 characters."
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The value cannot be stored.
    #[error("The value of '{name}' cannot be stored: {reason}.")]
    InvalidValue {
        /// The secret's name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
}

impl VaultError {
    /// Returns how to fix the error.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => {
                "Check that the file and its directory exist, that you may read and write \
                 them, and that there is free disk space."
            }
            Self::OpenToOthers { .. } => {
                "Run `chmod 600` on the file, and rotate the secrets that others may have read."
            }
            Self::WrongOwner { .. } => {
                "Run `chown` on the file to take ownership, then `chmod 600`; or use another \
                 file."
            }
            Self::Damaged { .. } => {
                "Repair the file or restore it from a backup; or move it away and set the \
                 secrets again."
            }
            Self::InvalidName { .. } => {
                "Use a letter or `_` first, then letters, digits, `_`, `.` and `-`, at most \
                 128 characters, such as GITHUB_TOKEN."
            }
            Self::InvalidValue { .. } => {
                "A value has at least one character and at most 64 KiB; store anything larger \
                 in a separate file."
            }
        }
    }
}

/// A secret as shown in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretSummary {
    /// Its name.
    pub name: String,
    /// When it was last set, in milliseconds since 1970.
    pub updated_ms: u64,
    /// Its length in characters.
    pub chars: usize,
}

/// The secrets in a file.
///
/// Changes are made under a lock and written atomically, so no process loses
/// the change of another; reading needs no lock. A file that is accessible to
/// other users or cannot be parsed is neither used nor overwritten.
#[derive(Debug, Clone)]
pub struct Vault {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VaultDocument {
    version: u32,
    secrets: BTreeMap<String, VaultEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VaultEntry {
    value: String,
    updated_ms: u64,
}

impl Vault {
    /// Returns the vault at `path`; the file is created with the first secret.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a secret, replacing one of the same name.
    pub fn set(&self, name: &str, value: &str) -> Result<(), VaultError> {
        if !is_valid_name(name) {
            return Err(VaultError::InvalidName { name: name.chars().take(160).collect() });
        }
        let unfit = |reason| VaultError::InvalidValue { name: name.to_owned(), reason };
        if value.is_empty() {
            return Err(unfit("it is empty"));
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(unfit("it is longer than 64 KiB"));
        }
        self.change(|secrets| {
            let entry = VaultEntry {
                value: value.to_owned(),
                updated_ms: hermes_core::clock::unix_millis(),
            };
            secrets.insert(name.to_owned(), entry);
            true
        })?;
        Ok(())
    }

    /// Removes a secret. Returns whether it existed.
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        // Without a file there is nothing to lock.
        if self.read()?.is_none() {
            return Ok(false);
        }
        self.change(|secrets| secrets.remove(name).is_some())
    }

    /// Lists the secrets by name, without their values.
    pub fn list(&self) -> Result<Vec<SecretSummary>, VaultError> {
        let listed = |(name, entry): (String, VaultEntry)| SecretSummary {
            name,
            updated_ms: entry.updated_ms,
            chars: entry.value.chars().count(),
        };
        Ok(self.load()?.into_iter().map(listed).collect())
    }

    /// Returns one secret.
    pub fn get(&self, name: &str) -> Result<Option<Secret>, VaultError> {
        Ok(self.load()?.remove(name).map(|entry| Secret::new(entry.value)))
    }

    /// Returns all secrets, by name.
    pub fn secrets(&self) -> Result<Vec<(String, Secret)>, VaultError> {
        let pair = |(name, entry): (String, VaultEntry)| (name, Secret::new(entry.value));
        Ok(self.load()?.into_iter().map(pair).collect())
    }

    /// Returns all secrets, by name, even from a file that is accessible to or
    /// owned by other users: their values must be redacted as well. Use only
    /// for redaction.
    pub fn values_for_redaction(&self) -> Result<Vec<(String, Secret)>, VaultError> {
        let Some(bytes) = self.read_with(|_| Ok(()))? else { return Ok(Vec::new()) };
        let pair = |(name, entry): (String, VaultEntry)| (name, Secret::new(entry.value));
        Ok(self.parse(&bytes)?.into_iter().map(pair).collect())
    }

    /// Changes the secrets under the lock. Writes them if `change` returns
    /// true.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, VaultEntry>) -> bool,
    ) -> Result<bool, VaultError> {
        let _lock = self.lock()?;
        let mut secrets = self.load()?;
        let changed = change(&mut secrets);
        if changed {
            let document = VaultDocument { version: FORMAT_VERSION, secrets };
            let bytes = serde_json::to_vec_pretty(&document)
                .map_err(|error| self.io("write", io::Error::other(error)))?;
            write_atomic(&self.path, &bytes, FILE_MODE).map_err(|error| self.io("write", error))?;
        }
        Ok(changed)
    }

    /// Locks the vault until the file is dropped. The lock file is never
    /// removed, so all processes lock the same one.
    fn lock(&self) -> Result<File, VaultError> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let path = self.path.with_file_name(name);
        let failed = |source| VaultError::Io { action: "lock", path: path.clone(), source };
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            create_private_dir(dir).map_err(failed)?;
        }
        let file = regular_file::open_lock(&path, FILE_MODE).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    fn load(&self) -> Result<BTreeMap<String, VaultEntry>, VaultError> {
        let Some(bytes) = self.read()? else { return Ok(BTreeMap::new()) };
        self.parse(&bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Result<BTreeMap<String, VaultEntry>, VaultError> {
        let damaged = |reason: String| VaultError::Damaged { path: self.path.clone(), reason };
        // The parser's message may quote a value.
        let document: VaultDocument = serde_json::from_slice(bytes).map_err(|error| {
            let what = match error.classify() {
                Category::Eof => "the file is truncated",
                Category::Data => "a field is missing or of the wrong type",
                Category::Syntax | Category::Io => "invalid JSON",
            };
            damaged(format!("{what}, line {} column {}", error.line(), error.column()))
        })?;
        if document.version != FORMAT_VERSION {
            return Err(damaged(format!(
                "format version {}, but this program supports only {FORMAT_VERSION}",
                document.version
            )));
        }
        if !document.secrets.keys().all(|name| is_valid_name(name)) {
            return Err(damaged("it contains an invalid name".to_owned()));
        }
        Ok(document.secrets)
    }

    /// Returns the content of the file after checking that it is private;
    /// `None` if it does not exist.
    fn read(&self) -> Result<Option<Vec<u8>>, VaultError> {
        self.read_with(|found| self.check_private(found))
    }

    /// Returns the content of the file if `check` accepts it; `None` if it does
    /// not exist.
    fn read_with(
        &self,
        check: impl FnOnce(&fs::Metadata) -> Result<(), VaultError>,
    ) -> Result<Option<Vec<u8>>, VaultError> {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io("read", error)),
            Ok(_) => {}
        }
        let mut file = regular_file::open(&self.path).map_err(|error| self.io("read", error))?;
        let found = file.metadata().map_err(|error| self.io("read", error))?;
        check(&found)?;
        let mut bytes = Vec::new();
        let mut bounded = file.by_ref().take(MAX_FILE_BYTES + 1);
        bounded.read_to_end(&mut bytes).map_err(|error| self.io("read", error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let reason = format!("larger than {MAX_FILE_BYTES} bytes");
            return Err(VaultError::Damaged { path: self.path.clone(), reason });
        }
        Ok(Some(bytes))
    }

    fn check_private(&self, found: &fs::Metadata) -> Result<(), VaultError> {
        use std::os::unix::fs::MetadataExt;
        let owner = found.uid();
        if owner != rustix::process::geteuid().as_raw() {
            return Err(VaultError::WrongOwner { path: self.path.clone(), owner });
        }
        let mode = found.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(VaultError::OpenToOthers { path: self.path.clone(), mode });
        }
        Ok(())
    }

    fn io(&self, action: &'static str, source: io::Error) -> VaultError {
        VaultError::Io { action, path: self.path.clone(), source }
    }
}

fn create_private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(test)]
#[path = "vault_tests.rs"]
mod tests;
