//! One step of a transaction: staged, verified, undone.

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

/// Chunk size for reading back: fits the processor cache, and small enough for
/// the allocator to serve without a system call.
const VERIFY_BUFFER_BYTES: usize = 64 * 1024;

/// Magic number of ext4, the usual Linux file system.
const EXT4_MAGIC: FsWord = 0xEF53;

/// A staged change.
#[derive(Debug)]
pub(super) struct ChangeStep<'c> {
    pub(super) change: &'c FileChange,
    pub(super) target: AnchoredName,
    /// The source of a move.
    pub(super) from: Option<AnchoredName>,
    pub(super) new: Option<(TempFile, FileIdentity)>,
    /// Metadata of the previous file at the target.
    pub(super) old_metadata: Option<FileMetadata>,
    /// Whether an earlier change of the same batch also touches it.
    pub(super) is_touched: bool,
    pub(super) created_dirs: Vec<PathBuf>,
    pub(super) lost_attributes: Vec<String>,
    /// The name under which the old file is parked.
    pub(super) parked_name: OsString,
    /// Whether to make the new file executable, if specified.
    pub(super) executable: Option<bool>,
}

/// How a change is undone.
#[derive(Debug)]
pub(super) enum UndoAction {
    /// Renames the old file back, replacing the new one.
    Restore(ParkedFile),
    /// Renames the old file back to its name, which must be free.
    RestoreMissing(ParkedFile),
    /// Removes the new file, if it is still the same.
    RemoveNew(FileIdentity),
    /// Renames the file back.
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

    /// Writes a new file for a move that changes the content or crosses file
    /// systems.
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

    /// Reads back and compares what was written.
    pub(super) fn verify(&self) -> Result<(), ToolError> {
        let (Some((new, _)), Some(bytes)) = (&self.new, self.change.content()) else {
            return Ok(());
        };
        let path = self.change.target();
        match has_content(&new.file, bytes) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ToolError::internal(format!(
                "The content read back for {} differs from what was written; the disk may be \
                 failing",
                path.display()
            ))
            .with_hint("The file is unchanged. Check the disk, then retry.")),
            Err(error) => Err(explain_path_error("read back", path, &error)),
        }
    }

    /// Starts writeback of the new file.
    pub(super) fn start_writeback(&self) {
        if let Some((new, _)) = &self.new {
            begin_writing(&new.file);
        }
    }

    /// Syncs the new file to disk.
    pub(super) fn sync(&self) -> Result<(), ToolError> {
        let synced = self.new.as_ref().map_or(Ok(()), |(new, _)| new.file.sync_all());
        synced.map_err(|error| explain_path_error("write", self.change.target(), &error))
    }

    pub(super) fn undo(&self, undo: UndoAction) -> io::Result<()> {
        let AnchoredName { dir: directory, name } = &self.target;
        match undo {
            UndoAction::Restore(old) => old.restore(name, ExistingFile::Replace),
            UndoAction::RestoreMissing(old) => {
                let name = self.from.as_ref().map_or(name, |from| &from.name);
                old.restore(name, ExistingFile::Refuse)
            }
            UndoAction::RemoveNew(identity) => match self.target.metadata_if_exists()? {
                Some(there) if there.identity.is_same(&identity) => {
                    Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?)
                }
                _ => Ok(()),
            },
            UndoAction::Rename => match &self.from {
                Some(from) => {
                    move_entry(directory, name, &from.dir, &from.name, ExistingFile::Refuse)
                }
                None => Ok(()),
            },
        }
    }
}

/// Returns the mode with execute permission for everyone who can read, or for
/// no one.
fn executable_mode(mode: u32, runs: bool) -> u32 {
    if runs { mode | (mode & 0o444) >> 2 } else { mode & !0o111 }
}

/// Preallocates a long file where this is known to make writing and syncing
/// cheaper.
fn preallocate(file: &File, len: usize) {
    let is_ext4 = || rustix::fs::fstatfs(file).is_ok_and(|on| on.f_type == EXT4_MAGIC);
    if len >= PARALLEL_MIN_BYTES && is_ext4() {
        // If the disk is full, the write reports it.
        let _ = rustix::fs::fallocate(file, FallocateFlags::empty(), 0, len as u64);
    }
}

/// Starts writeback of a file without waiting. The kernel takes the advice as a
/// request to free the cache, but pages under writeback stay cached, so reading
/// back is fast.
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

/// Fails unless the file can be removed with a plain unlink.
pub(super) fn require_removable(found: &FileMetadata) -> io::Result<()> {
    if matches!(found.kind, FileKind::Directory | FileKind::Device | FileKind::Other) {
        let wrong = WrongFileKind { found: found.kind, wanted: FileKind::File };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
    }
    Ok(())
}
