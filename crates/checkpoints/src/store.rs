//! Where checkpoints lie on the disk, and who may touch them when.
//!
//! ```text
//! lock            shared by those who add, alone for those who clear away
//! tally           how much there is, and how often was cleared away
//! objects/        contents, by their hash
//! workspaces/NAME/
//!   TIME-ID.log   a checkpoint
//!   listing       the tree as it was last seen
//!   lock          held while files are brought back
//! ```

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_core::ToolError;
use parking_lot::Mutex;

use crate::limits::CheckpointLimits;
use crate::manifest::{CheckpointManifest, LogHeader};
use crate::objects::{ObjectStore, create_private_dir};
use crate::state::{ContentHash, SavedState};

/// Digits of a checkpoint's name.
const ID_DIGITS: usize = 10;

/// Digits that are enough to ask for one.
const MIN_ID_DIGITS: usize = 4;

/// How many headings are remembered.
const MAX_CACHED_HEADERS: usize = 1024;

/// How the file of a checkpoint ends.
pub(crate) const LOG_EXTENSION: &str = "log";

/// Checkpoints on the disk. Making one of these makes no file.
#[derive(Debug)]
pub struct CheckpointStore {
    root: PathBuf,
    pub(crate) objects: ObjectStore,
    pub(crate) limits: CheckpointLimits,
    /// The headings of logs that were read, as they never change.
    headers: Mutex<HashMap<PathBuf, LogHeader>>,
}

/// Held until dropped. The system lets go of it when the process dies.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl CheckpointStore {
    /// The checkpoints below a folder.
    pub fn new(root: impl Into<PathBuf>, limits: CheckpointLimits) -> Self {
        let root = root.into();
        Self {
            objects: ObjectStore::new(root.join("objects")),
            root,
            limits,
            headers: Mutex::default(),
        }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How much it keeps.
    pub fn limits(&self) -> CheckpointLimits {
        self.limits
    }

    /// The checkpoints of one workspace, the oldest first.
    pub fn checkpoints(&self, workspace: &Path) -> Result<Vec<CheckpointManifest>, ToolError> {
        self.load_completed(&self.workspace_dir(workspace))
    }

    /// The newest checkpoint of one workspace.
    pub fn newest(&self, workspace: &Path) -> Result<CheckpointManifest, ToolError> {
        self.checkpoints(workspace)?.pop().ok_or_else(|| {
            ToolError::not_found(format!("There are no checkpoints of {}", workspace.display()))
                .with_hint("`hermes checkpoints list --all` shows what was changed elsewhere.")
        })
    }

    /// All checkpoints, the oldest first.
    pub fn all(&self) -> Result<Vec<CheckpointManifest>, ToolError> {
        let mut all = Vec::new();
        for folder in self.workspace_dirs()? {
            all.extend(self.load_completed(&folder)?);
        }
        all.sort_by_key(CheckpointManifest::at_nanos);
        Ok(all)
    }

    /// [`Self::load`], with what turns that were cut off have left.
    fn load_completed(&self, folder: &Path) -> Result<Vec<CheckpointManifest>, ToolError> {
        let mut all = self.load(folder)?;
        self.complete_interrupted(&mut all)?;
        Ok(all)
    }

    /// The nearest folder at or above `folder` that has checkpoints.
    pub fn nearest_workspace(&self, folder: &Path) -> Option<PathBuf> {
        let mut above = folder.ancestors();
        above
            .find(|at| logs(&self.workspace_dir(at)).is_ok_and(|l| !l.is_empty()))
            .map(PathBuf::from)
    }

    /// The checkpoint of that name, or the only one whose name begins so.
    pub fn find(&self, name: &str) -> Result<CheckpointManifest, ToolError> {
        let mut found = Vec::new();
        for folder in self.workspace_dirs()? {
            found.extend(self.load(&folder)?.into_iter().filter(|m| matches_id(m.id(), name)));
        }
        match (found.len(), found.pop()) {
            (1, Some(manifest)) if manifest.is_cut_off() => {
                let all = self.checkpoints(manifest.workspace())?;
                Ok(all.into_iter().find(|m| m.id() == manifest.id()).unwrap_or(manifest))
            }
            (1, Some(manifest)) => Ok(manifest),
            (0, _) | (_, None) => Err(self.unknown_error(name)?),
            (several, _) => {
                Err(ToolError::invalid(format!("{several} checkpoints begin with {name}"))
                    .with_hint("Give more letters of the name."))
            }
        }
    }

    /// What is said of a name under which nothing can be read.
    fn unknown_error(&self, name: &str) -> Result<ToolError, ToolError> {
        let damaged = self.all_damaged()?;
        Ok(match damaged.iter().find(|damaged| matches_id(&damaged.id, name)) {
            Some(damaged) => ToolError::unavailable(format!(
                "The checkpoint cannot be read: {}",
                damaged.describe()
            )),
            None => ToolError::not_found(format!("There is no checkpoint {name}")).with_hint(
                "`hermes checkpoints list` shows them; four letters of a name are enough.",
            ),
        })
    }

    /// The content that a state stands for.
    pub fn read_content(&self, state: &SavedState) -> Result<Vec<u8>, ToolError> {
        match state {
            SavedState::File { hash, .. } => self
                .objects
                .get(*hash)
                .map_err(|error| self.io_error("read", &self.objects.path(*hash), &error)),
            SavedState::Absent => Err(ToolError::not_found("There was no such file")),
            SavedState::Folder { .. } => Err(ToolError::invalid("It was a folder")),
            SavedState::Link { target, .. } => {
                Err(ToolError::invalid(format!("It was a link to {}", target.display())))
            }
            SavedState::Unkept { why, .. } => {
                Err(ToolError::unavailable(format!("It was not kept: {}", why.describe()))
                    .with_hint("Larger files are kept if the limits in config.yaml are raised."))
            }
        }
    }

    /// Whether what a state stands for can be had, and is what was kept.
    pub(crate) fn is_intact(&self, state: &SavedState) -> bool {
        match state {
            SavedState::File { hash, .. } => self.objects.copy_to(*hash, &mut io::sink()).is_ok(),
            _ => true,
        }
    }

    /// The folder of a workspace's checkpoints: a readable part, and a digest.
    pub(crate) fn workspace_dir(&self, workspace: &Path) -> PathBuf {
        let last = workspace.file_name().unwrap_or_default().to_string_lossy();
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let readable: String = last.chars().take(40).filter(|c| is_safe(*c)).collect();
        let digest = ContentHash::for_content(workspace.as_os_str().as_bytes()).to_hex();
        let digest = digest.get(..16).unwrap_or(&digest);
        self.root.join("workspaces").join(format!("{readable}~{digest}"))
    }

    /// The folders of all workspaces.
    pub(crate) fn workspace_dirs(&self) -> Result<Vec<PathBuf>, ToolError> {
        let path = self.root.join("workspaces");
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.io_error("list", &path, &error)),
        };
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    /// The heading of a log; none if it cannot be read.
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

    /// The checkpoints in a folder; those that cannot be read are left out.
    pub(crate) fn load(&self, folder: &Path) -> Result<Vec<CheckpointManifest>, ToolError> {
        let paths = logs(folder).map_err(|error| self.io_error("list", folder, &error))?;
        // One that is gone or damaged takes nothing from the others.
        let mut all: Vec<CheckpointManifest> =
            paths.iter().filter_map(|path| CheckpointManifest::load(path).ok().flatten()).collect();
        all.sort_by_key(CheckpointManifest::at_nanos);
        Ok(all)
    }

    /// For those who add contents: nothing is cleared away meanwhile.
    pub(crate) fn lock_shared(&self) -> io::Result<StoreLock> {
        let file = open_lock(&self.root)?;
        file.lock_shared()?;
        Ok(StoreLock { _file: file })
    }

    /// For those who clear away; none if somebody is adding.
    pub(crate) fn try_lock_exclusive(&self) -> io::Result<Option<StoreLock>> {
        let file = open_lock(&self.root)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(StoreLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// [`Self::try_alone`] that waits.
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

/// The log of a checkpoint, if there is one, and how many logs there are.
pub(crate) fn find_log(folder: &Path, id: &str) -> io::Result<(Option<PathBuf>, usize)> {
    let entries = match fs::read_dir(folder) {
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

/// The logs in a folder, the oldest first.
pub(crate) fn logs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut logs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == LOG_EXTENSION)).collect();
    // The names begin with the time.
    logs.sort();
    Ok(logs)
}

pub(crate) fn lock_workspace(folder: &Path) -> io::Result<StoreLock> {
    let file = open_lock(folder)?;
    file.lock()?;
    Ok(StoreLock { _file: file })
}

fn open_lock(folder: &Path) -> io::Result<File> {
    let open = || {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600).open(folder.join("lock"))
    };
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_dir(folder)?;
            open()
        }
        opened => opened,
    }
}

/// The name of the checkpoint of a turn in a workspace.
pub(crate) fn make_checkpoint_id(session: &str, turn: &str, workspace: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [session.as_bytes(), turn.as_bytes(), workspace.as_os_str().as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let hex = hasher.finalize().to_hex();
    hex.get(..ID_DIGITS).unwrap_or(&hex).to_owned()
}

/// Now, in nanoseconds since 1970.
pub(crate) fn now_nanos() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The folder that a turn works in, for one that happens in `cwd`: the top of
/// the repository, or `cwd` itself.
pub fn workspace_for(cwd: &Path, home: Option<&Path>) -> PathBuf {
    let cwd = hermes_files::real_path(cwd).unwrap_or_else(|_| cwd.to_path_buf());
    let home = home.and_then(|home| hermes_files::real_path(home).ok());
    // A home folder under version control is not one project.
    let mut inner = cwd.ancestors().take_while(|at| Some(*at) != home.as_deref());
    let top = inner.find(|at| at.parent().is_some() && at.join(".git").exists());
    top.map_or_else(|| cwd.clone(), PathBuf::from)
}
