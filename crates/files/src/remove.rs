//! Removing files, folders and trees, by handle and never through a link.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use hermes_core::{Scope, ToolError};
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use crate::facts::{Facts, Kind, WrongKind};
use crate::files::Files;
use crate::folder::{Entry, Folder};
use crate::open::{Spot, Walk};
use crate::place::Last;
use crate::temporary::sync_folder;
use crate::words::{explain, explain_way, is_loop};

/// Levels of a tree that is removed; each holds a handle.
const LEVELS: usize = 256;

impl Files<'_> {
    /// Removes a file; of a link, the link and not what it leads to.
    pub fn remove_file(&self, path: &Path) -> Result<(), ToolError> {
        let spot = self.spot("remove", &Scope::FILE_DELETE, path, Last::Keep)?;
        let remove = || {
            let found = spot.facts()?.kind;
            if matches!(found, Kind::Folder | Kind::Device | Kind::Other) {
                let wrong = WrongKind { found, wanted: Kind::File };
                return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
            }
            Ok(rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::empty())?)
        };
        remove().map_err(|error| explain_way("remove", path, &error))?;
        sync_folder(&spot);
        Ok(())
    }

    /// Removes an empty folder.
    pub fn remove_dir(&self, path: &Path) -> Result<(), ToolError> {
        let spot = self.spot("remove", &Scope::FILE_DELETE, path, Last::Keep)?;
        let remove = || {
            spot.facts()?.require(Kind::Folder)?;
            Ok(rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::REMOVEDIR)?)
        };
        remove().map_err(|error| explain_way("remove", path, &error))?;
        sync_folder(&spot);
        Ok(())
    }

    /// Removes a folder and all that is below; how many files and folders
    /// that were. Links below are removed and not followed. A tree that holds
    /// another file system, or has more than 256 levels, is left as it is.
    pub fn remove_tree(&self, path: &Path) -> Result<u64, ToolError> {
        let spot = self.spot("remove", &Scope::FILE_DELETE, path, Last::Keep)?;
        if spot.name == "." {
            return Err(ToolError::denied("The root of all files is not removed"));
        }
        let mut sweep = Sweep { path, walk: self.walk(), removed: 0 };
        // First without removing: what cannot be done is not begun.
        sweep.run(&spot, Step::Look)?;
        sweep.run(&spot, Step::Remove)?;
        sync_folder(&spot);
        Ok(sweep.removed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Look,
    Remove,
}

/// A way through a tree, with its own stack: trees are deeper than ours.
struct Sweep<'a> {
    path: &'a Path,
    walk: Walk,
    removed: u64,
}

struct Level {
    folder: Folder,
    /// Its name in the level above.
    name: OsString,
    left: Vec<Entry>,
}

impl Sweep<'_> {
    fn run(&mut self, spot: &Spot, step: Step) -> Result<(), ToolError> {
        let top =
            spot.folder(self.walk).map_err(|error| explain_way("remove", self.path, &error))?;
        let mount = mount_of(top.handle().as_fd()).map_err(|e| self.failed(&[], None, &e))?;
        let left = list(&top).map_err(|e| self.failed(&[], None, &e))?;
        let mut levels = vec![Level { folder: top, name: spot.name.clone(), left }];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.left.pop() else {
                let Some(done) = levels.pop() else { break };
                let above = levels
                    .last()
                    .map_or(spot.folder.as_fd(), |level| level.folder.handle().as_fd());
                self.remove(step, above, &done.name, AtFlags::REMOVEDIR)
                    .map_err(|error| self.failed(&levels, Some(&done.name), &error))?;
                continue;
            };
            if entry.kind != Kind::Folder {
                let here = level.folder.handle().as_fd();
                if let Err(error) = self.remove(step, here, &entry.name, AtFlags::empty()) {
                    return Err(self.failed(&levels, Some(&entry.name), &error));
                }
                continue;
            }
            let opened = level.folder.folder(Path::new(&entry.name)).and_then(|folder| {
                let left = list(&folder)?;
                Ok((mount_of(folder.handle().as_fd())?, folder, left))
            });
            match opened {
                Ok((on, folder, left)) if on == mount && levels.len() < LEVELS => {
                    levels.push(Level { folder, name: entry.name, left });
                }
                Ok((on, ..)) => {
                    return Err(self.refused(&below(&levels, Some(&entry.name)), on == mount));
                }
                // Somebody else has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.failed(&levels, Some(&entry.name), &error)),
            }
        }
        Ok(())
    }

    fn remove(
        &mut self,
        step: Step,
        folder: BorrowedFd<'_>,
        name: &OsString,
        flags: AtFlags,
    ) -> io::Result<()> {
        if step == Step::Look {
            return Ok(());
        }
        match rustix::fs::unlinkat(folder, name, flags) {
            Ok(()) => self.removed += 1,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn refused(&self, at: &Path, is_deep: bool) -> ToolError {
        let (path, at) = (self.path.display(), at.display());
        if is_deep {
            return ToolError::limit(format!(
                "{path} has more than {LEVELS} levels and is not removed"
            ))
            .with_hint("Remove the folders deep inside first.");
        }
        ToolError::denied(format!("Another file system is mounted at {at} in {path}"))
            .with_hint("Only what is on one file system is removed; ask the user to unmount it.")
    }

    fn failed(&self, levels: &[Level], name: Option<&OsString>, error: &io::Error) -> ToolError {
        let at = self.path.join(below(levels, name));
        let told = if is_loop(error) {
            ToolError::conflict(format!("{} changed meanwhile", at.display()))
        } else {
            explain("remove", &at, error)
        };
        if self.removed == 0 {
            return told;
        }
        let told = told.with("removed", self.removed);
        let message = format!("{}; {} entries were removed before", told.message(), self.removed);
        told.with_message(message)
    }
}

/// Where the sweep is, relative to its top.
fn below(levels: &[Level], name: Option<&OsString>) -> PathBuf {
    levels.iter().skip(1).map(|level| &level.name).chain(name).collect()
}

fn list(folder: &Folder) -> io::Result<Vec<Entry>> {
    folder.entries()?.collect()
}

/// The mounted file system that a folder is on. The number of the device is
/// not enough: one may be mounted in several places.
fn mount_of(folder: BorrowedFd<'_>) -> io::Result<(u64, Option<u64>)> {
    let device = Facts::of(&rustix::fs::fstat(folder)?).identity.dev;
    let known = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok();
    let mount = known.filter(|found| found.stx_mask & StatxFlags::MNT_ID.bits() != 0);
    Ok((device, mount.map(|found| found.stx_mnt_id)))
}
