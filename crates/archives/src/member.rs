//! Archive entries as the archive describes them. The data is untrusted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::filter::GlobFilter;

/// An entry as the archive describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveMember {
    /// Raw bytes of the name.
    pub name: Vec<u8>,
    /// Kind of the entry.
    pub kind: MemberKind,
    /// Bytes of content, if stated.
    pub size: Option<u64>,
    /// Bytes in the archive, if the entry is compressed separately.
    pub packed: Option<u64>,
    /// Unix permission bits.
    pub mode: Option<u32>,
    /// Modification time.
    pub modified: Option<SystemTime>,
    /// Whether a password is needed.
    pub encrypted: bool,
}

/// Kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its target, if known.
    Link(Vec<u8>),
    /// A hard link to an earlier entry.
    HardLink(Vec<u8>),
    /// A device, a pipe, or an unknown type.
    Special,
}

impl MemberKind {
    /// Returns the name used in listings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "dir",
            Self::Link(_) => "symlink",
            Self::HardLink(_) => "hardlink",
            Self::Special => "other",
        }
    }
}

impl ArchiveMember {
    /// Returns the name for display; invalid UTF-8 becomes U+FFFD.
    pub fn display_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// Returns the raw name as a path. It may point anywhere.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.name))
    }
}

/// A skipped entry, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// Name of the entry.
    pub path: PathBuf,
    /// Why it was skipped.
    pub reason: String,
}

impl SkippedEntry {
    /// Returns the included entries that later ones of the same name replace.
    pub(crate) fn replaced_by_later(
        names: Vec<Vec<u8>>,
        choice: &GlobFilter,
    ) -> impl Iterator<Item = Self> {
        let paths = names.into_iter().map(|name| PathBuf::from(OsString::from_vec(name)));
        let chosen = paths.filter(|path| choice.includes(path));
        chosen.map(|path| Self { path, reason: REPLACED_REASON.to_owned() })
    }
}

/// Why the earlier of two entries is skipped.
pub(crate) const REPLACED_REASON: &str = "a later entry has the same name";

/// Unix file type bits of a mode.
pub(crate) const TYPE_BITS: u32 = 0o170_000;
pub(crate) const TYPE_FILE: u32 = 0o100_000;
pub(crate) const TYPE_DIRECTORY: u32 = 0o040_000;
pub(crate) const TYPE_LINK: u32 = 0o120_000;
pub(crate) const TYPE_PIPE: u32 = 0o010_000;
/// Maximum bytes of a link target, the same as of a path.
pub(crate) const MAX_LINK_TARGET_BYTES: u64 = 4096;
