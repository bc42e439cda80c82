//! Layout and locking of the checkpoint store.
//!
//! ```text
//! lock            shared by writers, exclusive for pruning
//! tally           total size, and number of prunes
//! objects/        contents, by hash
//! workspaces/NAME/
//!   TIME-ID.log   a checkpoint
//!   listing       the last listing of the tree
//!   lock          held during restores
//! ```

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use parking_lot::Mutex;

use crate::limits::CheckpointLimits;
use crate::manifest::{CheckpointManifest, LogHeader};
use crate::objects::{ObjectStore, create_private_dir};
use crate::state::{ContentHash, SavedState};

/// Number of digits in a checkpoint id.
const ID_DIGITS: usize = 10;

/// Minimum number of digits in an id prefix.
const MIN_ID_DIGITS: usize = 4;

/// Maximum number of cached headers.
const MAX_CACHED_HEADERS: usize = 1024;

/// File extension of checkpoint logs.
pub(crate) const LOG_EXTENSION: &str = "log";

/// Checkpoints on disk. Creating a store creates no files.
#[derive(Debug)]
pub struct CheckpointStore {
    root: PathBuf,
    pub(crate) objects: ObjectStore,
    pub(crate) limits: CheckpointLimits,
    /// Cached log headers, which never change.
    headers: Mutex<HashMap<PathBuf, LogHeader>>,
}

/// A file lock, held until dropped. The kernel releases it if the process dies.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl CheckpointStore {
    /// Opens the checkpoints below a directory.
    pub fn new(root: impl Into<PathBuf>, limits: CheckpointLimits) -> Self {
        let root = root.into();
        Self {
            objects: ObjectStore::new(root.join("objects")),
            root,
            limits,
            headers: Mutex::default(),
        }
    }

    /// Returns the root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the limits.
    pub fn limits(&self) -> CheckpointLimits {
        self.limits
    }

    /// Returns the checkpoints of one workspace, oldest first.
    pub fn checkpoints(&self, workspace: &Path) -> Result<Vec<CheckpointManifest>, ToolError> {
        self.load_completed(&self.workspace_dir(workspace))
    }

    /// Returns the newest checkpoint of one workspace.
    pub fn newest(&self, workspace: &Path) -> Result<CheckpointManifest, ToolError> {
        self.checkpoints(workspace)?.pop().ok_or_else(|| {
            ToolError::not_found(format!("No checkpoints for {}", workspace.display()))
                .with_hint("`hermes checkpoints list --all` shows changes in other workspaces.")
        })
    }

    /// Returns all checkpoints, oldest first.
    pub fn all(&self) -> Result<Vec<CheckpointManifest>, ToolError> {
        let mut all = Vec::new();
        for dir in self.workspace_dirs()? {
            all.extend(self.load_completed(&dir)?);
        }
        all.sort_by_key(CheckpointManifest::at_nanos);
        Ok(all)
    }

    /// [`Self::load`], including changes left by interrupted turns.
    fn load_completed(&self, dir: &Path) -> Result<Vec<CheckpointManifest>, ToolError> {
        let mut all = self.load(dir)?;
        self.complete_interrupted(&mut all)?;
        Ok(all)
    }

    /// Returns the nearest directory at or above `folder` that has checkpoints.
    pub fn nearest_workspace(&self, dir: &Path) -> Option<PathBuf> {
        let mut above = dir.ancestors();
        above
            .find(|at| logs(&self.workspace_dir(at)).is_ok_and(|l| !l.is_empty()))
            .map(PathBuf::from)
    }

    /// Finds a checkpoint by its id or a unique prefix of it.
    pub fn find(&self, name: &str) -> Result<CheckpointManifest, ToolError> {
        let mut found = Vec::new();
        for dir in self.workspace_dirs()? {
            found.extend(self.load(&dir)?.into_iter().filter(|m| matches_id(m.id(), name)));
        }
        match (found.len(), found.pop()) {
            (1, Some(manifest)) if manifest.is_cut_off() => {
                let all = self.checkpoints(manifest.workspace())?;
                Ok(all.into_iter().find(|m| m.id() == manifest.id()).unwrap_or(manifest))
            }
            (1, Some(manifest)) => Ok(manifest),
            (0, _) | (_, None) => Err(self.unknown_error(name)?),
            (several, _) => {
                Err(ToolError::invalid(format!("{several} checkpoints match the prefix {name}"))
                    .with_hint("Give more characters of the id."))
            }
        }
    }

    /// Error for an id under which nothing can be read.
    fn unknown_error(&self, name: &str) -> Result<ToolError, ToolError> {
        let damaged = self.all_damaged()?;
        Ok(match damaged.iter().find(|damaged| matches_id(&damaged.id, name)) {
            Some(damaged) => ToolError::unavailable(format!(
                "The checkpoint cannot be read: {}",
                damaged.describe()
            )),
            None => ToolError::not_found(format!("No such checkpoint: {name}")).with_hint(
                "`hermes checkpoints list` shows all ids; the first four characters are enough.",
            ),
        })
    }

    /// Returns the content of a saved file.
    pub fn read_content(&self, state: &SavedState) -> Result<Vec<u8>, ToolError> {
        match state {
            SavedState::File { hash, .. } => self
                .objects
                .get(*hash)
                .map_err(|error| self.io_error("read", &self.objects.path(*hash), &error)),
            SavedState::Absent => Err(ToolError::not_found("The file did not exist")),
            SavedState::Folder { .. } => Err(ToolError::invalid("It was a directory")),
            SavedState::Link { target, .. } => {
                Err(ToolError::invalid(format!("It was a symlink to {}", target.display())))
            }
            SavedState::Unkept { why, .. } => {
                Err(ToolError::unavailable(format!("It was not saved: {}", why.describe()))
                    .with_hint("Raise the limits in config.yaml to save larger files."))
            }
        }
    }

    /// Whether the content of a state exists and matches its hash.
    pub(crate) fn is_intact(&self, state: &SavedState) -> bool {
        match state {
            SavedState::File { hash, .. } => self.objects.copy_to(*hash, &mut io::sink()).is_ok(),
            _ => true,
        }
    }

    /// Returns the directory of a workspace's checkpoints, named by a readable
    /// part and a digest.
    pub(crate) fn workspace_dir(&self, workspace: &Path) -> PathBuf {
        let last = workspace.file_name().unwrap_or_default().to_string_lossy();
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let readable: String = last.chars().take(40).filter(|c| is_safe(*c)).collect();
        let digest = ContentHash::for_content(workspace.as_os_str().as_bytes()).to_hex();
        let digest = digest.get(..16).unwrap_or(&digest);
        self.root.join("workspaces").join(format!("{readable}~{digest}"))
    }

    /// Returns the directories of all workspaces.
    pub(crate) fn workspace_dirs(&self) -> Result<Vec<PathBuf>, ToolError> {
        let path = self.root.join("workspaces");
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.io_error("list", &path, &error)),
        };
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    /// Returns the header of a log; `None` if it cannot be read.
    pub(crate) fn log_header(&self, log: &Path) -> Option<LogHeader> {
        if let Some(known) = self.headers.lock().get(log) {
            return Some(known.clone());
        }
        let head = CheckpointManifest::read_header(log)?;
        let mut heads = self.headers.lock();
        if heads.len() >= MAX_CACHED_HEADERS {
            heads.clear();
        }
        heads.insert(log.to_path_buf(), head.clone());
        Some(head)
    }

    /// Loads the readable checkpoints in a directory.
    pub(crate) fn load(&self, dir: &Path) -> Result<Vec<CheckpointManifest>, ToolError> {
        let paths = logs(dir).map_err(|error| self.io_error("list", dir, &error))?;
        // A missing or damaged log does not affect the others.
        let mut all: Vec<CheckpointManifest> =
            paths.iter().filter_map(|path| CheckpointManifest::load(path).ok().flatten()).collect();
        all.sort_by_key(CheckpointManifest::at_nanos);
        Ok(all)
    }

    /// Locks the store for adding contents; prevents pruning meanwhile.
    pub(crate) fn lock_shared(&self) -> io::Result<StoreLock> {
        let file = open_lock(&self.root)?;
        file.lock_shared()?;
        Ok(StoreLock { _file: file })
    }

    /// Locks the store for pruning; `None` if it is locked by a writer.
    pub(crate) fn try_lock_exclusive(&self) -> io::Result<Option<StoreLock>> {
        let file = open_lock(&self.root)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(StoreLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// [`Self::try_lock_exclusive`], but waits.
    pub(crate) fn lock_exclusive(&self) -> io::Result<StoreLock> {
        lock_workspace(&self.root)
    }

    pub(crate) fn io_error(&self, verb: &str, path: &Path, error: &io::Error) -> ToolError {
        let what = format!("Checkpoints: cannot {verb} {}", path.display());
        if error.kind() == io::ErrorKind::InvalidData {
            return ToolError::unavailable(format!("{what}: {error}"));
        }
        ToolError::io(what, error)
    }
}

fn matches_id(id: &str, name: &str) -> bool {
    id == name || (name.len() >= MIN_ID_DIGITS && id.starts_with(name))
}

/// Returns the log of a checkpoint, if it exists, and the number of logs.
pub(crate) fn find_log(dir: &Path, id: &str) -> io::Result<(Option<PathBuf>, usize)> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, 0)),
        Err(error) => return Err(error),
    };
    let (own, any) = (format!("-{id}.{LOG_EXTENSION}"), format!(".{LOG_EXTENSION}"));
    let (mut found, mut count) = (None, 0);
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_bytes();
        count += usize::from(name.ends_with(any.as_bytes()));
        if name.ends_with(own.as_bytes()) {
            found = Some(entry.path());
        }
    }
    Ok((found, count))
}

/// Lists the logs in a directory, oldest first.
pub(crate) fn logs(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut logs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == LOG_EXTENSION)).collect();
    // The names begin with the timestamp.
    logs.sort();
    Ok(logs)
}

pub(crate) fn lock_workspace(dir: &Path) -> io::Result<StoreLock> {
    let file = open_lock(dir)?;
    file.lock()?;
    Ok(StoreLock { _file: file })
}

fn open_lock(dir: &Path) -> io::Result<File> {
    let open = || {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600).open(dir.join("lock"))
    };
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_dir(dir)?;
            open()
        }
        opened => opened,
    }
}

/// Derives the checkpoint id of a turn in a workspace.
pub(crate) fn make_checkpoint_id(session: &str, turn: &str, workspace: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [session.as_bytes(), turn.as_bytes(), workspace.as_os_str().as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let hex = hasher.finalize().to_hex();
    hex.get(..ID_DIGITS).unwrap_or(&hex).to_owned()
}

/// Returns the current time in nanoseconds since 1970.
pub(crate) fn now_nanos() -> i64 {
    i64::try_from(hermes_core::clock::unix_nanos()).unwrap_or(i64::MAX)
}

/// Returns the workspace of a turn in `cwd`: the root of the repository, or
/// `cwd` itself.
pub fn workspace_for(cwd: &Path, home: Option<&Path>) -> PathBuf {
    let cwd = hermes_files::real_path(cwd).unwrap_or_else(|_| cwd.to_path_buf());
    let home = home.and_then(|home| hermes_files::real_path(home).ok());
    // A home directory under version control is not one project.
    let mut inner = cwd.ancestors().take_while(|at| Some(*at) != home.as_deref());
    let top = inner.find(|at| at.parent().is_some() && at.join(".git").exists());
    top.map_or_else(|| cwd.clone(), PathBuf::from)
}
