//! Names of temporary files and directories, and the removal of those left by
//! dead processes.
//!
//! The creator of such a file or directory holds a lock on it while it lives.
//! Half of the digits of a name are a checksum of the other half, so a user's
//! file with a similar name is not mistaken for one of ours.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::metadata::{FileKind, FileMetadata};

/// Where files cannot be locked, a file of this age is abandoned.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);
/// A directory with more entries than this is swept once per process, not
/// before every write.
const LARGE_DIR_ENTRIES: usize = 10_000;
/// Maximum number of such directories to remember.
const MAX_REMEMBERED_DIRS: usize = 1000;
/// Hex digits in a name; the second half is the checksum.
const NAME_HEX_DIGITS: usize = 16;
const SCRATCH_SUFFIX: &str = ".tmp";

/// Large directories already swept.
static SWEPT_LARGE_DIRS: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Kind of a temporary file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScratchKind {
    /// A file that will replace another, or a parked file.
    File,
    /// A directory in which a tree is staged.
    Directory,
    /// A journal of a change, and its markers in the directories that the
    /// change affects.
    Journal,
}

impl ScratchKind {
    /// Returns a new random name.
    pub fn new_name(self) -> OsString {
        let chance = RandomState::new().hash_one(0_u8);
        let bytes = chance.to_le_bytes();
        let digits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        format!("{}{digits:08x}{:08x}{SCRATCH_SUFFIX}", self.prefix(), check_digits(digits)).into()
    }

    /// Parses a name, if it is one of ours.
    pub fn from_name(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?.strip_suffix(SCRATCH_SUFFIX)?;
        [Self::File, Self::Directory, Self::Journal].into_iter().find(|scratch| {
            let digits = name.strip_prefix(scratch.prefix()).unwrap_or_default();
            let is_lower = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
            let is_number = digits.len() == NAME_HEX_DIGITS && digits.bytes().all(is_lower);
            let number = is_number.then(|| u64::from_str_radix(digits, 16).ok()).flatten();
            number.is_some_and(|number| {
                let half = u32::try_from(number >> 32).unwrap_or_default();
                u64::from(check_digits(half)) == number & u64::from(u32::MAX)
            })
        })
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::File => ".hermes-write-",
            Self::Directory => ".hermes-unpack-",
            Self::Journal => ".hermes-change-",
        }
    }
}

/// Returns the checksum of a number, which no other program would produce.
fn check_digits(number: u32) -> u32 {
    let mut mixed = u64::from(number) ^ 0x6865_726d_6573_2d31;
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ (mixed >> 29)).wrapping_mul(factor);
    }
    u32::try_from(mixed >> 32).unwrap_or_default()
}

/// Locks a file, which marks it as in use while the handle is open. Returns
/// false if another process holds the lock.
pub fn claim(handle: impl AsFd) -> bool {
    !matches!(
        rustix::fs::flock(handle, FlockOperation::NonBlockingLockExclusive),
        Err(Errno::WOULDBLOCK)
    )
}

/// Removes the leftovers of dead processes from a directory.
pub fn sweep_scratch(dir: impl AsFd) {
    sweep_with(OtherWriters::Possible, dir.as_fd());
}

/// Like [`sweep_scratch`], for a caller that has locked the directory. Then a
/// parked symlink is abandoned too, since it cannot be locked itself.
pub(crate) fn sweep_locked(dir: impl AsFd) {
    sweep_with(OtherWriters::LockedOut, dir.as_fd());
}

/// Whether other processes may write to the directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherWriters {
    Possible,
    LockedOut,
}

fn sweep_with(others: OtherWriters, dir: BorrowedFd<'_>) {
    let found = scratch_entries(dir).unwrap_or_default();
    // A change was interrupted here, and its rollback needs the parked files.
    if found.iter().any(|(_, scratch)| *scratch == ScratchKind::Journal) {
        return;
    }
    for (name, scratch) in found {
        let kind = rustix::fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW);
        match (scratch, kind.map(|stat| FileMetadata::from_stat(&stat).kind)) {
            (ScratchKind::File, Ok(FileKind::File)) => remove_abandoned(dir, &name),
            (ScratchKind::File, Ok(FileKind::Link)) if others == OtherWriters::LockedOut => {
                let _ = rustix::fs::unlinkat(dir, &name, AtFlags::empty());
            }
            (ScratchKind::Directory, Ok(FileKind::Directory)) => remove_abandoned_dir(dir, &name),
            _ => {}
        }
    }
}

/// Returns the entries of a directory with scratch names.
fn scratch_entries(dir: BorrowedFd<'_>) -> Result<Vec<(OsString, ScratchKind)>, Errno> {
    let identity = FileMetadata::from_stat(&rustix::fs::fstat(dir)?).identity;
    let id = (identity.dev, identity.ino);
    let known = || SWEPT_LARGE_DIRS.lock();
    if known().contains(&id) {
        return Ok(Vec::new());
    }
    let (mut found, mut entries) = (Vec::new(), 0);
    for entry in readable_dir(dir)? {
        let entry = entry?;
        entries += 1;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if let Some(scratch) = ScratchKind::from_name(name) {
            found.push((name.to_owned(), scratch));
        }
    }
    if entries > LARGE_DIR_ENTRIES {
        let mut known = known();
        if known.len() >= MAX_REMEMBERED_DIRS {
            known.clear();
        }
        known.insert(id);
    }
    Ok(found)
}

/// Removes a file abandoned by its creator.
fn remove_abandoned(dir: BorrowedFd<'_>, name: &OsStr) {
    let Some(file) = open_for_lock(dir, name) else { return };
    // The lock keeps other processes from removing it and creating another.
    if is_abandoned(&file) && is_still_at(dir, name, &file) {
        let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
    }
}

fn remove_abandoned_dir(dir: BorrowedFd<'_>, name: &OsStr) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(there) = rustix::fs::openat(dir, name, flags, Mode::empty()) else { return };
    if is_abandoned(&there) && is_still_at(dir, name, &there) {
        remove_scratch(dir, name);
    }
}

pub(crate) fn is_abandoned(file: &OwnedFd) -> bool {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK | Errno::INTR) => false,
        Err(_) => is_old(file),
    }
}

/// Whether the inode has not changed for a long time. The mtime is not enough:
/// a parked file may have old content.
pub(crate) fn is_old(file: &OwnedFd) -> bool {
    let Ok(stat) = rustix::fs::fstat(file) else { return false };
    let changed = u64::try_from(i128::from(stat.st_ctime)).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_secs().saturating_sub(changed) > ABANDONED_AGE.as_secs()
}

/// Opens the regular file of that name, only to lock it.
pub(crate) fn open_for_lock(dir: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileMetadata::from_stat(&stat).kind != FileKind::File {
        return None;
    }
    let careful = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let open = |how| rustix::fs::openat(dir, name, how | careful, Mode::empty()).ok();
    open(OFlags::RDONLY).or_else(|| open(OFlags::WRONLY))
}

/// Whether the name still refers to this open file or directory.
pub(crate) fn is_still_at(dir: BorrowedFd<'_>, name: &OsStr, file: &OwnedFd) -> bool {
    let there = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    match (there, rustix::fs::fstat(file)) {
        (Ok(there), Ok(open)) => FileMetadata::from_stat(&there)
            .identity
            .is_same(&FileMetadata::from_stat(&open).identity),
        _ => false,
    }
}

/// Removes a staged tree by handle, never through a symlink. Leaves what cannot
/// be removed, and any tree without a scratch name.
pub fn remove_scratch(base: impl AsFd, name: &OsStr) {
    if ScratchKind::from_name(name) != Some(ScratchKind::Directory) {
        return;
    }
    let Ok(top) = open_subdir(base.as_fd(), name) else { return };
    let mut levels = vec![(top, name.to_owned(), None::<Vec<(OsString, FileType)>>)];
    while let Some((dir, _, left)) = levels.last_mut() {
        let left = left.get_or_insert_with(|| {
            // Make an inaccessible directory accessible first.
            let ours = Mode::from_raw_mode(0o700);
            let _ = rustix::fs::chmodat(&*dir, ".", ours, AtFlags::empty());
            read_entries(dir.as_fd()).unwrap_or_default()
        });
        match left.pop() {
            Some((entry, FileType::Directory)) => {
                if let Ok(below) = open_subdir(dir.as_fd(), &entry) {
                    levels.push((below, entry, None));
                }
            }
            Some((entry, _)) => {
                let _ = rustix::fs::unlinkat(&*dir, &entry, AtFlags::empty());
            }
            None => {
                let Some((_, done, _)) = levels.pop() else { break };
                let above = levels.last().map_or(base.as_fd(), |(above, ..)| above.as_fd());
                let _ = rustix::fs::unlinkat(above, &done, AtFlags::REMOVEDIR);
            }
        }
    }
}

/// Reopens a directory for reading, since the handle may be `O_PATH`.
fn readable_dir(dir: BorrowedFd<'_>) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::new(rustix::fs::openat(dir, ".", flags, Mode::empty())?)
}

fn open_subdir(here: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(here, name, flags, Mode::empty())
}

fn read_entries(dir: BorrowedFd<'_>) -> Result<Vec<(OsString, FileType)>, Errno> {
    let mut found = Vec::new();
    for entry in readable_dir(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            shown => shown,
        };
        found.push((name.to_owned(), kind));
    }
    Ok(found)
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
