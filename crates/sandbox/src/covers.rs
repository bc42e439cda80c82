//! Which paths the mount namespace must cover, and with what. Landlock only
//! allows, tree by tree; what is taken out of an allowed tree is covered here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hermes_core::{Confinement, PartialDir};

use crate::overlay::{PreparedOverlay, overlay_gap};
use crate::placeholder::{Kind, Placeholder};
use crate::raw::namespace::{self, Failure, Kept, MOST_KEPT, MOST_OPEN, Mount, Namespaces};
use crate::raw::space::SpaceHandles;
use crate::redacted::redacted_copy;
use crate::searches::{came_to_be, disks, first_missing, holds_socket};
use crate::support::unsupported;
use crate::{SandboxError, den};

/// How a path is covered. A later kind wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cover {
    /// Cannot be renamed. A folder on the way to a covered path, once renamed,
    /// would make room for a new one without the cover.
    Pin,
    /// Can be read, not written.
    ReadOnly,
    /// Can be neither read nor written.
    Hide,
}

/// The covers of a confinement.
#[derive(Debug, Default)]
pub(crate) struct Covers {
    covers: BTreeMap<PathBuf, Cover>,
    /// What stays open where all else is sealed, if anything is.
    open: Option<Vec<PathBuf>>,
    /// The folder of which a child sees no more than its own part, and that.
    den: Option<(PathBuf, Vec<PathBuf>)>,
    /// Folders that are covered as a whole, and what is laid over that.
    enclosed: Vec<(PathBuf, Vec<PathBuf>)>,
    /// The sockets of others.
    sockets: Vec<PathBuf>,
    /// The folders on the way to them. One that is renamed would take its
    /// sockets along to where nobody looks for them.
    ways: BTreeSet<PathBuf>,
    /// The folder of memory that programs share by a name, and that of queues.
    memory: Option<PathBuf>,
    queues: Option<PathBuf>,
    /// Directories whose changes go elsewhere.
    overlays: Vec<PreparedOverlay>,
    /// Files, and the copies that are shown in their places.
    redacted: Vec<(PathBuf, PathBuf)>,
    /// What stands for protected paths that are not there yet.
    pub(crate) placeholders: Vec<Placeholder>,
    /// Whether some of it has to be covered, and nothing runs without.
    is_needed: bool,
    /// What cannot be covered.
    pub(crate) gaps: Vec<String>,
}

/// Where the disks are.
pub(crate) const DEVICES: &str = "/dev";

/// Where programs share memory by a name: a file each.
const MEMORY: &str = "/dev/shm";
/// Where the queues of all programs can be seen, and opened.
const QUEUES: &str = "/dev/mqueue";

/// What a process has to say about itself.
const PROCESSES: &str = "/proc";

/// Where git keeps a repository, in the folder that it is of.
const REPOSITORY: &str = ".git";

impl Covers {
    /// Finds what must be covered, and puts placeholders where there is
    /// nothing to cover yet. `sockets` tells whether hidden sockets outside of
    /// the allowed trees need a cover because Landlock lets children connect.
    pub(crate) fn plan(confinement: &Confinement, sockets: bool) -> Result<Self, SandboxError> {
        let mut found = Self::default();
        let write: Vec<PathBuf> = real_paths(&confinement.write);
        let mut allowed: Vec<PathBuf> = real_paths(&confinement.read);
        allowed.extend(write.iter().cloned());

        for folder in &confinement.partial_dirs {
            found.close(folder, &write, &allowed);
        }
        for file in confinement.redacted.iter().filter(|file| file.is_file()) {
            // What cannot be shown clean is not shown: it stays hidden.
            if let Ok(copy) = redacted_copy(file) {
                found.redacted.push((file.clone(), copy));
            }
        }
        let copied: Vec<PathBuf> = found.redacted.iter().map(|(file, _)| file.clone()).collect();
        for overlay in &confinement.overlays {
            match PreparedOverlay::prepare(overlay, &confinement.redacted, &copied) {
                Ok(prepared) => found.overlays.push(prepared),
                Err(error) => found.gaps.push(overlay_gap(&overlay.target, &error)),
            }
        }
        for path in &confinement.hidden {
            let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            if !found.is_enclosed(&real) && !found.is_overlaid(&real) {
                found.hide(path, &write, &allowed, sockets);
            }
        }
        for path in came_to_be(&confinement.pending_secrets) {
            found.hide(&path, &write, &allowed, sockets);
        }
        // What lies over the root would lie over every other cover as well.
        let is_root = |path: &&PathBuf| path.parent().is_none();
        if let Some(path) = confinement.hidden.iter().find(is_root) {
            let source = io::Error::other("everything is hidden, so that nothing can run");
            return Err(SandboxError::Path { path: path.clone(), source });
        }
        for path in confinement.read_only.iter().filter(|path| !is_root(path)) {
            found.protect(path, &write)?;
        }
        for path in &confinement.frozen {
            found.stay(path, &write);
        }
        if allowed.iter().any(|tree| Path::new(DEVICES).starts_with(tree)) {
            for device in disks() {
                found.cover(&device, Cover::Hide, &write);
            }
        }
        found.is_needed = !found.covers.is_empty() || !found.enclosed.is_empty();
        // Inner ones first, as the outer ones take them along.
        found.enclosed.sort_by_key(|(folder, _)| Reverse(folder.components().count()));
        for path in &confinement.frozen_nested {
            found.keep(path, &write);
        }
        for path in &confinement.masked_missing {
            found.forestall(path, &write)?;
        }
        found.simplify();
        if let Ok(den) = den() {
            found.enclose(&den, &write, &allowed);
        }
        found.part(&write, &allowed);
        found.seal(if confinement.read_only.iter().any(|it| is_root(&it)) {
            Vec::new()
        } else {
            write
        });
        Ok(found)
    }

    /// Closes all but the trees that may be written: the mode, the owner and
    /// the times of a file are open to whoever has it, whatever Landlock says.
    fn seal(&mut self, mut write: Vec<PathBuf>) {
        if write.iter().any(|tree| tree.parent().is_none()) {
            return;
        }
        write.extend(Path::new(PROCESSES).is_dir().then(|| PathBuf::from(PROCESSES)));
        write.sort();
        write.dedup_by(|tree, before| tree.starts_with(before));
        if write.len() > MOST_OPEN {
            self.gaps.push(format!(
                "modes and times of files elsewhere (more than {MOST_OPEN} trees may be written)"
            ));
            return;
        }
        self.open = Some(write);
    }

    /// Covers the sockets of others, too, and keeps them in their places.
    pub(crate) fn shut(&mut self, sockets: Vec<PathBuf>, confinement: &Confinement) {
        let covered = |path: &PathBuf| {
            let den = self.den.iter().chain(&self.enclosed).map(|(den, _)| den);
            let hidden = self.covers.iter().filter(|(_, cover)| **cover == Cover::Hide);
            den.chain(hidden.map(|(path, _)| path)).any(|folder| path.starts_with(folder))
        };
        self.sockets = sockets.into_iter().filter(|path| !covered(path)).collect();
        let write = real_paths(&confinement.write);
        let held = |folder: &Path| matches!(self.covers.get(folder), Some(Cover::ReadOnly));
        for path in self.sockets.iter().filter(|path| !path.ancestors().any(held)) {
            self.ways.extend(way_to(path, &write).map(Path::to_owned));
        }
    }

    /// Parts the memory and the queues of children from those of others. A
    /// tree in there that is allowed by name is meant to be seen, and where
    /// everything may be written, these may.
    fn part(&mut self, write: &[PathBuf], allowed: &[PathBuf]) {
        let of_others = |place: &str| {
            let real = fs::canonicalize(place).ok().filter(|real| real.is_dir())?;
            let is_meant = allowed.iter().any(|tree| tree.starts_with(&real))
                || write.iter().any(|tree| real.starts_with(tree));
            (!is_meant).then_some(real)
        };
        self.memory = of_others(MEMORY);
        self.queues = of_others(QUEUES);
    }

    fn enclose(&mut self, den: &Path, write: &[PathBuf], allowed: &[PathBuf]) {
        let hidden = |path: &&Path| self.covers.get(*path) == Some(&Cover::Hide);
        let reachable = allowed.iter().any(|tree| den.starts_with(tree) || tree.starts_with(den));
        if !reachable || den.ancestors().any(|path| hidden(&path)) {
            return;
        }
        let own = write.iter().filter(|tree| tree.starts_with(den) && *tree != den);
        self.den = Some((den.to_owned(), own.take(MOST_KEPT).cloned().collect()));
    }

    /// Covers a folder but for what is open of it. Unlike the cover of a file,
    /// this one stays whatever becomes of what is in it.
    fn close(&mut self, enclosed: &PartialDir, write: &[PathBuf], allowed: &[PathBuf]) {
        let Ok(folder) = fs::canonicalize(&enclosed.folder) else { return };
        if !allowed.iter().any(|tree| folder.starts_with(tree) || tree.starts_with(&folder)) {
            return;
        }
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let is_in = |path: &&PathBuf| path.parent() == Some(&enclosed.folder) && is_there(path);
        let open = enclosed.open.iter().filter(is_in).filter_map(|path| path.file_name());
        if enclosed.open.len() > MOST_KEPT {
            self.gaps.push(format!(
                "{} has more than {MOST_KEPT} entries, of which a child sees the first ones only",
                folder.display()
            ));
        }
        let open = open.take(MOST_KEPT).map(|name| folder.join(name)).collect();
        for above in way_to(&folder, write) {
            self.covers.entry(above.to_owned()).or_insert(Cover::Pin);
        }
        self.enclosed.push((folder, open));
    }

    /// Whether a path is covered with the folder that it is in.
    fn is_enclosed(&self, path: &Path) -> bool {
        self.enclosed.iter().any(|(folder, open)| {
            path.starts_with(folder) && !open.iter().any(|open| path.starts_with(open))
        })
    }

    /// Whether a path lies in a directory of which the child has its own.
    fn is_overlaid(&self, path: &Path) -> bool {
        self.overlays.iter().any(|overlay| path.starts_with(&overlay.target))
    }

    /// Makes the namespaces. What the system refuses and is not needed is
    /// given up, and named among the gaps; so is all of it if the confinement
    /// makes do with what there is.
    pub(crate) fn build(
        &mut self,
        space: Option<&SpaceHandles>,
        is_reduced: bool,
    ) -> Result<Option<Namespaces>, SandboxError> {
        loop {
            let failure = match namespace::build(&self.mounts()?, space) {
                Ok(made) => return Ok(Some(made)),
                Err(failure) => failure,
            };
            match failure {
                Failure::Refused(_) if is_reduced || !self.is_needed => {
                    self.give_up();
                    return Ok(None);
                }
                // One file system cannot be the upper layer of an overlay, or
                // the kernel has none: the rest is done without.
                Failure::Path(path, error) if self.is_overlay(&path) => {
                    self.gaps.push(overlay_gap(&path, &error));
                    self.overlays.retain(|overlay| overlay.target != path);
                }
                failure => return Err(unsupported(failure)),
            }
        }
    }

    fn is_overlay(&self, path: &Path) -> bool {
        self.overlays.iter().any(|overlay| overlay.target == path)
    }

    /// What is covered, by how.
    pub(crate) fn covered(&self) -> &BTreeMap<PathBuf, Cover> {
        &self.covers
    }

    /// There is no namespace: what else was to be covered is open.
    pub(crate) fn give_up(&mut self) {
        self.placeholders.clear();
        for path in std::mem::take(&mut self.covers).into_keys() {
            self.gaps.push(format!("{} (user namespaces are needed)", path.display()));
        }
    }

    /// The covered paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.covers.keys().map(PathBuf::as_path)
    }

    /// The mounts, outer ones first.
    pub(crate) fn mounts(&self) -> Result<Vec<Mount>, SandboxError> {
        let mut mounts = Vec::new();
        if let Some(open) = &self.open {
            let stores = self.overlays.iter().map(|overlay| &overlay.store);
            let open = open.iter().chain(stores).map(|it| c_name(it));
            mounts.push(Mount::Seal(open.collect::<Result<_, _>>()?));
        }
        for overlay in &self.overlays {
            mounts.push(Mount::Overlay(overlay.plan()?));
            for (file, copy) in &self.redacted {
                if let Ok(below) = file.strip_prefix(&overlay.target) {
                    let place = overlay.staging.join(below);
                    mounts.push(Mount::Bind(c_name(copy)?, c_name(&place)?));
                }
            }
        }
        let mut covers = self.covers.clone();
        for folder in &self.ways {
            covers.entry(folder.clone()).or_insert(Cover::Pin);
        }
        for (path, cover) in &covers {
            let failed = |source| SandboxError::Path { path: path.clone(), source };
            let name = c_name(path)?;
            mounts.push(match cover {
                Cover::Pin => Mount::Pin(name),
                Cover::ReadOnly => Mount::ReadOnly(name),
                Cover::Hide if fs::metadata(path).map_err(failed)?.is_dir() => {
                    Mount::HideFolder(name)
                }
                Cover::Hide => Mount::HideFile(name),
            });
        }
        // With what is kept come its covers, also where a link leads out.
        for (folder, open) in &self.enclosed {
            let own = |overlay: &&PreparedOverlay| overlay.target.parent() == Some(folder);
            let plain = open.iter().filter(|path| !self.is_overlay(path));
            let mut kept: Vec<Kept> =
                plain.map(|path| Kept::of(path, Vec::new())).collect::<Result<_, _>>()?;
            for overlay in self.overlays.iter().filter(own) {
                kept.push(overlay.kept()?);
            }
            for (file, copy) in self.redacted.iter().filter(|(it, _)| it.parent() == Some(folder)) {
                kept.push(Kept { path: c_name(file)?, ..Kept::from_copy(copy)? });
            }
            kept.truncate(MOST_KEPT);
            mounts.push(Mount::Enclose(c_name(folder)?, kept));
        }
        let is_view = |folder: &Path| self.enclosed.iter().any(|(own, _)| own == folder);
        for overlay in &self.overlays {
            if !overlay.target.parent().is_some_and(is_view) && overlay.target.is_dir() {
                mounts.push(Mount::Bind(c_name(&overlay.staging)?, c_name(&overlay.target)?));
            }
        }
        if let Some((den, own)) = &self.den {
            let mut kept = Vec::new();
            for path in own {
                let mut above: Vec<&Path> =
                    path.ancestors().skip(1).take_while(|folder| *folder != den).collect();
                above.reverse();
                let above = above.into_iter().map(c_name).collect::<Result<_, _>>()?;
                kept.push(Kept { is_written: true, ..Kept::of(path, above)? });
            }
            mounts.push(Mount::Enclose(c_name(den)?, kept));
        }
        if let Some(path) = &self.memory {
            mounts.push(Mount::Fresh(c_name(path)?));
        }
        if let Some(path) = &self.queues {
            mounts.push(Mount::HideFolder(c_name(path)?));
        }
        for path in &self.sockets {
            mounts.push(Mount::HideSocket(c_name(path)?));
        }
        Ok(mounts)
    }

    fn hide(&mut self, path: &Path, write: &[PathBuf], allowed: &[PathBuf], sockets: bool) {
        match fs::canonicalize(path) {
            Ok(real) => {
                // A hidden tree with an allowed one inside hides that as well.
                let reachable =
                    allowed.iter().any(|tree| real.starts_with(tree) || tree.starts_with(&real));
                if reachable || (sockets && holds_socket(&real)) {
                    self.cover(&real, Cover::Hide, write);
                }
            }
            // It is looked for again before every spawn.
            Err(_) if write.iter().any(|tree| path.starts_with(tree)) => {
                self.gaps.push(format!("{} is not there yet, and may be made", path.display()));
            }
            Err(_) => {}
        }
    }

    /// Covers what is there and leaves the way to it, but for the repository
    /// itself: its folder may be moved with it, and it cannot be exchanged.
    fn keep(&mut self, path: &Path, write: &[PathBuf]) {
        let Ok(real) = fs::canonicalize(path) else { return };
        if !write.iter().any(|tree| real.starts_with(tree)) {
            return;
        }
        let is_of_repository = |folder: &&Path| folder.iter().any(|name| name == REPOSITORY);
        for folder in real.ancestors().skip(1).take_while(is_of_repository) {
            self.covers.entry(folder.to_owned()).or_insert(Cover::Pin);
        }
        let entry = self.covers.entry(real).or_insert(Cover::ReadOnly);
        *entry = (*entry).max(Cover::ReadOnly);
    }

    /// Puts a placeholder where nothing is to be made.
    fn forestall(&mut self, path: &Path, write: &[PathBuf]) -> Result<(), SandboxError> {
        let is_written = |path: &Path| write.iter().any(|tree| path.starts_with(tree));
        if fs::symlink_metadata(path).is_err() {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(());
            };
            let Ok(place) = fs::canonicalize(folder).map(|folder| folder.join(name)) else {
                return Ok(());
            };
            if !is_written(&place) {
                return Ok(());
            }
            match Placeholder::put(&place, Kind::guess(Path::new(name))) {
                Ok(placeholder) => self.placeholders.push(placeholder),
                Err(error) if cannot_be_made(&error) => return Ok(()),
                Err(source) => return Err(SandboxError::Path { path: place, source }),
            }
        } else if let Some(held) = Placeholder::hold(path) {
            self.placeholders.push(held);
        }
        self.keep(path, write);
        Ok(())
    }

    /// Covers what is in a folder that is open for new names. No mount covers a
    /// link.
    fn stay(&mut self, path: &Path, write: &[PathBuf]) {
        match fs::symlink_metadata(path) {
            Ok(about) if about.is_symlink() => self
                .gaps
                .push(format!("{} is a symbolic link, which may be replaced", path.display())),
            Ok(_) if write.iter().any(|tree| path.starts_with(tree)) => {
                self.cover(path, Cover::ReadOnly, write);
            }
            _ => {}
        }
    }

    fn protect(&mut self, path: &Path, write: &[PathBuf]) -> Result<(), SandboxError> {
        let failed = |source| SandboxError::Path { path: path.to_owned(), source };
        let written = |path: &Path| write.iter().any(|tree| path.starts_with(tree));
        if let Ok(real) = fs::canonicalize(path) {
            if real != path && written(path) {
                self.gaps.push(format!(
                    "{} is reached through a symbolic link, which may be replaced",
                    path.display()
                ));
            }
            if written(&real) {
                if let Some(held) = Placeholder::hold(&real) {
                    self.placeholders.push(held);
                }
                self.cover(&real, Cover::ReadOnly, write);
            }
            return Ok(());
        }
        if let Some(above) = Placeholder::hold_above(path) {
            self.cover(above.path(), Cover::ReadOnly, write);
            self.placeholders.push(above);
            return Ok(());
        }
        let Some((parent, missing)) = first_missing(path) else {
            return Ok(());
        };
        let place = parent.join(&missing);
        if !written(&place) {
            return Ok(());
        }
        if fs::symlink_metadata(&place).is_ok_and(|about| about.is_symlink()) {
            self.gaps.push(format!(
                "{} is a symbolic link to nowhere, which may be replaced",
                place.display()
            ));
            return Ok(());
        }
        let kind = if path.ends_with(&missing) { Kind::guess(&missing) } else { Kind::Folder };
        match Placeholder::put(&place, kind) {
            Ok(placeholder) => {
                self.placeholders.push(placeholder);
                self.cover(&place, Cover::ReadOnly, write);
                Ok(())
            }
            Err(error) if cannot_be_made(&error) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                self.gaps.push(format!(
                    "{} cannot be made now, as {} is no folder, but that may be replaced",
                    path.display(),
                    parent.display()
                ));
                Ok(())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Covers `path`, and pins the folders on the way to it that a child could
    /// otherwise rename.
    fn cover(&mut self, path: &Path, cover: Cover, write: &[PathBuf]) {
        for folder in way_to(path, write) {
            self.covers.entry(folder.to_owned()).or_insert(Cover::Pin);
        }
        let entry = self.covers.entry(path.to_owned()).or_insert(cover);
        *entry = (*entry).max(cover);
    }

    /// Drops what an outer cover makes needless.
    fn simplify(&mut self) {
        let all = self.covers.clone();
        self.covers.retain(|path, cover| {
            !path.ancestors().skip(1).any(|folder| match all.get(folder) {
                Some(Cover::Hide) => true,
                Some(Cover::ReadOnly) => *cover != Cover::Hide,
                Some(Cover::Pin) | None => false,
            })
        });
    }
}

impl Kept {
    /// A file that stands for another one.
    fn from_copy(copy: &Path) -> Result<Self, SandboxError> {
        let own = Self::of(copy, Vec::new())?;
        Ok(Self { source: Some(own.path.clone()), ..own })
    }

    fn of(path: &Path, above: Vec<CString>) -> Result<Self, SandboxError> {
        let path_of = |source| SandboxError::Path { path: path.to_owned(), source };
        let about = fs::symlink_metadata(path).map_err(path_of)?;
        let link = match about.is_symlink() {
            true => Some(c_name(&fs::read_link(path).map_err(path_of)?)?),
            false => None,
        };
        let (path, is_folder) = (c_name(path)?, about.is_dir());
        Ok(Self { above, path, source: None, link, is_folder, is_written: false })
    }
}

/// The mount that covers what is at a path now, by how it is to be covered; none
/// if there is nothing.
pub(crate) fn mount(path: &Path, cover: Cover) -> Option<Mount> {
    let real = fs::canonicalize(path).ok()?;
    let is_folder = fs::metadata(&real).ok()?.is_dir();
    let name = c_name(&real).ok()?;
    Some(match cover {
        Cover::Pin => Mount::Pin(name),
        Cover::ReadOnly => Mount::ReadOnly(name),
        Cover::Hide if is_folder => Mount::HideFolder(name),
        Cover::Hide => Mount::HideFile(name),
    })
}

/// The folders on the way to a path that a child could rename, inner ones
/// first.
fn way_to<'a>(path: &'a Path, write: &[PathBuf]) -> impl Iterator<Item = &'a Path> {
    let trees = write.iter().filter(|tree| path.starts_with(tree));
    let outermost = trees.min_by_key(|tree| tree.components().count()).cloned();
    let above = path.ancestors().skip(1);
    // The tree itself cannot be renamed, and what is above it is not the child's.
    above.take_while(move |folder| {
        outermost.as_deref().is_some_and(|tree| tree != *folder && folder.starts_with(tree))
    })
}

/// What this process may not make, its children may not either.
fn cannot_be_made(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

pub(crate) fn c_name(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|error| SandboxError::Path { path: path.to_owned(), source: error.into() })
}

fn real_paths(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

#[cfg(test)]
#[path = "covers_tests.rs"]
mod tests;
