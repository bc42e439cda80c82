//! Which name of a complete tree goes where, before the first of them goes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::{IncomingTree, FileMetadata, explain_error};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::commit::{Moved, duplicate, folder};
use super::place::{kind_at, names_in, step};
use super::staging::Staging;
use super::{Existing, exists};

/// How many names are tried for one that is taken.
const NAMES: u32 = 10_000;

/// One name, relative to the tree and to the target.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing is there.
    Put,
    /// A folder with all that is in it; nothing is there.
    PutFolder,
    /// It changes places with the file that is there.
    Swap,
}

/// The way of a tree into its target.
#[derive(Debug, Default)]
pub(super) struct Route {
    pub(super) moves: Vec<Move>,
    pub(super) moved: Moved,
}

/// A folder of the tree, and the one in the target that it meets.
struct Pair {
    from: OwnedFd,
    to: OwnedFd,
    relative: PathBuf,
    left: Vec<(OsString, FileType)>,
    /// Names that are taken by now, or will be.
    taken: BTreeSet<OsString>,
}

impl Pair {
    fn new(from: OwnedFd, to: OwnedFd, relative: PathBuf) -> Result<Self, Errno> {
        let left = names_in(&from)?;
        let taken = left.iter().map(|(name, _)| name.clone()).collect();
        Ok(Self { from, to, relative, left, taken })
    }

    /// The first free name like `notes (1).txt`.
    fn name_elsewhere(&mut self, name: &OsStr) -> Result<OsString, Errno> {
        let path = Path::new(name);
        for number in 1..=NAMES {
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

impl Staging {
    /// The way of the tree into the target, which exists.
    pub(super) fn route(&self, existing: Existing, target: &Path) -> Result<Route, ToolError> {
        let failed =
            |path: &Path, error: Errno| explain_error("unpack", &target.join(path), &error.into());
        let top = || Pair::new(duplicate(&self.root)?, duplicate(&self.base)?, PathBuf::new());
        let mut pairs = vec![top().map_err(|error| failed(Path::new(""), error))?];
        let mut route = Route::default();
        while let Some(pair) = pairs.last_mut() {
            let Some((name, kind)) = pair.left.pop() else {
                pairs.pop();
                continue;
            };
            let relative = pair.relative.join(&name);
            let there = kind_at(&pair.to, &name).map_err(|error| failed(&relative, error))?;
            match (kind, there) {
                (FileType::Directory, None) => route.add(&relative, &relative, Way::PutFolder),
                (_, None) => route.add(&relative, &relative, Way::Put),
                (FileType::Directory, Some(FileType::Directory)) => {
                    let below = || {
                        let (from, to) = (step(&pair.from, &name)?, step(&pair.to, &name)?);
                        Pair::new(from, to, relative.clone())
                    };
                    let below = below().map_err(|error| failed(&relative, error))?;
                    pairs.push(below);
                }
                (FileType::Directory, _) | (_, Some(FileType::Directory)) => {
                    return Err(in_the_way(&target.join(&relative)));
                }
                _ => match existing {
                    Existing::Refuse => return Err(exists(&target.join(&relative))),
                    Existing::Skip => route.moved.skipped.push(relative),
                    Existing::Overwrite => {
                        route.add(&relative, &relative, Way::Swap);
                        route.moved.replaced += 1;
                    }
                    Existing::Rename => {
                        let new = pair.name_elsewhere(&name);
                        let new = new.map_err(|error| failed(&relative, error))?;
                        let new = relative.with_file_name(new);
                        route.add(&relative, &new, Way::Put);
                        route.moved.renamed.push((relative, new));
                    }
                },
            }
        }
        Ok(route)
    }

    /// All that the route brings, for whoever has to take it back.
    pub(super) fn tell(&self, route: &Route, arrival: &mut IncomingTree) -> io::Result<()> {
        for Move { from, to, way } in &route.moves {
            let (tree, name) = folder(&self.root, from)?;
            match way {
                Way::PutFolder => tell_folder(step(&tree, name)?, from, arrival)?,
                Way::Put => arrival.add_file(from, to, &FileMetadata::read_at(&tree, name)?, None),
                Way::Swap => {
                    let (there, _) = folder(&self.base, to)?;
                    let (new, old) = (FileMetadata::read_at(&tree, name)?, FileMetadata::read_at(&there, name)?);
                    arrival.add_file(from, to, &new, Some(&old));
                }
            }
        }
        Ok(())
    }
}

/// A folder of the tree, and all that is in it.
fn tell_folder(top: OwnedFd, path: &Path, arrival: &mut IncomingTree) -> io::Result<()> {
    let mut open = vec![(top, path.to_path_buf())];
    while let Some((here, path)) = open.pop() {
        arrival.add_dir(&path);
        for (name, kind) in names_in(&here)? {
            let below = path.join(&name);
            match kind {
                FileType::Directory => open.push((step(&here, &name)?, below)),
                _ => arrival.add_file(&below, &below, &FileMetadata::read_at(&here, &name)?, None),
            }
        }
    }
    Ok(())
}

impl Route {
    fn add(&mut self, from: &Path, to: &Path, way: Way) {
        self.moves.push(Move { from: from.to_path_buf(), to: to.to_path_buf(), way });
    }
}

fn in_the_way(path: &Path) -> ToolError {
    let error = io::Error::from(io::ErrorKind::AlreadyExists);
    ToolError::conflict(format!(
        "{} is a folder where the archive has a file, or the other way round: {error}",
        path.display()
    ))
    .with_hint("Nothing was unpacked. Choose another target.")
}
