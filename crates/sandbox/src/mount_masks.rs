//! Plans which paths the mount namespace must mask, and how. Landlock only
//! allows whole trees; exceptions within an allowed tree are masked here.

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

/// How a path is masked. A later kind overrides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MaskKind {
    /// Cannot be renamed. Renaming a parent directory of a masked path would
    /// make room for a new one without the mask.
    Pin,
    /// Can be read but not written.
    ReadOnly,
    /// Can be neither read nor written.
    Hide,
}

/// The masks of a confinement.
#[derive(Debug, Default)]
pub(crate) struct MountMasks {
    masks: BTreeMap<PathBuf, MaskKind>,
    /// Trees that stay writable while everything else is read-only, if it is.
    writable_trees: Option<Vec<PathBuf>>,
    /// The private directory, and the parts of it that the child may see.
    private_dir: Option<(PathBuf, Vec<PathBuf>)>,
    /// Directories that are masked as a whole, and the paths exposed in them.
    partial_dirs: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Sockets of other programs.
    sockets: Vec<PathBuf>,
    /// Parent directories of the sockets. Renaming one would move its sockets
    /// to where no scan looks for them.
    pinned_parents: BTreeSet<PathBuf>,
    /// Directories of POSIX shared memory and message queues.
    shared_memory_dir: Option<PathBuf>,
    message_queue_dir: Option<PathBuf>,
    /// Directories whose changes go to an upper layer.
    overlays: Vec<PreparedOverlay>,
    /// Files, and the redacted copies shown in their place.
    redacted: Vec<(PathBuf, PathBuf)>,
    /// Placeholders for protected paths that do not exist yet.
    pub(crate) placeholders: Vec<Placeholder>,
    /// Whether some masks are mandatory, so nothing runs without them.
    is_required: bool,
    /// What cannot be masked.
    pub(crate) gaps: Vec<String>,
}

/// Directory of the disk devices.
pub(crate) const DEVICE_DIR: &str = "/dev";

/// Directory of POSIX shared memory, one file per segment.
const SHARED_MEMORY_DIR: &str = "/dev/shm";
/// Directory in which the message queues of all programs can be listed and
/// opened.
const MESSAGE_QUEUE_DIR: &str = "/dev/mqueue";

/// The proc file system.
const PROC_DIR: &str = "/proc";

/// Name of the git directory of a repository.
const GIT_DIR: &str = ".git";

impl MountMasks {
    /// Finds what must be masked, and creates placeholders for what does not
    /// exist yet. With `sockets`, hidden sockets outside of the allowed trees
    /// are masked as well, because Landlock lets children connect to them.
    pub(crate) fn plan(confinement: &Confinement, sockets: bool) -> Result<Self, SandboxError> {
        let mut found = Self::default();
        let write: Vec<PathBuf> = real_paths(&confinement.write);
        let mut allowed: Vec<PathBuf> = real_paths(&confinement.read);
        allowed.extend(write.iter().cloned());

        for dir in &confinement.partial_dirs {
            found.mask_partial_dir(dir, &write, &allowed);
        }
        for file in confinement.redacted.iter().filter(|file| file.is_file()) {
            // A file that cannot be redacted stays hidden.
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
        // A mask on the root would mask everything else as well.
        let is_root = |path: &&PathBuf| path.parent().is_none();
        if let Some(path) = confinement.hidden.iter().find(is_root) {
            let source = io::Error::other("the root directory is hidden, so nothing can run");
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
        // Inner directories first: mounting an outer one carries them along.
        found.partial_dirs.sort_by_key(|(dir, _)| Reverse(dir.components().count()));
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

    /// Makes everything but the writable trees read-only: Landlock does not
    /// restrict changes of mode, owner and times.
    fn seal_read_only(&mut self, mut write: Vec<PathBuf>) {
        if write.iter().any(|tree| tree.parent().is_none()) {
            return;
        }
        write.extend(Path::new(PROC_DIR).is_dir().then(|| PathBuf::from(PROC_DIR)));
        write.sort();
        write.dedup_by(|tree, before| tree.starts_with(before));
        if write.len() > MAX_WRITABLE_TREES {
            self.gaps.push(format!(
                "modes and times of files elsewhere (more than {MAX_WRITABLE_TREES} writable \
                 trees)"
            ));
            return;
        }
        self.writable_trees = Some(write);
    }

    /// Masks the sockets of other programs, and pins their parent directories.
    pub(crate) fn mask_sockets(&mut self, sockets: Vec<PathBuf>, confinement: &Confinement) {
        let covered = |path: &PathBuf| {
            let den = self.private_dir.iter().chain(&self.partial_dirs).map(|(den, _)| den);
            let hidden = self.masks.iter().filter(|(_, cover)| **cover == MaskKind::Hide);
            den.chain(hidden.map(|(path, _)| path)).any(|dir| path.starts_with(dir))
        };
        self.sockets = sockets.into_iter().filter(|path| !covered(path)).collect();
        let write = real_paths(&confinement.write);
        let held = |dir: &Path| matches!(self.masks.get(dir), Some(MaskKind::ReadOnly));
        for path in self.sockets.iter().filter(|path| !path.ancestors().any(held)) {
            self.pinned_parents.extend(renamable_parents(path, &write).map(Path::to_owned));
        }
    }

    /// Isolates the shared memory and message queues of children. A tree in
    /// these directories that is allowed by name stays visible; if everything
    /// is writable, they stay unchanged.
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

    /// Masks a directory except for what is exposed in it. Unlike the mask of a
    /// file, this one survives when entries are replaced.
    fn mask_partial_dir(&mut self, enclosed: &PartialDir, write: &[PathBuf], allowed: &[PathBuf]) {
        let Ok(dir) = fs::canonicalize(&enclosed.dir) else { return };
        if !allowed.iter().any(|tree| dir.starts_with(tree) || tree.starts_with(&dir)) {
            return;
        }
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let is_in = |path: &&PathBuf| path.parent() == Some(&enclosed.dir) && is_there(path);
        let open = enclosed.open.iter().filter(is_in).filter_map(|path| path.file_name());
        if enclosed.open.len() > MAX_EXPOSED_PATHS {
            self.gaps.push(format!(
                "{} has more than {MAX_EXPOSED_PATHS} entries; children see only the first ones",
                dir.display()
            ));
        }
        let open = open.take(MAX_EXPOSED_PATHS).map(|name| dir.join(name)).collect();
        for above in renamable_parents(&dir, write) {
            self.masks.entry(above.to_owned()).or_insert(MaskKind::Pin);
        }
        self.partial_dirs.push((dir, open));
    }

    /// Whether the mask of a partial directory covers a path.
    fn is_in_partial_dir(&self, path: &Path) -> bool {
        self.partial_dirs.iter().any(|(dir, open)| {
            path.starts_with(dir) && !open.iter().any(|open| path.starts_with(open))
        })
    }

    /// Whether a path is in a directory that has an overlay.
    fn is_overlaid(&self, path: &Path) -> bool {
        self.overlays.iter().any(|overlay| path.starts_with(&overlay.target))
    }

    /// Creates the namespaces. What the system refuses and is optional is
    /// dropped and added to the gaps; if the confinement accepts reduced
    /// enforcement, this holds for all masks.
    pub(crate) fn build(
        &mut self,
        handles: Option<&NetworkHandles>,
        is_reduced: bool,
    ) -> Result<Option<ChildNamespaces>, SandboxError> {
        loop {
            let failure = match namespace::build(&self.mounts()?, handles) {
                Ok(made) => return Ok(Some(made)),
                Err(failure) => failure,
            };
            match failure {
                NamespaceError::Refused(_) if is_reduced || !self.is_required => {
                    self.drop_masks();
                    return Ok(None);
                }
                // The file system cannot be the upper layer of an overlay, or
                // the kernel lacks overlays: continue without this one.
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

    /// Returns the masked paths with the kind of mask.
    pub(crate) fn masks(&self) -> &BTreeMap<PathBuf, MaskKind> {
        &self.masks
    }

    /// Drops all masks for lack of a namespace, and records them as gaps.
    pub(crate) fn drop_masks(&mut self) {
        self.placeholders.clear();
        for path in std::mem::take(&mut self.masks).into_keys() {
            self.gaps.push(format!("{} (requires user namespaces)", path.display()));
        }
    }

    /// Returns the masked paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.masks.keys().map(PathBuf::as_path)
    }

    /// Returns the mounts, outer ones first.
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
        for dir in &self.pinned_parents {
            covers.entry(dir.clone()).or_insert(MaskKind::Pin);
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
        // Exposed paths carry their masks along, even where a symlink leads
        // out.
        for (dir, open) in &self.partial_dirs {
            let own = |overlay: &&PreparedOverlay| overlay.target.parent() == Some(dir);
            let plain = open.iter().filter(|path| !self.is_overlay(path));
            let mut kept: Vec<ExposedPath> = plain
                .map(|path| ExposedPath::from_path(path, Vec::new()))
                .collect::<Result<_, _>>()?;
            for overlay in self.overlays.iter().filter(own) {
                kept.push(overlay.exposed_path()?);
            }
            for (file, copy) in self.redacted.iter().filter(|(it, _)| it.parent() == Some(dir)) {
                kept.push(ExposedPath { path: c_path(file)?, ..ExposedPath::from_copy(copy)? });
            }
            kept.truncate(MAX_EXPOSED_PATHS);
            mounts.push(MountAction::PartialDirectory(c_path(dir)?, kept));
        }
        let is_view = |dir: &Path| self.partial_dirs.iter().any(|(own, _)| own == dir);
        for overlay in &self.overlays {
            if !overlay.target.parent().is_some_and(is_view) && overlay.target.is_dir() {
                mounts.push(MountAction::Bind(c_path(&overlay.staging)?, c_path(&overlay.target)?));
            }
        }
        if let Some((den, own)) = &self.private_dir {
            let mut kept = Vec::new();
            for path in own {
                let mut above: Vec<&Path> =
                    path.ancestors().skip(1).take_while(|dir| *dir != den).collect();
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
                // Hiding a tree also hides an allowed tree inside it.
                let reachable =
                    allowed.iter().any(|tree| real.starts_with(tree) || tree.starts_with(&real));
                if reachable || (sockets && holds_socket(&real)) {
                    self.add_mask(&real, MaskKind::Hide, write);
                }
            }
            // Checked again before every spawn.
            Err(_) if write.iter().any(|tree| path.starts_with(tree)) => {
                self.gaps.push(format!("{} does not exist yet and can be created", path.display()));
            }
            Err(_) => {}
        }
    }

    /// Masks an existing path without pinning its parents, except within the
    /// repository itself: the directory of the repository may be moved along
    /// with it, but its git directory cannot be replaced.
    fn freeze_nested(&mut self, path: &Path, write: &[PathBuf]) {
        let Ok(real) = fs::canonicalize(path) else { return };
        if !write.iter().any(|tree| real.starts_with(tree)) {
            return;
        }
        let is_of_repository = |dir: &&Path| dir.iter().any(|name| name == GIT_DIR);
        for dir in real.ancestors().skip(1).take_while(is_of_repository) {
            self.masks.entry(dir.to_owned()).or_insert(MaskKind::Pin);
        }
        let entry = self.masks.entry(real).or_insert(MaskKind::ReadOnly);
        *entry = (*entry).max(MaskKind::ReadOnly);
    }

    /// Creates a placeholder for a path that must not be created.
    fn mask_missing(&mut self, path: &Path, write: &[PathBuf]) -> Result<(), SandboxError> {
        let is_written = |path: &Path| write.iter().any(|tree| path.starts_with(tree));
        if fs::symlink_metadata(path).is_err() {
            let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(());
            };
            let Ok(place) = fs::canonicalize(dir).map(|dir| dir.join(name)) else {
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

    /// Masks what is in a directory that is open for new names. No mount masks
    /// a symlink.
    fn freeze(&mut self, path: &Path, write: &[PathBuf]) {
        match fs::symlink_metadata(path) {
            Ok(about) if about.is_symlink() => {
                self.gaps.push(format!("{} is a symlink and can be replaced", path.display()))
            }
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
                    "{} is reached through a symlink, which can be replaced",
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
            self.gaps
                .push(format!("{} is a dangling symlink and can be replaced", place.display()));
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
                    "{} cannot be created because {} is not a directory, but that can be replaced",
                    path.display(),
                    parent.display()
                ));
                Ok(())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Masks `path`, and pins the parent directories that a child could
    /// otherwise rename.
    fn add_mask(&mut self, path: &Path, cover: MaskKind, write: &[PathBuf]) {
        for dir in renamable_parents(path, write) {
            self.masks.entry(dir.to_owned()).or_insert(MaskKind::Pin);
        }
        let entry = self.masks.entry(path.to_owned()).or_insert(cover);
        *entry = (*entry).max(cover);
    }

    /// Drops masks that an outer mask makes redundant.
    fn simplify(&mut self) {
        let all = self.masks.clone();
        self.masks.retain(|path, cover| {
            !path.ancestors().skip(1).any(|dir| match all.get(dir) {
                Some(MaskKind::Hide) => true,
                Some(MaskKind::ReadOnly) => *cover != MaskKind::Hide,
                Some(MaskKind::Pin) | None => false,
            })
        });
    }
}

impl ExposedPath {
    /// Returns the exposed path of a redacted copy.
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

/// Returns the mount that masks what currently exists at a path, or `None` if
/// nothing does.
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

/// Returns the parent directories of a path that a child could rename, inner
/// ones first.
fn renamable_parents<'a>(path: &'a Path, write: &[PathBuf]) -> impl Iterator<Item = &'a Path> {
    let trees = write.iter().filter(|tree| path.starts_with(tree));
    let outermost = trees.min_by_key(|tree| tree.components().count()).cloned();
    let above = path.ancestors().skip(1);
    // The tree itself cannot be renamed, and its parents are out of the child's
    // reach.
    above.take_while(move |dir| {
        outermost.as_deref().is_some_and(|tree| tree != *dir && dir.starts_with(tree))
    })
}

/// Whether this process, and so its children, may not create the path.
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
