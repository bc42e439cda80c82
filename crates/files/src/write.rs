//! Changing files: as a whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use hermes_core::{Scope, ToolError};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::attributes::{Model, Unlike};
use crate::facts::{Facts, Kind};
use crate::files::Files;
use crate::open::Spot;
use crate::place::Last;
use crate::scratch::sweep;
use crate::temporary::{Temporary, move_entry, sync_folder};
use crate::words::{explain, explain_way};

/// The permissions of a new file, less the umask.
const USUAL: u32 = 0o666;
/// The permissions of a file that will get those of another.
pub(crate) const PRIVATE: u32 = 0o600;
/// The permission bits that new content may have. It does not run as somebody
/// else, as the system sees to when a file is written in place.
const KEPT: u32 = 0o1777;

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// It goes.
    #[default]
    Replace,
    /// It stays, and the call fails.
    Refuse,
}

/// The permission bits of what is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Permissions {
    /// Those of the file that is replaced; the usual ones for a new file.
    #[default]
    Keep,
    /// These.
    Set(u32),
}

/// How a file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mode {
    /// If it exists.
    pub existing: Existing,
    /// Its permissions.
    pub permissions: Permissions,
    /// Whether missing folders on the way are made. They stay if the writing
    /// fails.
    pub make_parents: bool,
}

impl Files<'_> {
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
    pub fn write(&self, path: &Path, bytes: &[u8], mode: Mode) -> Result<(), ToolError> {
        self.write_with(path, mode, |file| file.write_all(bytes))
    }

    /// [`Self::write`] for content that is made piece by piece.
    pub fn write_with(
        &self,
        path: &Path,
        mode: Mode,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), ToolError> {
        let spot = if mode.make_parents {
            let place = self.place("write", &Scope::FILE_WRITE, path, Last::Follow)?;
            Spot::reach_making(&place, self.walk())
                .map_err(|error| explain_way("write", path, &error))?
        } else {
            self.spot("write", &Scope::FILE_WRITE, path, Last::Follow)?
        };
        replace(&spot, mode, fill).map_err(|error| explain_way("write", path, &error))
    }

    /// Adds to the end of a file in place, or makes a new one. A file that
    /// has several names is refused, since the others may be anywhere. If the
    /// disk is full, what was added is taken off again.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        let failed = |error: io::Error| explain_way("append to", path, &error);
        let spot = self.spot("append to", &Scope::FILE_WRITE, path, Last::Follow)?;
        if spot.look().map_err(failed)?.is_none() {
            let mode = Mode { existing: Existing::Refuse, ..Mode::default() };
            return replace(&spot, mode, |file| file.write_all(bytes)).map_err(failed);
        }
        let mut file = spot.open(OFlags::WRONLY | OFlags::APPEND).map_err(failed)?;
        let before = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
        let before = Facts::of(&before);
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
        let spot = self.spot("create", &Scope::FILE_WRITE, path, Last::Follow)?;
        make_folder(&spot).map_err(|error| explain_way("create", path, &error))
    }

    /// Makes a folder and those above that are missing. It may be there.
    pub fn create_dir_all(&self, path: &Path) -> Result<(), ToolError> {
        let place = self.place("create", &Scope::FILE_WRITE, path, Last::Follow)?;
        let made =
            Spot::reach_making(&place, self.walk()).and_then(|spot| match make_folder(&spot) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    spot.facts()?.require(Kind::Folder)
                }
                made => made,
            });
        made.map_err(|error| explain_way("create", path, &error))
    }

    /// Gives a file or folder another name. A link is moved itself; what the
    /// new path leads to is replaced if that is wished.
    pub fn rename(&self, from: &Path, to: &Path, existing: Existing) -> Result<(), ToolError> {
        let source = self.spot("move", &Scope::FILE_DELETE, from, Last::Keep)?;
        let target = self.spot("move to", &Scope::FILE_WRITE, to, Last::Follow)?;
        let found = source.facts().map_err(|error| explain_way("move", from, &error))?;
        if found.kind == Kind::Device {
            let refused = found.require(Kind::File).err();
            return Err(explain("move", from, &refused.unwrap_or_else(|| Errno::INVAL.into())));
        }
        let move_it = || {
            if let Some(there) = target.look()? {
                let wanted = if found.kind == Kind::Folder { Kind::Folder } else { Kind::File };
                if existing == Existing::Refuse {
                    return Err(Errno::EXIST.into());
                }
                there.require(wanted)?;
            }
            move_entry(&source.folder, &source.name, &target.folder, &target.name, existing)
        };
        move_it().map_err(|error| explain_way("move to", to, &error))?;
        sync_folder(&target);
        sync_folder(&source);
        Ok(())
    }
}

fn make_folder(spot: &Spot) -> io::Result<()> {
    let usual = rustix::fs::Mode::from_raw_mode(0o777);
    Ok(rustix::fs::mkdirat(&spot.folder, &spot.name, usual)?)
}

fn replace(
    spot: &Spot,
    mode: Mode,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    sweep(&spot.folder);
    let old = match spot.look()? {
        Some(_) if mode.existing == Existing::Refuse => return Err(Errno::EXIST.into()),
        Some(old) => Some(require_writable(spot, old)?),
        None => None,
    };
    let (temporary, _) = stage(spot, old.as_ref(), mode.permissions, fill)?;
    temporary.file.sync_all()?;
    match old {
        Some(_) => temporary.replace(&spot.name),
        None => {
            temporary.keep(&spot.name, mode.existing)?;
            sync_folder(spot);
            Ok(())
        }
    }
}

/// Makes the file that is going to be at a spot, complete but neither on the
/// disk nor under that name yet. Also says which attributes of its model could
/// not be kept.
pub(crate) fn stage(
    spot: &Spot,
    model: Option<&Model>,
    permissions: Permissions,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<(Temporary, Vec<String>)> {
    let at_first = match (model, permissions) {
        (None, Permissions::Keep) => USUAL,
        _ => PRIVATE,
    };
    let mut temporary = Temporary::create(spot.folder.as_fd(), at_first)?;
    fill(&mut temporary.file)?;
    // The owner comes first, since a change of owner takes bits off the mode,
    // and then the access list, of which the mode is a part.
    let unlike = match model {
        Some(model) => model.dress(&temporary.file)?,
        None => Unlike::default(),
    };
    let bits = match (permissions, model) {
        (Permissions::Set(bits), _) => Some(bits & KEPT),
        (Permissions::Keep, model) => model.map(|model| unlike.narrow(model.facts.mode & KEPT)),
    };
    let mut lost = unlike.told();
    lost.extend(model.into_iter().flat_map(|model| left_behind(&model.facts)));
    if let Some(bits) = bits {
        rustix::fs::fchmod(&temporary.file, rustix::fs::Mode::from_raw_mode(bits))?;
    }
    Ok((temporary, lost))
}

/// What a file has that its replacement does not get, in words.
fn left_behind(old: &Facts) -> Vec<String> {
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
pub(crate) fn require_writable(spot: &Spot, old: Facts) -> io::Result<Model> {
    old.require(Kind::File)?;
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
    Ok(Model { facts: old, file })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
