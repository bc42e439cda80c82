//! What an archive says of one of its entries. It may lie.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::filter::GlobFilter;

/// An entry, as the archive tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveMember {
    /// The name, byte by byte.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: MemberKind,
    /// Bytes of content, where the archive says so.
    pub size: Option<u64>,
    /// Bytes that it takes in the archive, where it is kept by itself.
    pub packed: Option<u64>,
    /// Unix permission bits.
    pub mode: Option<u32>,
    /// When the content last changed.
    pub modified: Option<SystemTime>,
    /// Whether a password is needed.
    pub encrypted: bool,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link; its target, where that is known.
    Link(Vec<u8>),
    /// Another name of an earlier entry.
    HardLink(Vec<u8>),
    /// A device, a pipe, or something that only its maker knows.
    Special,
}

impl MemberKind {
    /// Its name in lists.
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
    /// The name for people; bytes that are no UTF-8 become U+FFFD.
    pub fn display_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// The name as a path, byte by byte. It may lead anywhere.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.name))
    }
}

/// An entry that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// Its name.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl SkippedEntry {
    /// Entries in whose place later ones of the same name came, as far as they
    /// were chosen.
    pub(crate) fn replaced_by_later(
        names: Vec<Vec<u8>>,
        choice: &GlobFilter,
    ) -> impl Iterator<Item = Self> {
        let paths = names.into_iter().map(|name| PathBuf::from(OsString::from_vec(name)));
        let chosen = paths.filter(|path| choice.includes(path));
        chosen.map(|path| Self { path, reason: REPLACED_REASON.to_owned() })
    }
}

/// Why an earlier entry of two was left out.
pub(crate) const REPLACED_REASON: &str = "a later entry has the same name";

/// Unix file types in the upper bits of a mode.
pub(crate) const TYPE_BITS: u32 = 0o170_000;
pub(crate) const TYPE_FILE: u32 = 0o100_000;
pub(crate) const TYPE_DIRECTORY: u32 = 0o040_000;
pub(crate) const TYPE_LINK: u32 = 0o120_000;
pub(crate) const TYPE_PIPE: u32 = 0o010_000;
/// Targets of links are no longer than a path can be.
pub(crate) const MAX_LINK_TARGET_BYTES: u64 = 4096;
