//! Store for the changes of child processes to package manager caches.
//!
//! A child sees `~/.npm` and the like as an overlay: the user's directory
//! below, our directory above. The upper directories are grouped by workspace:
//!
//! ```text
//! ROOT/<workspace-key>/workspace        path of the workspace
//! ROOT/<workspace-key>/<name>/target    directory that is overlaid
//! ROOT/<workspace-key>/<name>/hidden    paths that are kept invisible, one per line
//! ROOT/<workspace-key>/<name>/upper     changes of children
//! ROOT/<workspace-key>/<name>/work      work directory of overlayfs
//! ```
//!
//! Children write to the upper directories, so nothing here follows a symlink
//! in them.

mod apply;
mod diff;
mod tree;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use apply::{OverlayApplyReport, SkippedChange};
pub use diff::{OverlayChange, OverlayChangeKind};
use tree::{NodeKind, UpperNode};

const WORKSPACE_FILE: &str = "workspace";
const TARGET_FILE: &str = "target";
const HIDDEN_FILE: &str = "hidden";
const UPPER_DIRECTORY: &str = "upper";
const WORK_DIRECTORY: &str = "work";

/// Maximum characters of the workspace's name in the name of its directory.
const MAX_KEY_CHARS: usize = 32;
/// Hexadecimal digits that distinguish two workspaces of the same name.
const KEY_DIGITS: usize = 12;
/// Hexadecimal digits that distinguish two directories that map to the same
/// name.
const NAME_DIGITS: usize = 8;

/// The upper directories of all workspaces.
#[derive(Debug, Clone)]
pub struct OverlayStore {
    root: PathBuf,
}

/// Changes of the children of one workspace to one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayEntry {
    /// The workspace.
    pub workspace: PathBuf,
    /// Name of the directory in the store, such as `npm`.
    pub name: String,
    /// The user's directory.
    pub target: PathBuf,
    /// Our directory with `upper` and `work` in it.
    pub store: PathBuf,
    /// Number of files and symlinks in the upper directory.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// When the upper directory or an entry in it last changed.
    pub modified: Option<SystemTime>,
}

impl OverlayStore {
    /// Returns the store at this directory, which is created on first use.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory of a workspace's overlays.
    pub fn for_workspace(&self, workspace: &Path) -> PathBuf {
        self.root.join(workspace_key(workspace))
    }

    /// Returns the store directory for `relative` in the user's home, and
    /// creates what a mount needs in it. Only the user may enter it.
    pub fn ensure(&self, workspace: &Path, home: &Path, relative: &Path) -> io::Result<PathBuf> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if relative.as_os_str().is_empty() || !relative.components().all(is_plain) {
            let message = format!("{} is not a path below the home directory", relative.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let target = home.join(relative);
        let parent = self.for_workspace(workspace);
        make_private(&parent)?;
        write_path(&parent.join(WORKSPACE_FILE), workspace)?;
        let store = parent.join(free_name(&parent, relative, &target));
        make_private(&store)?;
        write_path(&store.join(TARGET_FILE), &target)?;
        make_private(&store.join(UPPER_DIRECTORY))?;
        make_private(&store.join(WORK_DIRECTORY))?;
        Ok(store)
    }

    /// Records paths below the target that we hide in the upper directory, so
    /// they are neither reported as deleted nor deleted.
    pub fn record_hidden(store: &Path, hidden: &[PathBuf]) -> io::Result<()> {
        let mut known = hidden_paths(store);
        let before = known.len();
        for path in hidden {
            if !known.contains(path) {
                known.push(path.clone());
            }
        }
        if known.len() == before {
            return Ok(());
        }
        let lines = known.iter().map(|path| path.as_os_str().as_bytes());
        fs::write(store.join(HIDDEN_FILE), lines.collect::<Vec<_>>().join(&b'\n'))
    }

    /// Lists the overlays of all workspaces, sorted by workspace and name.
    /// Incomplete ones are omitted.
    pub fn list(&self) -> io::Result<Vec<OverlayEntry>> {
        let mut entries = Vec::new();
        for parent in directories(&self.root)? {
            let Ok(workspace) = read_path(&parent.join(WORKSPACE_FILE)) else { continue };
            for store in directories(&parent)? {
                let Ok(target) = read_path(&store.join(TARGET_FILE)) else { continue };
                let name = store.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let workspace = workspace.clone();
                let size = measure(&store.join(UPPER_DIRECTORY), &hidden_paths(&store));
                let (files, bytes, modified) = (size.files, size.bytes, size.modified);
                entries.push(OverlayEntry {
                    workspace,
                    name,
                    target,
                    store,
                    files,
                    bytes,
                    modified,
                });
            }
        }
        entries.sort_by(|a, b| (&a.workspace, &a.name).cmp(&(&b.workspace, &b.name)));
        Ok(entries)
    }

    /// Returns the differences from the user's directory, sorted by path.
    pub fn diff(&self, entry: &OverlayEntry) -> io::Result<Vec<OverlayChange>> {
        diff::changes(entry, &hidden_paths(&entry.store))
    }

    /// Applies the changes to the user's directory. The overlay stays
    /// unchanged.
    pub fn apply(&self, entry: &OverlayEntry) -> io::Result<OverlayApplyReport> {
        refuse_in_use(entry)?;
        apply::apply(entry, &hidden_paths(&entry.store))
    }

    /// Removes the changes, whatever their modes.
    pub fn discard(&self, entry: &OverlayEntry) -> io::Result<()> {
        refuse_in_use(entry)?;
        tree::remove(&entry.store)?;
        let Some(parent) = entry.store.parent().filter(|parent| parent.starts_with(&self.root))
        else {
            return Ok(());
        };
        if directories(parent)?.is_empty() {
            tree::remove(parent)?;
        }
        Ok(())
    }
}

impl OverlayEntry {
    fn upper(&self) -> PathBuf {
        self.store.join(UPPER_DIRECTORY)
    }

    /// Returns the processes of this user that have the overlay mounted, as far
    /// as `/proc` shows it.
    pub fn processes(&self) -> Vec<u32> {
        let option = mount_option(&self.upper());
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let mounts = fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
            let mut options = mounts.split(|byte| matches!(byte, b',' | b' ' | b'\n'));
            options.any(|word| word == option.as_slice())
        })
        .collect()
    }
}

/// Refuses to change the layers of a mounted overlay, which is undefined
/// behavior.
fn refuse_in_use(entry: &OverlayEntry) -> io::Result<()> {
    let pids = entry.processes();
    let Some(first) = pids.first() else { return Ok(()) };
    let message = match pids.len() {
        1 => format!("it is in use by process {first}"),
        count => format!("it is in use by {count} processes, such as {first}"),
    };
    Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
}

/// Returns how mountinfo shows the upper directory of an overlay.
fn mount_option(upper: &Path) -> Vec<u8> {
    let mut option = b"upperdir=".to_vec();
    for byte in upper.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' | b',' => option.extend(format!("\\{byte:03o}").bytes()),
            byte => option.push(*byte),
        }
    }
    option
}

/// Returns the name of a workspace's directory: its own name and a hash.
fn workspace_key(workspace: &Path) -> String {
    let own = workspace.file_name().unwrap_or(OsStr::new("root")).to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let own: String =
        own.chars().take(MAX_KEY_CHARS).map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{}-{}", own.trim_start_matches('.'), digits(workspace, KEY_DIGITS))
}

/// Returns the name for a directory in the home: `local_share_x` for
/// `.local/share/x`.
fn overlay_name(relative: &Path) -> String {
    let text = relative.to_string_lossy().replace('/', "_");
    text.trim_start_matches('.').to_owned()
}

/// Returns the name for a directory, or a longer one if another directory has
/// it.
fn free_name(parent: &Path, relative: &Path, target: &Path) -> String {
    let name = overlay_name(relative);
    let is_other = |name: &str| {
        name.is_empty()
            || name == WORKSPACE_FILE
            || read_path(&parent.join(name).join(TARGET_FILE)).is_ok_and(|known| known != target)
    };
    if is_other(&name) { format!("{name}-{}", digits(relative, NAME_DIGITS)) } else { name }
}

fn digits(path: &Path, count: usize) -> String {
    let hash = blake3::hash(path.as_os_str().as_bytes()).to_hex();
    hash.chars().take(count).collect()
}

/// Creates a directory that only the user may enter.
fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a path to a file, unless it is already there.
fn write_path(file: &Path, path: &Path) -> io::Result<()> {
    if read_path(file).is_ok_and(|known| known == path) {
        return Ok(());
    }
    fs::write(file, path.as_os_str().as_bytes())
}

fn read_path(file: &Path) -> io::Result<PathBuf> {
    let text = fs::read(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(text)))
}

/// Returns the directories in a directory; none if it does not exist.
fn directories(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match fs::read_dir(parent) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut directories = Vec::new();
    for entry in found {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            directories.push(entry.path());
        }
    }
    Ok(directories)
}

/// Returns the paths below the target that we have hidden.
fn hidden_paths(store: &Path) -> Vec<PathBuf> {
    let text = fs::read(store.join(HIDDEN_FILE)).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| PathBuf::from(OsStr::from_bytes(line))).collect()
}

/// Size of an upper directory.
#[derive(Debug, Default)]
struct UpperSize {
    files: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

/// Measures the readable part of an upper directory.
fn measure(upper: &Path, hidden: &[PathBuf]) -> UpperSize {
    let mut size = UpperSize::default();
    let Ok(root) = tree::open_root(upper) else { return size };
    size.modified = fs::metadata(upper).and_then(|about| about.modified()).ok();
    let _ = tree::visit(&root, &mut |node: &UpperNode<'_>| {
        let is_file = matches!(node.kind, NodeKind::File | NodeKind::Link);
        if is_file {
            size.files += 1;
            size.bytes += node.size();
        }
        // Our own whiteouts are not changes.
        if !(node.kind == NodeKind::Whiteout && hidden.contains(&node.path)) {
            size.modified = size.modified.max(node.modified());
        }
        Ok(())
    });
    size
}

/// Converts the time of a `stat`; `None` before 1970.
fn system_time(seconds: i64, nanoseconds: u64) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
#[path = "overlay_store_tests.rs"]
mod tests;
