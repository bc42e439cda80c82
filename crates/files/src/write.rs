//! Atomic file writes, appends, renames and directory creation.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use hermes_core::{Scope, ToolError};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::access::FileAccess;
use crate::attributes::{AttributeSource, LostAttributes};
use crate::error_text::{explain_error, explain_path_error};
use crate::locate::LinkMode;
use crate::metadata::{FileKind, FileMetadata};
use crate::open::AnchoredName;
use crate::scratch::sweep_scratch;
use crate::temp_file::{TempFile, move_entry, sync_dir};

/// Mode of a new file, before the umask.
const DEFAULT_FILE_MODE: u32 = 0o666;
/// Mode of a temporary file that later takes over another file's mode.
pub(crate) const PRIVATE_FILE_MODE: u32 = 0o600;
/// Mode bits that a replacement keeps. Set-user-ID and set-group-ID are
/// dropped, as the kernel does on an in-place write.
const KEPT_MODE_BITS: u32 = 0o1777;

/// What to do when the target exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExistingFile {
    /// Replaces the target.
    #[default]
    Replace,
    /// Leaves the target unchanged and fails.
    Refuse,
}

/// Permission bits of a written file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WritePermissions {
    /// Those of the replaced file; the default mode for a new file.
    #[default]
    Keep,
    /// These.
    Set(u32),
}

/// Options of a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// What to do when the target exists.
    pub existing: ExistingFile,
    /// Permission bits of the written file.
    pub permissions: WritePermissions,
    /// Whether to create missing parent directories. They remain if the write
    /// fails.
    pub make_parents: bool,
}

impl FileAccess<'_> {
    /// Writes a whole file atomically: readers see the old content or the new,
    /// and a full disk or a crash leaves the old.
    ///
    /// Keeps the file's mode, except for the set-user-ID and set-group-ID bits,
    /// and where the system permits also the owner, access control lists and
    /// other attributes. A file with several hard links is replaced under this
    /// name only; the other names keep the old content. Directories, devices,
    /// pipes and read-only files are refused.
    ///
    /// A power failure leaves the old content or the new. A new file is durable
    /// once this returns.
    pub fn write(&self, path: &Path, bytes: &[u8], mode: WriteOptions) -> Result<(), ToolError> {
        self.write_with(path, mode, |file| file.write_all(bytes))
    }

    /// Like [`Self::write`], with content produced by a callback.
    pub fn write_with(
        &self,
        path: &Path,
        mode: WriteOptions,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), ToolError> {
        let spot = if mode.make_parents {
            let place = self.locate("write", &Scope::FILE_WRITE, path, LinkMode::Follow)?;
            AnchoredName::resolve_creating(&place, self.walk())
                .map_err(|error| explain_path_error("write", path, &error))?
        } else {
            self.anchor("write", &Scope::FILE_WRITE, path, LinkMode::Follow)?
        };
        replace(&spot, mode, fill).map_err(|error| explain_path_error("write", path, &error))
    }

    /// Appends to a file in place, or creates it. Refuses a file with several
    /// hard links, since the other names may be anywhere. If the disk is full,
    /// truncates the file to its previous length.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        let failed = |error: io::Error| explain_path_error("append to", path, &error);
        let spot = self.anchor("append to", &Scope::FILE_WRITE, path, LinkMode::Follow)?;
        if spot.metadata_if_exists().map_err(failed)?.is_none() {
            let mode = WriteOptions { existing: ExistingFile::Refuse, ..WriteOptions::default() };
            return replace(&spot, mode, |file| file.write_all(bytes)).map_err(failed);
        }
        let mut file = spot.open(OFlags::WRONLY | OFlags::APPEND).map_err(failed)?;
        let before = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
        let before = FileMetadata::from_stat(&before);
        if before.identity.links > 1 {
            return Err(ToolError::denied(format!(
                "{} has other names (hard links), which an append would change as well",
                path.display()
            ))
            .with_hint("Write the whole file instead: the other names then keep their content."));
        }
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| {
            // Only if no other process has appended in the meantime.
            let most = before.len.saturating_add(bytes.len() as u64);
            if file.metadata().is_ok_and(|now| now.len() <= most) {
                let _ = file.set_len(before.len);
            }
            failed(error)
        })
    }

    /// Creates a directory.
    pub fn create_dir(&self, path: &Path) -> Result<(), ToolError> {
        let spot = self.anchor("create", &Scope::FILE_WRITE, path, LinkMode::Follow)?;
        make_dir(&spot).map_err(|error| explain_path_error("create", path, &error))
    }

    /// Creates a directory and its missing parents. It may already exist.
    pub fn create_dir_all(&self, path: &Path) -> Result<(), ToolError> {
        let place = self.locate("create", &Scope::FILE_WRITE, path, LinkMode::Follow)?;
        let made = AnchoredName::resolve_creating(&place, self.walk()).and_then(|spot| {
            match make_dir(&spot) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    spot.metadata()?.require_kind(FileKind::Directory)
                }
                made => made,
            }
        });
        made.map_err(|error| explain_path_error("create", path, &error))
    }

    /// Renames a file or directory. A symlink at `from` is moved itself; one at
    /// `to` is followed, and its target is replaced if `existing` allows.
    pub fn rename(&self, from: &Path, to: &Path, existing: ExistingFile) -> Result<(), ToolError> {
        let source = self.anchor("move", &Scope::FILE_DELETE, from, LinkMode::NoFollow)?;
        let target = self.anchor("move to", &Scope::FILE_WRITE, to, LinkMode::Follow)?;
        let found = source.metadata().map_err(|error| explain_path_error("move", from, &error))?;
        if found.kind == FileKind::Device {
            let refused = found.require_kind(FileKind::File).err();
            return Err(explain_error(
                "move",
                from,
                &refused.unwrap_or_else(|| Errno::INVAL.into()),
            ));
        }
        let move_it = || {
            if let Some(there) = target.metadata_if_exists()? {
                let wanted = if found.kind == FileKind::Directory {
                    FileKind::Directory
                } else {
                    FileKind::File
                };
                if existing == ExistingFile::Refuse {
                    return Err(Errno::EXIST.into());
                }
                there.require_kind(wanted)?;
            }
            move_entry(&source.dir, &source.name, &target.dir, &target.name, existing)
        };
        move_it().map_err(|error| explain_path_error("move to", to, &error))?;
        sync_dir(&target);
        sync_dir(&source);
        Ok(())
    }
}

fn make_dir(spot: &AnchoredName) -> io::Result<()> {
    let usual = rustix::fs::Mode::from_raw_mode(0o777);
    Ok(rustix::fs::mkdirat(&spot.dir, &spot.name, usual)?)
}

fn replace(
    spot: &AnchoredName,
    mode: WriteOptions,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    sweep_scratch(&spot.dir);
    let old = match spot.metadata_if_exists()? {
        Some(_) if mode.existing == ExistingFile::Refuse => return Err(Errno::EXIST.into()),
        Some(old) => Some(require_writable(spot, old)?),
        None => None,
    };
    let (temporary, _) = stage_file(spot, old.as_ref(), mode.permissions, fill)?;
    temporary.file.sync_all()?;
    match old {
        Some(_) => temporary.persist_over(&spot.name),
        None => {
            temporary.persist(&spot.name, mode.existing)?;
            sync_dir(spot);
            Ok(())
        }
    }
}

/// Creates the complete file for a location as a temporary file, neither synced
/// nor renamed yet. Also returns the attributes of `model` that could not be
/// kept.
pub(crate) fn stage_file(
    spot: &AnchoredName,
    model: Option<&AttributeSource>,
    permissions: WritePermissions,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<(TempFile, Vec<String>)> {
    let at_first = match (model, permissions) {
        (None, WritePermissions::Keep) => DEFAULT_FILE_MODE,
        _ => PRIVATE_FILE_MODE,
    };
    let mut temporary = TempFile::create(spot.dir.as_fd(), at_first)?;
    fill(&mut temporary.file)?;
    // The owner comes first, since changing it clears mode bits, then the
    // access control list, which includes the mode.
    let unlike = match model {
        Some(model) => model.apply_to(&temporary.file)?,
        None => LostAttributes::default(),
    };
    let bits = match (permissions, model) {
        (WritePermissions::Set(bits), _) => Some(bits & KEPT_MODE_BITS),
        (WritePermissions::Keep, model) => {
            model.map(|model| unlike.safe_mode(model.metadata.mode & KEPT_MODE_BITS))
        }
    };
    let mut lost = unlike.into_names();
    lost.extend(model.into_iter().flat_map(|model| attributes_left_behind(&model.metadata)));
    if let Some(bits) = bits {
        rustix::fs::fchmod(&temporary.file, rustix::fs::Mode::from_raw_mode(bits))?;
    }
    Ok((temporary, lost))
}

/// Describes the attributes that a replacement does not get.
fn attributes_left_behind(old: &FileMetadata) -> Vec<String> {
    let bits = [(0o4000, "the set-user-ID bit"), (0o2000, "the set-group-ID bit")];
    let mut left: Vec<String> = bits
        .into_iter()
        .filter(|(bit, _)| old.mode & bit != 0)
        .map(|(_, what)| what.to_owned())
        .collect();
    match old.identity.links.saturating_sub(1) {
        0 => {}
        1 => left.push("its other name (a hard link), which keeps the old content".to_owned()),
        others => {
            left.push(format!("its {others} other names (hard links), which keep the old content"))
        }
    }
    left
}

/// Checks that a file may be replaced. A rename checks only the directory's
/// permissions; this also checks the file's.
pub(crate) fn require_writable(
    spot: &AnchoredName,
    old: FileMetadata,
) -> io::Result<AttributeSource> {
    old.require_kind(FileKind::File)?;
    // The superuser could open a read-only file.
    if old.mode & 0o222 == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let file = match spot.open(OFlags::WRONLY) {
        Ok(file) => Some(file),
        // A running program cannot be opened for writing, but can be replaced.
        Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
            spot.open(OFlags::RDONLY).ok()
        }
        Err(error) => return Err(error),
    };
    Ok(AttributeSource { metadata: old, file })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
