//! Directories whose path exceeds the system limit. Their contents can neither
//! be saved nor restored, but changes can be detected.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use crate::path_handle::{PathHandle, PathStat, file_stat};
use crate::state::{FileStamp, SavedState, UnsavedReason};

/// Maximum length of a path in bytes.
const MAX_PATH_BYTES: usize = 4095;

/// Maximum number of entries included in a digest.
const MAX_DIGEST_ENTRIES: usize = 50_000;

pub(crate) fn is_too_deep(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() > MAX_PATH_BYTES
}

/// State of such a directory. Its stamp is a digest of everything below, so it
/// changes when anything there does.
pub(crate) fn deep_dir_state(spot: &PathHandle, found: PathStat) -> SavedState {
    let modified = spot.open_dir().and_then(|dir| digest(&dir)).unwrap_or_default();
    let stamp = FileStamp { modified, changed: 0, ..found.stamp };
    SavedState::Unkept { why: UnsavedReason::TooDeep, len: 0, mode: found.mode, stamp }
}

/// Digests all entries by summing their hashes, since entry order is arbitrary.
fn digest(top: &File) -> io::Result<i64> {
    let mut sum = 0_i64;
    let mut seen = 0;
    let mut open: Vec<(Rc<Dir>, CString)> = Vec::new();
    let mut next = Some(Dir::read_from(top)?);
    while let Some(mut dir) = next.take() {
        let entries: Vec<_> = dir.by_ref().flatten().collect();
        let dir = Rc::new(dir);
        for entry in entries {
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            seen += 1;
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let Ok(found) = rustix::fs::statat(dir.fd()?, name, flags) else { continue };
            let found = file_stat(&found);
            sum = sum.wrapping_add(entry_digest(name.to_bytes(), &found));
            if found.kind == FileType::Directory {
                open.push((Rc::clone(&dir), name.to_owned()));
            }
        }
        drop(dir);
        while let Some((above, name)) =
            open.pop().filter(|_| next.is_none() && seen < MAX_DIGEST_ENTRIES)
        {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(above.fd()?, &name, flags, Mode::empty());
            next = opened.and_then(Dir::new).ok();
            if next.is_some() {
                break;
            }
        }
    }
    Ok(sum)
}

fn entry_digest(name: &[u8], found: &PathStat) -> i64 {
    let FileStamp { len, modified, changed, inode } = found.stamp;
    let text = format!("{len} {modified} {changed} {inode} {:o} {:?}", found.mode, found.owner);
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes()).update(b"\0").update(name);
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}
