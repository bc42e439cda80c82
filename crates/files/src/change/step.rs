//! One change on its way: made ready, checked, taken back.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use hermes_core::ToolError;
use rustix::fs::{AtFlags, FallocateFlags, FsWord, OFlags};

use super::{Change, LARGE};
use crate::attributes::Model;
use crate::facts::{Facts, Identity, Kind, WrongKind};
use crate::open::Spot;
use crate::temporary::{Parked, Temporary, move_entry};
use crate::words::explain_way;
use crate::write::{Existing, Permissions, stage};

/// How much is read back at a time: what a processor has close at hand, and
/// what is had without asking the system for it.
const BUFFER: usize = 64 * 1024;

/// The usual file system of Linux.
const EXT4: FsWord = 0xEF53;

/// A change that is ready to be made.
#[derive(Debug)]
pub(super) struct Step<'c> {
    pub(super) change: &'c Change,
    pub(super) spot: Spot,
    /// Of a move.
    pub(super) from: Option<Spot>,
    pub(super) new: Option<(Temporary, Identity)>,
    /// What was at the spot.
    pub(super) before: Option<Facts>,
    /// An earlier change of the same batch touches it, too.
    pub(super) is_touched: bool,
    pub(super) made: Vec<PathBuf>,
    pub(super) lost: Vec<String>,
    /// The name of what is put aside.
    pub(super) aside: OsString,
    /// Whether the new file shall be a program, where that is said.
    pub(super) runs: Option<bool>,
}

/// How a change is taken back.
#[derive(Debug)]
pub(super) enum Undo {
    /// The old file gets its name back.
    Restore(Parked),
    /// The old file gets its name back, which is free.
    Return(Parked),
    /// The new file goes, if it is still that one.
    Withdraw(Identity),
    /// The file gets its old name back.
    Rename,
}

impl Step<'_> {
    pub(super) fn make(&mut self, model: Option<&Model>, bytes: &[u8]) -> io::Result<()> {
        let fill = |file: &mut File| {
            make_room(file, bytes.len());
            file.write_all(bytes)
        };
        let (new, lost) = stage(&self.spot, model, Permissions::Keep, fill)?;
        let facts = Facts::of(&rustix::fs::fstat(&new.file)?);
        if let Some(runs) = self.runs {
            let mode = as_program(facts.mode, runs);
            rustix::fs::fchmod(&new.file, rustix::fs::Mode::from_raw_mode(mode))?;
        }
        let identity = facts.identity;
        self.new = Some((new, identity));
        self.lost = lost;
        Ok(())
    }

    /// A move that changes the content, or leads to another file system, makes
    /// a new file.
    pub(super) fn make_moved(
        &mut self,
        from: &Spot,
        found: &Facts,
        bytes: Option<&[u8]>,
    ) -> io::Result<()> {
        require_removable(found)?;
        let mut copied = Vec::new();
        let bytes = match bytes {
            Some(bytes) => bytes,
            None if device(from)? == device(&self.spot)? => return Ok(()),
            None => {
                from.open(OFlags::RDONLY)?.read_to_end(&mut copied)?;
                &copied
            }
        };
        let file = from.open(OFlags::RDONLY).ok();
        let model = Model { facts: *found, file };
        let is_file = found.kind == Kind::File;
        self.make(is_file.then_some(&model), bytes)
    }

    /// Reads back what was written.
    pub(super) fn verify(&self) -> Result<(), ToolError> {
        let (Some((new, _)), Some(bytes)) = (&self.new, self.change.content()) else {
            return Ok(());
        };
        let path = self.change.target();
        match holds(&new.file, bytes) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ToolError::internal(format!(
                "What was written for {} is not what is read back; the disk may be failing",
                path.display()
            ))
            .with_hint("The file is as it was. Check the disk, and try again.")),
            Err(error) => Err(explain_way("read back", path, &error)),
        }
    }

    /// Has the disk begin with it.
    pub(super) fn send_off(&self) {
        if let Some((new, _)) = &self.new {
            begin_writing(&new.file);
        }
    }

    /// Brings it to the disk.
    pub(super) fn sync(&self) -> Result<(), ToolError> {
        let synced = self.new.as_ref().map_or(Ok(()), |(new, _)| new.file.sync_all());
        synced.map_err(|error| explain_way("write", self.change.target(), &error))
    }

    pub(super) fn undo(&self, undo: Undo) -> io::Result<()> {
        let Spot { folder, name } = &self.spot;
        match undo {
            Undo::Restore(old) => old.put_back(name, Existing::Replace),
            Undo::Return(old) => {
                let name = self.from.as_ref().map_or(name, |from| &from.name);
                old.put_back(name, Existing::Refuse)
            }
            Undo::Withdraw(identity) => match self.spot.look()? {
                Some(there) if there.identity.is_same(&identity) => {
                    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
                }
                _ => Ok(()),
            },
            Undo::Rename => match &self.from {
                Some(from) => move_entry(folder, name, &from.folder, &from.name, Existing::Refuse),
                None => Ok(()),
            },
        }
    }
}

/// The permission bits of a program, which those may run who may read it; or
/// of what is none.
fn as_program(mode: u32, runs: bool) -> u32 {
    if runs { mode | (mode & 0o444) >> 2 } else { mode & !0o111 }
}

/// Has room made for a long content at once, where that is known to spare work
/// when it is written and brought to the disk.
fn make_room(file: &File, len: usize) {
    let is_ext4 = || rustix::fs::fstatfs(file).is_ok_and(|on| on.f_type == EXT4);
    if len >= LARGE && is_ext4() {
        // If there is no room, writing says so.
        let _ = rustix::fs::fallocate(file, FallocateFlags::empty(), 0, len as u64);
    }
}

/// Has the system write out what it has of a file, without waiting for that.
/// It takes this for a wish to have the memory back; what is still being
/// written stays there, so it can be read back at once.
#[cfg(target_os = "linux")]
fn begin_writing(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn begin_writing(_: &File) {}

/// Whether a file holds exactly these bytes.
fn holds(file: &File, bytes: &[u8]) -> io::Result<bool> {
    let mut buffer = vec![0; BUFFER.min(bytes.len() + 1)];
    let mut rest = bytes;
    loop {
        let read = match file.read_at(&mut buffer, (bytes.len() - rest.len()) as u64) {
            Ok(0) => return Ok(rest.is_empty()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match buffer.get(..read).and_then(|found| rest.strip_prefix(found)) {
            Some(left) => rest = left,
            None => return Ok(false),
        }
    }
}

fn device(spot: &Spot) -> io::Result<u64> {
    Ok(Facts::of(&rustix::fs::fstat(&spot.folder)?).identity.dev)
}

/// An error unless it is something that can be removed by itself.
pub(super) fn require_removable(found: &Facts) -> io::Result<()> {
    if matches!(found.kind, Kind::Folder | Kind::Device | Kind::Other) {
        let wrong = WrongKind { found: found.kind, wanted: Kind::File };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
    }
    Ok(())
}
