//! Moving a complete tree into its place, name by name, with a way back until
//! the last one.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::explain;
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;

use super::place::{joined, kind_at, names_in, step};
use super::staging::Staging;
use super::{Existing, Extracted, exists};
use crate::member::Skipped;

/// How many names are tried for one that is taken.
const NAMES: u32 = 10_000;

/// What happened on the way.
#[derive(Debug, Default)]
pub(super) struct Moved {
    replaced: u64,
    renamed: Vec<(PathBuf, PathBuf)>,
    skipped: Vec<PathBuf>,
}

/// One step that can be taken back.
enum Done {
    /// Moved from the staging folder to the target.
    Put { from: PathBuf, to: PathBuf },
    /// Changed places with what was there.
    Swapped { path: PathBuf },
    /// A folder on the way to the target, made.
    Made { path: PathBuf },
}

/// A folder of the tree, and the one in the target that it meets.
struct Pair {
    from: OwnedFd,
    to: OwnedFd,
    relative: PathBuf,
    left: Vec<(OsString, FileType)>,
}

impl Staging {
    /// Moves everything into place, or nothing.
    pub(super) fn commit(&self, existing: Existing, target: &Path) -> Result<Moved, ToolError> {
        let mut journal = Vec::new();
        let mut moved = Moved::default();
        let done = if self.missing.is_empty() {
            self.merge(existing, target, &mut journal, &mut moved)
        } else {
            self.appear(target, &mut journal)
        };
        if done.is_err() {
            journal.into_iter().rev().for_each(|step| step.undo(self));
        }
        done.map(|()| moved)
    }

    /// The target does not exist: the tree becomes the target.
    fn appear(&self, target: &Path, journal: &mut Vec<Done>) -> Result<(), ToolError> {
        let failed = |error: Errno| explain("unpack into", target, &error.into());
        let Some((name, above)) = self.missing.split_last() else { return Ok(()) };
        let mut here = duplicate(&self.base).map_err(failed)?;
        let mut path = PathBuf::new();
        for part in above {
            path.push(part);
            match rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => journal.push(Done::Made { path: path.clone() }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            here = step(&here, part).map_err(failed)?;
        }
        match put(&self.base, &self.name, &here, name) {
            Err(Errno::EXIST) => Err(ToolError::conflict(format!(
                "{} appeared while the archive was unpacked (looked for {}); nothing was unpacked",
                target.display(),
                joined(&self.missing).display()
            ))),
            put => put.map_err(failed),
        }
    }

    /// The target exists: the tree goes into it.
    fn merge(
        &self,
        existing: Existing,
        target: &Path,
        journal: &mut Vec<Done>,
        moved: &mut Moved,
    ) -> Result<(), ToolError> {
        let failed =
            |path: &Path, error: Errno| explain("unpack", &target.join(path), &error.into());
        let top = |error| failed(Path::new(""), error);
        let mut pairs = vec![Pair {
            from: duplicate(&self.root).map_err(top)?,
            to: duplicate(&self.base).map_err(top)?,
            relative: PathBuf::new(),
            left: names_in(&self.root).map_err(top)?,
        }];
        while let Some(pair) = pairs.last_mut() {
            let Some((name, kind)) = pair.left.pop() else {
                pairs.pop();
                continue;
            };
            let relative = pair.relative.join(&name);
            let wrong = |error| failed(&relative, error);
            match put(&pair.from, &name, &pair.to, &name) {
                Ok(()) => {
                    journal.push(Done::Put { from: relative.clone(), to: relative });
                    continue;
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(wrong(error)),
            }
            let there = kind_at(&pair.to, &name).map_err(wrong)?;
            match (kind, there) {
                (FileType::Directory, Some(FileType::Directory)) => {
                    let (from, to) = (step(&pair.from, &name), step(&pair.to, &name));
                    let (from, to) = (from.map_err(wrong)?, to.map_err(wrong)?);
                    let left = names_in(&from).map_err(wrong)?;
                    pairs.push(Pair { from, to, relative, left });
                }
                (FileType::Directory, _) | (_, Some(FileType::Directory)) => {
                    return Err(in_the_way(&target.join(&relative)));
                }
                _ => pair.meet(&name, &relative, existing, target, journal, moved)?,
            }
        }
        Ok(())
    }
}

impl Pair {
    /// A file meets a file.
    fn meet(
        &self,
        name: &OsStr,
        relative: &Path,
        existing: Existing,
        target: &Path,
        journal: &mut Vec<Done>,
        moved: &mut Moved,
    ) -> Result<(), ToolError> {
        let wrong = |error: Errno| explain("unpack", &target.join(relative), &error.into());
        match existing {
            Existing::Refuse => return Err(exists(&target.join(relative))),
            Existing::Skip => moved.skipped.push(relative.to_path_buf()),
            Existing::Overwrite => {
                match rustix::fs::renameat_with(
                    &self.from,
                    name,
                    &self.to,
                    name,
                    RenameFlags::EXCHANGE,
                ) {
                    Ok(()) => journal.push(Done::Swapped { path: relative.to_path_buf() }),
                    // A file system that cannot do it: there is no way back
                    // for this file.
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        rustix::fs::renameat(&self.from, name, &self.to, name).map_err(wrong)?;
                    }
                    Err(error) => return Err(wrong(error)),
                }
                moved.replaced += 1;
            }
            Existing::Rename => {
                let new = relative.with_file_name(self.put_elsewhere(name).map_err(wrong)?);
                journal.push(Done::Put { from: relative.to_path_buf(), to: new.clone() });
                moved.renamed.push((relative.to_path_buf(), new));
            }
        }
        Ok(())
    }

    /// Moves a file under the first free name like `notes (1).txt`.
    fn put_elsewhere(&self, name: &OsStr) -> Result<OsString, Errno> {
        let path = Path::new(name);
        for number in 1..=NAMES {
            let mut new = path.file_stem().unwrap_or(name).to_owned();
            new.push(format!(" ({number})"));
            if let Some(ending) = path.extension() {
                new.push(".");
                new.push(ending);
            }
            match put(&self.from, name, &self.to, &new) {
                Err(Errno::EXIST) => {}
                put => return put.map(|()| new),
            }
        }
        Err(Errno::EXIST)
    }
}

impl Done {
    /// Takes the step back; what cannot be taken back stays.
    fn undo(self, staging: &Staging) {
        let _ = match &self {
            Self::Put { from, to } => folder(&staging.base, to).and_then(|(here, name)| {
                let (there, old) = folder(&staging.root, from)?;
                put(here, name, there, old)
            }),
            Self::Swapped { path } => folder(&staging.base, path).and_then(|(here, name)| {
                let (there, _) = folder(&staging.root, path)?;
                rustix::fs::renameat_with(there, name, here, name, RenameFlags::EXCHANGE)
            }),
            Self::Made { path } => folder(&staging.base, path)
                .and_then(|(here, name)| rustix::fs::unlinkat(here, name, AtFlags::REMOVEDIR)),
        };
    }
}

/// The folder that a path below another ends in, and the name there.
fn folder<'p>(base: &OwnedFd, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), Errno> {
    let mut here = duplicate(base)?;
    for part in path.parent().unwrap_or(Path::new("")) {
        here = step(&here, part)?;
    }
    Ok((here, path.file_name().unwrap_or_default()))
}

impl Moved {
    /// Tells it in the answer.
    pub(super) fn amend(self, out: &mut Extracted) {
        out.replaced = self.replaced;
        for path in self.skipped {
            out.names.retain(|name| *name != path);
            let path = path.to_string_lossy().into_owned();
            out.skipped.push(Skipped { path, reason: "it exists already".into() });
        }
        for (old, new) in &self.renamed {
            if let Some(name) = out.names.iter_mut().find(|name| *name == old) {
                name.clone_from(new);
            }
        }
        out.renamed = self.renamed;
        out.names.sort();
    }
}

/// Moves a name to where none is.
fn put(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr) -> Result<(), Errno> {
    let (from, to) = (from.as_fd(), to.as_fd());
    match rustix::fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
        // A file system without that flag.
        Err(Errno::INVAL | Errno::NOSYS) => match kind_at(to, new)? {
            Some(_) => Err(Errno::EXIST),
            None => rustix::fs::renameat(from, name, to, new),
        },
        moved => moved,
    }
}

fn duplicate(handle: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(handle, 0)
}

fn in_the_way(path: &Path) -> ToolError {
    let error = io::Error::from(io::ErrorKind::AlreadyExists);
    ToolError::conflict(format!(
        "{} is a folder where the archive has a file, or the other way round: {error}",
        path.display()
    ))
    .with_hint("Nothing was unpacked. Choose another target.")
}
