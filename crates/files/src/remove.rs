//! Removes files, directories and trees by handle, never through a symlink.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use hermes_core::{Scope, ToolError};
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use crate::access::FileAccess;
use crate::dir::{DirEntry, OpenDir};
use crate::error_text::{explain_error, explain_path_error, is_loop};
use crate::locate::LinkMode;
use crate::metadata::{FileKind, FileMetadata, WrongFileKind};
use crate::open::{AnchoredName, WalkMode};
use crate::temp_file::sync_dir;

/// Maximum depth of a tree that is removed; each level holds a handle.
const MAX_TREE_LEVELS: usize = 256;

impl FileAccess<'_> {
    /// Removes a file; for a symlink, the link and not its target.
    pub fn remove_file(&self, path: &Path) -> Result<(), ToolError> {
        let spot = self.anchor("remove", &Scope::FILE_DELETE, path, LinkMode::NoFollow)?;
        let remove = || {
            let found = spot.metadata()?.kind;
            if matches!(found, FileKind::Directory | FileKind::Device | FileKind::Other) {
                let wrong = WrongFileKind { found, wanted: FileKind::File };
                return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
            }
            Ok(rustix::fs::unlinkat(&spot.dir, &spot.name, AtFlags::empty())?)
        };
        remove().map_err(|error| explain_path_error("remove", path, &error))?;
        sync_dir(&spot);
        Ok(())
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, path: &Path) -> Result<(), ToolError> {
        let spot = self.anchor("remove", &Scope::FILE_DELETE, path, LinkMode::NoFollow)?;
        let remove = || {
            spot.metadata()?.require_kind(FileKind::Directory)?;
            Ok(rustix::fs::unlinkat(&spot.dir, &spot.name, AtFlags::REMOVEDIR)?)
        };
        remove().map_err(|error| explain_path_error("remove", path, &error))?;
        sync_dir(&spot);
        Ok(())
    }

    /// Removes a directory and everything below it, and returns the number of
    /// files and directories removed. Symlinks are removed, not followed. A
    /// tree that contains another file system, or has more than 256 levels, is
    /// left unchanged.
    pub fn remove_tree(&self, path: &Path) -> Result<u64, ToolError> {
        let spot = self.anchor("remove", &Scope::FILE_DELETE, path, LinkMode::NoFollow)?;
        if spot.name == "." {
            return Err(ToolError::denied("The root directory cannot be removed"));
        }
        let mut sweep = TreeRemover { path, walk: self.walk(), removed: 0 };
        // Check the whole tree first, to avoid a partial removal.
        sweep.run(&spot, RemovePass::Check)?;
        sweep.run(&spot, RemovePass::Remove)?;
        sync_dir(&spot);
        Ok(sweep.removed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovePass {
    Check,
    Remove,
}

/// Walk of a tree with an explicit stack, since a tree may be deeper than the
/// call stack allows.
struct TreeRemover<'a> {
    path: &'a Path,
    walk: WalkMode,
    removed: u64,
}

struct TreeLevel {
    dir: OpenDir,
    /// Its name in its parent.
    name: OsString,
    remaining: Vec<DirEntry>,
}

impl TreeRemover<'_> {
    fn run(&mut self, spot: &AnchoredName, step: RemovePass) -> Result<(), ToolError> {
        let top = spot
            .open_dir(self.walk)
            .map_err(|error| explain_path_error("remove", self.path, &error))?;
        let mount = mount_id(top.handle().as_fd()).map_err(|e| self.failed_error(&[], None, &e))?;
        let left = list_entries(&top).map_err(|e| self.failed_error(&[], None, &e))?;
        let mut levels = vec![TreeLevel { dir: top, name: spot.name.clone(), remaining: left }];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.remaining.pop() else {
                let Some(done) = levels.pop() else { break };
                let above =
                    levels.last().map_or(spot.dir.as_fd(), |level| level.dir.handle().as_fd());
                self.remove(step, above, &done.name, AtFlags::REMOVEDIR)
                    .map_err(|error| self.failed_error(&levels, Some(&done.name), &error))?;
                continue;
            };
            if entry.kind != FileKind::Directory {
                let here = level.dir.handle().as_fd();
                if let Err(error) = self.remove(step, here, &entry.name, AtFlags::empty()) {
                    return Err(self.failed_error(&levels, Some(&entry.name), &error));
                }
                continue;
            }
            let opened = level.dir.open_dir(Path::new(&entry.name)).and_then(|dir| {
                let left = list_entries(&dir)?;
                Ok((mount_id(dir.handle().as_fd())?, dir, left))
            });
            match opened {
                Ok((on, dir, left)) if on == mount && levels.len() < MAX_TREE_LEVELS => {
                    levels.push(TreeLevel { dir, name: entry.name, remaining: left });
                }
                Ok((on, ..)) => {
                    return Err(
                        self.refused_error(&relative_path(&levels, Some(&entry.name)), on == mount)
                    );
                }
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.failed_error(&levels, Some(&entry.name), &error)),
            }
        }
        Ok(())
    }

    fn remove(
        &mut self,
        step: RemovePass,
        dir: BorrowedFd<'_>,
        name: &OsString,
        flags: AtFlags,
    ) -> io::Result<()> {
        if step == RemovePass::Check {
            return Ok(());
        }
        match rustix::fs::unlinkat(dir, name, flags) {
            Ok(()) => self.removed += 1,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn refused_error(&self, at: &Path, is_deep: bool) -> ToolError {
        let (path, at) = (self.path.display(), at.display());
        if is_deep {
            return ToolError::limit(format!(
                "{path} has more than {MAX_TREE_LEVELS} levels and was not removed"
            ))
            .with_hint("Remove the deepest directories first.");
        }
        ToolError::denied(format!("Another file system is mounted at {at} in {path}"))
            .with_hint("Removal does not cross file systems; ask the user to unmount it.")
    }

    fn failed_error(
        &self,
        levels: &[TreeLevel],
        name: Option<&OsString>,
        error: &io::Error,
    ) -> ToolError {
        let at = self.path.join(relative_path(levels, name));
        let shown = if is_loop(error) {
            ToolError::conflict(format!("{} changed meanwhile", at.display()))
        } else {
            explain_error("remove", &at, error)
        };
        if self.removed == 0 {
            return shown;
        }
        let shown = shown.with("removed", self.removed);
        let message = format!("{}; {} entries were already removed", shown.message(), self.removed);
        shown.with_message(message)
    }
}

/// Returns the current position, relative to the top of the tree.
fn relative_path(levels: &[TreeLevel], name: Option<&OsString>) -> PathBuf {
    levels.iter().skip(1).map(|level| &level.name).chain(name).collect()
}

fn list_entries(dir: &OpenDir) -> io::Result<Vec<DirEntry>> {
    dir.entries()?.collect()
}

/// Returns the mount that a directory is on. The device number is not enough: a
/// device may be mounted in several places.
fn mount_id(dir: BorrowedFd<'_>) -> io::Result<(u64, Option<u64>)> {
    let device = FileMetadata::from_stat(&rustix::fs::fstat(dir)?).identity.dev;
    let known = rustix::fs::statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok();
    let mount = known.filter(|found| found.stx_mask & StatxFlags::MNT_ID.bits() != 0);
    Ok((device, mount.map(|found| found.stx_mnt_id)))
}
