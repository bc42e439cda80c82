//! Changing files: as a whole or not at all.

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

/// The permissions of a new file, less the umask.
const DEFAULT_FILE_MODE: u32 = 0o666;
/// The permissions of a file that will get those of another.
pub(crate) const PRIVATE_FILE_MODE: u32 = 0o600;
/// The permission bits that new content may have. It does not run as somebody
/// else, as the system sees to when a file is written in place.
const KEPT_MODE_BITS: u32 = 0o1777;

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExistingFile {
    /// It goes.
    #[default]
    Replace,
    /// It stays, and the call fails.
    Refuse,
}

/// The permission bits of what is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WritePermissions {
    /// Those of the file that is replaced; the usual ones for a new file.
    #[default]
    Keep,
    /// These.
    Set(u32),
}

/// How a file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// If it exists.
    pub existing: ExistingFile,
    /// Its permissions.
    pub permissions: WritePermissions,
    /// Whether missing folders on the way are made. They stay if the writing
    /// fails.
    pub make_parents: bool,
}

impl FileAccess<'_> {
    /// Writes a whole file: a reader sees the old content or the new, and a
    /// full disk or a crash leaves the old.
    ///
    /// The file's mode is kept, but for the bits that let it run as its owner,
    /// and so are the owner, access lists and other attributes where the
    /// system lets us. A file that has several names (hard links) is replaced
    /// under this name only; under the others the old content stays. Folders,
    /// devices and pipes are refused, and so is a file that may not be written
    /// to.
    ///
    /// A power cut leaves the old content or the new; that a new file is there
    /// at all has reached the disk when this returns.
    pub fn write(&self, path: &Path, bytes: &[u8], mode: WriteOptions) -> Result<(), ToolError> {
        self.write_with(path, mode, |file| file.write_all(bytes))
    }

    /// [`Self::write`] for content that is made piece by piece.
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

    /// Adds to the end of a file in place, or makes a new one. A file that
    /// has several names is refused, since the others may be anywhere. If the
    /// disk is full, what was added is taken off again.
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
                "{} has other names (hard links), which would change as well",
                path.display()
            ))
            .with_hint("Write the whole file: that leaves the other names as they are."));
        }
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| {
            // Only if nobody else has added anything meanwhile.
            let most = before.len.saturating_add(bytes.len() as u64);
            if file.metadata().is_ok_and(|now| now.len() <= most) {
                let _ = file.set_len(before.len);
            }
            failed(error)
        })
    }

    /// Makes a folder.
    pub fn create_dir(&self, path: &Path) -> Result<(), ToolError> {
        let spot = self.anchor("create", &Scope::FILE_WRITE, path, LinkMode::Follow)?;
        make_dir(&spot).map_err(|error| explain_path_error("create", path, &error))
    }

    /// Makes a folder and those above that are missing. It may be there.
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

    /// Gives a file or folder another name. A link is moved itself; what the
    /// new path leads to is replaced if that is wished.
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

/// Makes the file that is going to be at a spot, complete but neither on the
/// disk nor under that name yet. Also says which attributes of its model could
/// not be kept.
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
    // The owner comes first, since a change of owner takes bits off the mode,
    // and then the access list, of which the mode is a part.
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

/// What a file has that its replacement does not get, in words.
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

/// The file at a spot, which may be replaced. A rename asks only the folder
/// for permission; the file has a say too.
pub(crate) fn require_writable(
    spot: &AnchoredName,
    old: FileMetadata,
) -> io::Result<AttributeSource> {
    old.require_kind(FileKind::File)?;
    // The superuser could open it all the same.
    if old.mode & 0o222 == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let file = match spot.open(OFlags::WRONLY) {
        Ok(file) => Some(file),
        // A running program cannot be written to, but it can be replaced.
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
