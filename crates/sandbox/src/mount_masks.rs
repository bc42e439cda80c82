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
use crate::path_search::{appeared_secrets, first_missing, holds_socket, readable_disks};
use crate::placeholder::{Placeholder, PlaceholderKind};
use crate::raw::namespace::{
    self, ChildNamespaces, ExposedPath, MAX_EXPOSED_PATHS, MAX_WRITABLE_TREES, MountAction,
    NamespaceError,
};
use crate::raw::network::NetworkHandles;
use crate::redacted_copy::redacted_copy;
use crate::support::namespace_error;
use crate::{SandboxError, private_dir};

/// How a path is covered. A later kind wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MaskKind {
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
pub(crate) struct MountMasks {
    masks: BTreeMap<PathBuf, MaskKind>,
    /// What stays open where all else is sealed, if anything is.
    writable_trees: Option<Vec<PathBuf>>,
    /// The folder of which a child sees no more than its own part, and that.
    private_dir: Option<(PathBuf, Vec<PathBuf>)>,
    /// Folders that are covered as a whole, and what is laid over that.
    partial_dirs: Vec<(PathBuf, Vec<PathBuf>)>,
    /// The sockets of others.
    sockets: Vec<PathBuf>,
    /// The folders on the way to them. One that is renamed would take its
    /// sockets along to where nobody looks for them.
    pinned_parents: BTreeSet<PathBuf>,
    /// The folder of memory that programs share by a name, and that of queues.
    shared_memory_dir: Option<PathBuf>,
    message_queue_dir: Option<PathBuf>,
    /// Directories whose changes go elsewhere.
    overlays: Vec<PreparedOverlay>,
    /// Files, and the copies that are shown in their places.
    redacted: Vec<(PathBuf, PathBuf)>,
    /// What stands for protected paths that are not there yet.
    pub(crate) placeholders: Vec<Placeholder>,
    /// Whether some of it has to be covered, and nothing runs without.
    is_required: bool,
    /// What cannot be covered.
    pub(crate) gaps: Vec<String>,
}

/// Where the disks are.
pub(crate) const DEVICE_DIR: &str = "/dev";

/// Where programs share memory by a name: a file each.
const SHARED_MEMORY_DIR: &str = "/dev/shm";
/// Where the queues of all programs can be seen, and opened.
const MESSAGE_QUEUE_DIR: &str = "/dev/mqueue";

/// What a process has to say about itself.
const PROC_DIR: &str = "/proc";

/// Where git keeps a repository, in the folder that it is of.
const GIT_DIR: &str = ".git";

impl MountMasks {
    /// Finds what must be covered, and puts placeholders where there is
    /// nothing to cover yet. `sockets` tells whether hidden sockets outside of
    /// the allowed trees need a cover because Landlock lets children connect.
    pub(crate) fn plan(confinement: &Confinement, sockets: bool) -> Result<Self, SandboxError> {
        let mut found = Self::default();
        let write: Vec<PathBuf> = real_paths(&confinement.write);
        let mut allowed: Vec<PathBuf> = real_paths(&confinement.read);
        allowed.extend(write.iter().cloned());

        for folder in &confinement.partial_dirs {
            found.mask_partial_dir(folder, &write, &allowed);
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
            if !found.is_in_partial_dir(&real) && !found.is_overlaid(&real) {
                found.hide(path, &write, &allowed, sockets);
            }
        }
        for path in appeared_secrets(&confinement.pending_secrets) {
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
            found.freeze(path, &write);
        }
        if allowed.iter().any(|tree| Path::new(DEVICE_DIR).starts_with(tree)) {
            for device in readable_disks() {
                found.add_mask(&device, MaskKind::Hide, &write);
            }
        }
        found.is_required = !found.masks.is_empty() || !found.partial_dirs.is_empty();
        // Inner ones first, as the outer ones take them along.
        found.partial_dirs.sort_by_key(|(folder, _)| Reverse(folder.components().count()));
        for path in &confinement.frozen_nested {
            found.freeze_nested(path, &write);
        }
        for path in &confinement.masked_missing {
            found.mask_missing(path, &write)?;
        }
        found.simplify();
        if let Ok(den) = private_dir() {
            found.mask_private_dir(&den, &write, &allowed);
        }
        found.isolate_ipc_dirs(&write, &allowed);
        found.seal_read_only(if confinement.read_only.iter().any(|it| is_root(&it)) {
            Vec::new()
        } else {
            write
        });
        Ok(found)
    }

    /// Closes all but the trees that may be written: the mode, the owner and
    /// the times of a file are open to whoever has it, whatever Landlock says.
    fn seal_read_only(&mut self, mut write: Vec<PathBuf>) {
        if write.iter().any(|tree| tree.parent().is_none()) {
            return;
        }
        write.extend(Path::new(PROC_DIR).is_dir().then(|| PathBuf::from(PROC_DIR)));
        write.sort();
        write.dedup_by(|tree, before| tree.starts_with(before));
        if write.len() > MAX_WRITABLE_TREES {
            self.gaps.push(format!(
                "modes and times of files elsewhere (more than {MAX_WRITABLE_TREES} trees may be written)"
            ));
            return;
        }
        self.writable_trees = Some(write);
    }

    /// Covers the sockets of others, too, and keeps them in their places.
    pub(crate) fn mask_sockets(&mut self, sockets: Vec<PathBuf>, confinement: &Confinement) {
        let covered = |path: &PathBuf| {
            let den = self.private_dir.iter().chain(&self.partial_dirs).map(|(den, _)| den);
            let hidden = self.masks.iter().filter(|(_, cover)| **cover == MaskKind::Hide);
            den.chain(hidden.map(|(path, _)| path)).any(|folder| path.starts_with(folder))
        };
        self.sockets = sockets.into_iter().filter(|path| !covered(path)).collect();
        let write = real_paths(&confinement.write);
        let held = |folder: &Path| matches!(self.masks.get(folder), Some(MaskKind::ReadOnly));
        for path in self.sockets.iter().filter(|path| !path.ancestors().any(held)) {
            self.pinned_parents.extend(renamable_parents(path, &write).map(Path::to_owned));
        }
    }

    /// Parts the memory and the queues of children from those of others. A
    /// tree in there that is allowed by name is meant to be seen, and where
    /// everything may be written, these may.
    fn isolate_ipc_dirs(&mut self, write: &[PathBuf], allowed: &[PathBuf]) {
        let of_others = |place: &str| {
            let real = fs::canonicalize(place).ok().filter(|real| real.is_dir())?;
            let is_meant = allowed.iter().any(|tree| tree.starts_with(&real))
                || write.iter().any(|tree| real.starts_with(tree));
            (!is_meant).then_some(real)
        };
        self.shared_memory_dir = of_others(SHARED_MEMORY_DIR);
        self.message_queue_dir = of_others(MESSAGE_QUEUE_DIR);
    }

    fn mask_private_dir(&mut self, den: &Path, write: &[PathBuf], allowed: &[PathBuf]) {
        let hidden = |path: &&Path| self.masks.get(*path) == Some(&MaskKind::Hide);
        let reachable = allowed.iter().any(|tree| den.starts_with(tree) || tree.starts_with(den));
        if !reachable || den.ancestors().any(|path| hidden(&path)) {
            return;
        }
        let own = write.iter().filter(|tree| tree.starts_with(den) && *tree != den);
        self.private_dir = Some((den.to_owned(), own.take(MAX_EXPOSED_PATHS).cloned().collect()));
    }

    /// Covers a folder but for what is open of it. Unlike the cover of a file,
    /// this one stays whatever becomes of what is in it.
    fn mask_partial_dir(&mut self, enclosed: &PartialDir, write: &[PathBuf], allowed: &[PathBuf]) {
        let Ok(folder) = fs::canonicalize(&enclosed.folder) else { return };
        if !allowed.iter().any(|tree| folder.starts_with(tree) || tree.starts_with(&folder)) {
            return;
        }
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let is_in = |path: &&PathBuf| path.parent() == Some(&enclosed.folder) && is_there(path);
        let open = enclosed.open.iter().filter(is_in).filter_map(|path| path.file_name());
        if enclosed.open.len() > MAX_EXPOSED_PATHS {
            self.gaps.push(format!(
                "{} has more than {MAX_EXPOSED_PATHS} entries, of which a child sees the first ones only",
                folder.display()
            ));
        }
        let open = open.take(MAX_EXPOSED_PATHS).map(|name| folder.join(name)).collect();
        for above in renamable_parents(&folder, write) {
            self.masks.entry(above.to_owned()).or_insert(MaskKind::Pin);
        }
        self.partial_dirs.push((folder, open));
    }

    /// Whether a path is covered with the folder that it is in.
    fn is_in_partial_dir(&self, path: &Path) -> bool {
        self.partial_dirs.iter().any(|(folder, open)| {
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
        space: Option<&NetworkHandles>,
        is_reduced: bool,
    ) -> Result<Option<ChildNamespaces>, SandboxError> {
        loop {
            let failure = match namespace::build(&self.mounts()?, space) {
                Ok(made) => return Ok(Some(made)),
                Err(failure) => failure,
            };
            match failure {
                NamespaceError::Refused(_) if is_reduced || !self.is_required => {
                    self.drop_masks();
                    return Ok(None);
                }
                // One file system cannot be the upper layer of an overlay, or
                // the kernel has none: the rest is done without.
                NamespaceError::Path(path, error) if self.is_overlay(&path) => {
                    self.gaps.push(overlay_gap(&path, &error));
                    self.overlays.retain(|overlay| overlay.target != path);
                }
                failure => return Err(namespace_error(failure)),
            }
        }
    }

    fn is_overlay(&self, path: &Path) -> bool {
        self.overlays.iter().any(|overlay| overlay.target == path)
    }

    /// What is covered, by how.
    pub(crate) fn masks(&self) -> &BTreeMap<PathBuf, MaskKind> {
        &self.masks
    }

    /// There is no namespace: what else was to be covered is open.
    pub(crate) fn drop_masks(&mut self) {
        self.placeholders.clear();
        for path in std::mem::take(&mut self.masks).into_keys() {
            self.gaps.push(format!("{} (user namespaces are needed)", path.display()));
        }
    }

    /// The covered paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.masks.keys().map(PathBuf::as_path)
    }

    /// The mounts, outer ones first.
    pub(crate) fn mounts(&self) -> Result<Vec<MountAction>, SandboxError> {
        let mut mounts = Vec::new();
        if let Some(open) = &self.writable_trees {
            let stores = self.overlays.iter().map(|overlay| &overlay.store);
            let open = open.iter().chain(stores).map(|it| c_path(it));
            mounts.push(MountAction::Seal(open.collect::<Result<_, _>>()?));
        }
        for overlay in &self.overlays {
            mounts.push(MountAction::Overlay(overlay.plan()?));
            for (file, copy) in &self.redacted {
                if let Ok(below) = file.strip_prefix(&overlay.target) {
                    let place = overlay.staging.join(below);
                    mounts.push(MountAction::Bind(c_path(copy)?, c_path(&place)?));
                }
            }
        }
        let mut covers = self.masks.clone();
        for folder in &self.pinned_parents {
            covers.entry(folder.clone()).or_insert(MaskKind::Pin);
        }
        for (path, cover) in &covers {
            let failed = |source| SandboxError::Path { path: path.clone(), source };
            let name = c_path(path)?;
            mounts.push(match cover {
                MaskKind::Pin => MountAction::Pin(name),
                MaskKind::ReadOnly => MountAction::ReadOnly(name),
                MaskKind::Hide if fs::metadata(path).map_err(failed)?.is_dir() => {
                    MountAction::HideDirectory(name)
                }
                MaskKind::Hide => MountAction::HideFile(name),
            });
        }
        // With what is kept come its covers, also where a link leads out.
        for (folder, open) in &self.partial_dirs {
            let own = |overlay: &&PreparedOverlay| overlay.target.parent() == Some(folder);
            let plain = open.iter().filter(|path| !self.is_overlay(path));
            let mut kept: Vec<ExposedPath> = plain
                .map(|path| ExposedPath::from_path(path, Vec::new()))
                .collect::<Result<_, _>>()?;
            for overlay in self.overlays.iter().filter(own) {
                kept.push(overlay.exposed_path()?);
            }
            for (file, copy) in self.redacted.iter().filter(|(it, _)| it.parent() == Some(folder)) {
                kept.push(ExposedPath { path: c_path(file)?, ..ExposedPath::from_copy(copy)? });
            }
            kept.truncate(MAX_EXPOSED_PATHS);
            mounts.push(MountAction::PartialDirectory(c_path(folder)?, kept));
        }
        let is_view = |folder: &Path| self.partial_dirs.iter().any(|(own, _)| own == folder);
        for overlay in &self.overlays {
            if !overlay.target.parent().is_some_and(is_view) && overlay.target.is_dir() {
                mounts.push(MountAction::Bind(c_path(&overlay.staging)?, c_path(&overlay.target)?));
            }
        }
        if let Some((den, own)) = &self.private_dir {
            let mut kept = Vec::new();
            for path in own {
                let mut above: Vec<&Path> =
                    path.ancestors().skip(1).take_while(|folder| *folder != den).collect();
                above.reverse();
                let above = above.into_iter().map(c_path).collect::<Result<_, _>>()?;
                kept.push(ExposedPath {
                    is_writable: true,
                    ..ExposedPath::from_path(path, above)?
                });
            }
            mounts.push(MountAction::PartialDirectory(c_path(den)?, kept));
        }
        if let Some(path) = &self.shared_memory_dir {
            mounts.push(MountAction::FreshTmpfs(c_path(path)?));
        }
        if let Some(path) = &self.message_queue_dir {
            mounts.push(MountAction::HideDirectory(c_path(path)?));
        }
        for path in &self.sockets {
            mounts.push(MountAction::HideSocket(c_path(path)?));
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
                    self.add_mask(&real, MaskKind::Hide, write);
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
    fn freeze_nested(&mut self, path: &Path, write: &[PathBuf]) {
        let Ok(real) = fs::canonicalize(path) else { return };
        if !write.iter().any(|tree| real.starts_with(tree)) {
            return;
        }
        let is_of_repository = |folder: &&Path| folder.iter().any(|name| name == GIT_DIR);
        for folder in real.ancestors().skip(1).take_while(is_of_repository) {
            self.masks.entry(folder.to_owned()).or_insert(MaskKind::Pin);
        }
        let entry = self.masks.entry(real).or_insert(MaskKind::ReadOnly);
        *entry = (*entry).max(MaskKind::ReadOnly);
    }

    /// Puts a placeholder where nothing is to be made.
    fn mask_missing(&mut self, path: &Path, write: &[PathBuf]) -> Result<(), SandboxError> {
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
            match Placeholder::create(&place, PlaceholderKind::guess(Path::new(name))) {
                Ok(placeholder) => self.placeholders.push(placeholder),
                Err(error) if is_creation_denied(&error) => return Ok(()),
                Err(source) => return Err(SandboxError::Path { path: place, source }),
            }
        } else if let Some(held) = Placeholder::adopt(path) {
            self.placeholders.push(held);
        }
        self.freeze_nested(path, write);
        Ok(())
    }

    /// Covers what is in a folder that is open for new names. No mount covers a
    /// link.
    fn freeze(&mut self, path: &Path, write: &[PathBuf]) {
        match fs::symlink_metadata(path) {
            Ok(about) if about.is_symlink() => self
                .gaps
                .push(format!("{} is a symbolic link, which may be replaced", path.display())),
            Ok(_) if write.iter().any(|tree| path.starts_with(tree)) => {
                self.add_mask(path, MaskKind::ReadOnly, write);
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
                if let Some(held) = Placeholder::adopt(&real) {
                    self.placeholders.push(held);
                }
                self.add_mask(&real, MaskKind::ReadOnly, write);
            }
            return Ok(());
        }
        if let Some(above) = Placeholder::adopt_ancestor(path) {
            self.add_mask(above.path(), MaskKind::ReadOnly, write);
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
        let kind = if path.ends_with(&missing) {
            PlaceholderKind::guess(&missing)
        } else {
            PlaceholderKind::Directory
        };
        match Placeholder::create(&place, kind) {
            Ok(placeholder) => {
                self.placeholders.push(placeholder);
                self.add_mask(&place, MaskKind::ReadOnly, write);
                Ok(())
            }
            Err(error) if is_creation_denied(&error) => Ok(()),
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
    fn add_mask(&mut self, path: &Path, cover: MaskKind, write: &[PathBuf]) {
        for folder in renamable_parents(path, write) {
            self.masks.entry(folder.to_owned()).or_insert(MaskKind::Pin);
        }
        let entry = self.masks.entry(path.to_owned()).or_insert(cover);
        *entry = (*entry).max(cover);
    }

    /// Drops what an outer cover makes needless.
    fn simplify(&mut self) {
        let all = self.masks.clone();
        self.masks.retain(|path, cover| {
            !path.ancestors().skip(1).any(|folder| match all.get(folder) {
                Some(MaskKind::Hide) => true,
                Some(MaskKind::ReadOnly) => *cover != MaskKind::Hide,
                Some(MaskKind::Pin) | None => false,
            })
        });
    }
}

impl ExposedPath {
    /// A file that stands for another one.
    fn from_copy(copy: &Path) -> Result<Self, SandboxError> {
        let own = Self::from_path(copy, Vec::new())?;
        Ok(Self { source: Some(own.path.clone()), ..own })
    }

    fn from_path(path: &Path, above: Vec<CString>) -> Result<Self, SandboxError> {
        let path_of = |source| SandboxError::Path { path: path.to_owned(), source };
        let about = fs::symlink_metadata(path).map_err(path_of)?;
        let link = match about.is_symlink() {
            true => Some(c_path(&fs::read_link(path).map_err(path_of)?)?),
            false => None,
        };
        let (path, is_folder) = (c_path(path)?, about.is_dir());
        Ok(Self {
            parents: above,
            path,
            source: None,
            link,
            is_directory: is_folder,
            is_writable: false,
        })
    }
}

/// The mount that covers what is at a path now, by how it is to be covered; none
/// if there is nothing.
pub(crate) fn mask_mount(path: &Path, cover: MaskKind) -> Option<MountAction> {
    let real = fs::canonicalize(path).ok()?;
    let is_folder = fs::metadata(&real).ok()?.is_dir();
    let name = c_path(&real).ok()?;
    Some(match cover {
        MaskKind::Pin => MountAction::Pin(name),
        MaskKind::ReadOnly => MountAction::ReadOnly(name),
        MaskKind::Hide if is_folder => MountAction::HideDirectory(name),
        MaskKind::Hide => MountAction::HideFile(name),
    })
}

/// The folders on the way to a path that a child could rename, inner ones
/// first.
fn renamable_parents<'a>(path: &'a Path, write: &[PathBuf]) -> impl Iterator<Item = &'a Path> {
    let trees = write.iter().filter(|tree| path.starts_with(tree));
    let outermost = trees.min_by_key(|tree| tree.components().count()).cloned();
    let above = path.ancestors().skip(1);
    // The tree itself cannot be renamed, and what is above it is not the child's.
    above.take_while(move |folder| {
        outermost.as_deref().is_some_and(|tree| tree != *folder && folder.starts_with(tree))
    })
}

/// What this process may not make, its children may not either.
fn is_creation_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

pub(crate) fn c_path(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|error| SandboxError::Path { path: path.to_owned(), source: error.into() })
}

fn real_paths(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

#[cfg(test)]
#[path = "mount_masks_tests.rs"]
mod tests;
