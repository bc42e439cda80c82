//! Plans where each entry of a complete tree goes, before the first move.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::{FileMetadata, IncomingTree, explain_error};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::commit::{MergeReport, duplicate_handle, open_parent};
use super::staging::StagingDir;
use super::target::{kind_at, names_in, open_subdir};
use super::{UnpackConflictPolicy, exists_error};

/// Names tried if one is taken.
const MAX_RENAME_ATTEMPTS: u32 = 10_000;

/// A move, with paths relative to the tree and to the target.
#[derive(Debug)]
pub(super) struct PlannedMove {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) kind: MoveKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// The destination does not exist.
    Put,
    /// A directory with its contents; the destination does not exist.
    PutDir,
    /// Exchanged with the existing file.
    Swap,
}

/// Moves that merge a tree into its target.
#[derive(Debug, Default)]
pub(super) struct MergePlan {
    pub(super) moves: Vec<PlannedMove>,
    pub(super) report: MergeReport,
}

/// A directory of the tree, and the existing one in the target.
struct DirPair {
    from: OwnedFd,
    to: OwnedFd,
    relative: PathBuf,
    left: Vec<(OsString, FileType)>,
    /// Names that are or will be taken.
    taken: BTreeSet<OsString>,
}

impl DirPair {
    fn new(from: OwnedFd, to: OwnedFd, relative: PathBuf) -> Result<Self, Errno> {
        let left = names_in(&from)?;
        let taken = left.iter().map(|(name, _)| name.clone()).collect();
        Ok(Self { from, to, relative, left, taken })
    }

    /// Returns the first free name like `notes (1).txt`.
    fn free_name(&mut self, name: &OsStr) -> Result<OsString, Errno> {
        let path = Path::new(name);
        for number in 1..=MAX_RENAME_ATTEMPTS {
            let mut new = path.file_stem().unwrap_or(name).to_owned();
            new.push(format!(" ({number})"));
            if let Some(ending) = path.extension() {
                new.push(".");
                new.push(ending);
            }
            if !self.taken.contains(&new) && kind_at(&self.to, &new)?.is_none() {
                self.taken.insert(new.clone());
                return Ok(new);
            }
        }
        Err(Errno::EXIST)
    }
}

impl StagingDir {
    /// Plans the merge of the tree into an existing target.
    pub(super) fn plan_merge(
        &self,
        existing: UnpackConflictPolicy,
        target: &Path,
    ) -> Result<MergePlan, ToolError> {
        let failed =
            |path: &Path, error: Errno| explain_error("unpack", &target.join(path), &error.into());
        let top = || {
            DirPair::new(
                duplicate_handle(&self.root)?,
                duplicate_handle(&self.base)?,
                PathBuf::new(),
            )
        };
        let mut pairs = vec![top().map_err(|error| failed(Path::new(""), error))?];
        let mut route = MergePlan::default();
        while let Some(pair) = pairs.last_mut() {
            let Some((name, kind)) = pair.left.pop() else {
                pairs.pop();
                continue;
            };
            let relative = pair.relative.join(&name);
            let there = kind_at(&pair.to, &name).map_err(|error| failed(&relative, error))?;
            match (kind, there) {
                (FileType::Directory, None) => {
                    route.add_move(&relative, &relative, MoveKind::PutDir)
                }
                (_, None) => route.add_move(&relative, &relative, MoveKind::Put),
                (FileType::Directory, Some(FileType::Directory)) => {
                    let below = || {
                        let (from, to) =
                            (open_subdir(&pair.from, &name)?, open_subdir(&pair.to, &name)?);
                        DirPair::new(from, to, relative.clone())
                    };
                    let below = below().map_err(|error| failed(&relative, error))?;
                    pairs.push(below);
                }
                (FileType::Directory, _) | (_, Some(FileType::Directory)) => {
                    return Err(type_conflict_error(&target.join(&relative)));
                }
                _ => match existing {
                    UnpackConflictPolicy::Refuse => {
                        return Err(exists_error(&target.join(&relative)));
                    }
                    UnpackConflictPolicy::Skip => route.report.skipped.push(relative),
                    UnpackConflictPolicy::Overwrite => {
                        route.add_move(&relative, &relative, MoveKind::Swap);
                        route.report.replaced += 1;
                    }
                    UnpackConflictPolicy::Rename => {
                        let new = pair.free_name(&name);
                        let new = new.map_err(|error| failed(&relative, error))?;
                        let new = relative.with_file_name(new);
                        route.add_move(&relative, &new, MoveKind::Put);
                        route.report.renamed.push((relative, new));
                    }
                },
            }
        }
        Ok(route)
    }

    /// Records everything that the plan moves, for a rollback.
    pub(super) fn record_moves(
        &self,
        route: &MergePlan,
        arrival: &mut IncomingTree,
    ) -> io::Result<()> {
        for PlannedMove { from, to, kind: way } in &route.moves {
            let (tree, name) = open_parent(&self.root, from)?;
            match way {
                MoveKind::PutDir => record_dir(open_subdir(&tree, name)?, from, arrival)?,
                MoveKind::Put => {
                    arrival.add_file(from, to, &FileMetadata::read_at(&tree, name)?, None)
                }
                MoveKind::Swap => {
                    let (there, _) = open_parent(&self.base, to)?;
                    let (new, old) =
                        (FileMetadata::read_at(&tree, name)?, FileMetadata::read_at(&there, name)?);
                    arrival.add_file(from, to, &new, Some(&old));
                }
            }
        }
        Ok(())
    }
}

/// Records a directory of the tree with its contents.
fn record_dir(top: OwnedFd, path: &Path, arrival: &mut IncomingTree) -> io::Result<()> {
    let mut open = vec![(top, path.to_path_buf())];
    while let Some((here, path)) = open.pop() {
        arrival.add_dir(&path);
        for (name, kind) in names_in(&here)? {
            let below = path.join(&name);
            match kind {
                FileType::Directory => open.push((open_subdir(&here, &name)?, below)),
                _ => arrival.add_file(&below, &below, &FileMetadata::read_at(&here, &name)?, None),
            }
        }
    }
    Ok(())
}

impl MergePlan {
    fn add_move(&mut self, from: &Path, to: &Path, way: MoveKind) {
        self.moves.push(PlannedMove { from: from.to_path_buf(), to: to.to_path_buf(), kind: way });
    }
}

fn type_conflict_error(path: &Path) -> ToolError {
    let error = io::Error::from(io::ErrorKind::AlreadyExists);
    ToolError::conflict(format!(
        "{} is a directory where the archive has a file, or vice versa: {error}",
        path.display()
    ))
    .with_hint("Nothing was unpacked. Choose another target.")
}
