//! One change on its way: made ready, checked, taken back.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use hermes_core::ToolError;
use rustix::fs::{AtFlags, FallocateFlags, FsWord, OFlags};

use super::{FileChange, PARALLEL_MIN_BYTES};
use crate::attributes::AttributeSource;
use crate::error_text::explain_path_error;
use crate::metadata::{FileIdentity, FileKind, FileMetadata, WrongFileKind};
use crate::open::AnchoredName;
use crate::temp_file::{ParkedFile, TempFile, move_entry};
use crate::write::{ExistingFile, WritePermissions, stage_file};

/// How much is read back at a time: what a processor has close at hand, and
/// what is had without asking the system for it.
const VERIFY_BUFFER_BYTES: usize = 64 * 1024;

/// The usual file system of Linux.
const EXT4_MAGIC: FsWord = 0xEF53;

/// A change that is ready to be made.
#[derive(Debug)]
pub(super) struct ChangeStep<'c> {
    pub(super) change: &'c FileChange,
    pub(super) target: AnchoredName,
    /// Of a move.
    pub(super) from: Option<AnchoredName>,
    pub(super) new: Option<(TempFile, FileIdentity)>,
    /// What was at the spot.
    pub(super) old_metadata: Option<FileMetadata>,
    /// An earlier change of the same batch touches it, too.
    pub(super) is_touched: bool,
    pub(super) created_dirs: Vec<PathBuf>,
    pub(super) lost_attributes: Vec<String>,
    /// The name of what is put aside.
    pub(super) parked_name: OsString,
    /// Whether the new file shall be a program, where that is said.
    pub(super) executable: Option<bool>,
}

/// How a change is taken back.
#[derive(Debug)]
pub(super) enum UndoAction {
    /// The old file gets its name back.
    Restore(ParkedFile),
    /// The old file gets its name back, which is free.
    RestoreMissing(ParkedFile),
    /// The new file goes, if it is still that one.
    RemoveNew(FileIdentity),
    /// The file gets its old name back.
    Rename,
}

impl ChangeStep<'_> {
    pub(super) fn write_new(
        &mut self,
        model: Option<&AttributeSource>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let fill = |file: &mut File| {
            preallocate(file, bytes.len());
            file.write_all(bytes)
        };
        let (new, lost) = stage_file(&self.target, model, WritePermissions::Keep, fill)?;
        let facts = FileMetadata::from_stat(&rustix::fs::fstat(&new.file)?);
        if let Some(runs) = self.executable {
            let mode = executable_mode(facts.mode, runs);
            rustix::fs::fchmod(&new.file, rustix::fs::Mode::from_raw_mode(mode))?;
        }
        let identity = facts.identity;
        self.new = Some((new, identity));
        self.lost_attributes = lost;
        Ok(())
    }

    /// A move that changes the content, or leads to another file system, makes
    /// a new file.
    pub(super) fn write_moved(
        &mut self,
        from: &AnchoredName,
        found: &FileMetadata,
        bytes: Option<&[u8]>,
    ) -> io::Result<()> {
        require_removable(found)?;
        let mut copied = Vec::new();
        let bytes = match bytes {
            Some(bytes) => bytes,
            None if device_id(from)? == device_id(&self.target)? => return Ok(()),
            None => {
                from.open(OFlags::RDONLY)?.read_to_end(&mut copied)?;
                &copied
            }
        };
        let file = from.open(OFlags::RDONLY).ok();
        let model = AttributeSource { metadata: *found, file };
        let is_file = found.kind == FileKind::File;
        self.write_new(is_file.then_some(&model), bytes)
    }

    /// Reads back what was written.
    pub(super) fn verify(&self) -> Result<(), ToolError> {
        let (Some((new, _)), Some(bytes)) = (&self.new, self.change.content()) else {
            return Ok(());
        };
        let path = self.change.target();
        match has_content(&new.file, bytes) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ToolError::internal(format!(
                "What was written for {} is not what is read back; the disk may be failing",
                path.display()
            ))
            .with_hint("The file is as it was. Check the disk, and try again.")),
            Err(error) => Err(explain_path_error("read back", path, &error)),
        }
    }

    /// Has the disk begin with it.
    pub(super) fn start_writeback(&self) {
        if let Some((new, _)) = &self.new {
            begin_writing(&new.file);
        }
    }

    /// Brings it to the disk.
    pub(super) fn sync(&self) -> Result<(), ToolError> {
        let synced = self.new.as_ref().map_or(Ok(()), |(new, _)| new.file.sync_all());
        synced.map_err(|error| explain_path_error("write", self.change.target(), &error))
    }

    pub(super) fn undo(&self, undo: UndoAction) -> io::Result<()> {
        let AnchoredName { dir: folder, name } = &self.target;
        match undo {
            UndoAction::Restore(old) => old.restore(name, ExistingFile::Replace),
            UndoAction::RestoreMissing(old) => {
                let name = self.from.as_ref().map_or(name, |from| &from.name);
                old.restore(name, ExistingFile::Refuse)
            }
            UndoAction::RemoveNew(identity) => match self.target.metadata_if_exists()? {
                Some(there) if there.identity.is_same(&identity) => {
                    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
                }
                _ => Ok(()),
            },
            UndoAction::Rename => match &self.from {
                Some(from) => move_entry(folder, name, &from.dir, &from.name, ExistingFile::Refuse),
                None => Ok(()),
            },
        }
    }
}

/// The permission bits of a program, which those may run who may read it; or
/// of what is none.
fn executable_mode(mode: u32, runs: bool) -> u32 {
    if runs { mode | (mode & 0o444) >> 2 } else { mode & !0o111 }
}

/// Has room made for a long content at once, where that is known to spare work
/// when it is written and brought to the disk.
fn preallocate(file: &File, len: usize) {
    let is_ext4 = || rustix::fs::fstatfs(file).is_ok_and(|on| on.f_type == EXT4_MAGIC);
    if len >= PARALLEL_MIN_BYTES && is_ext4() {
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
fn has_content(file: &File, bytes: &[u8]) -> io::Result<bool> {
    let mut buffer = vec![0; VERIFY_BUFFER_BYTES.min(bytes.len() + 1)];
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

fn device_id(spot: &AnchoredName) -> io::Result<u64> {
    Ok(FileMetadata::from_stat(&rustix::fs::fstat(&spot.dir)?).identity.dev)
}

/// An error unless it is something that can be removed by itself.
pub(super) fn require_removable(found: &FileMetadata) -> io::Result<()> {
    if matches!(found.kind, FileKind::Directory | FileKind::Device | FileKind::Other) {
        let wrong = WrongFileKind { found: found.kind, wanted: FileKind::File };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
    }
    Ok(())
}
