//! What an archive says of one of its entries. It may lie.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::choice::Choice;

/// An entry, as the archive tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name, byte by byte.
    pub name: Vec<u8>,
    /// What it is.
    pub nature: Nature,
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
pub enum Nature {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; its target, where that is known.
    Link(Vec<u8>),
    /// Another name of an earlier entry.
    HardLink(Vec<u8>),
    /// A device, a pipe, or something that only its maker knows.
    Special,
}

impl Nature {
    /// Its name in lists.
    pub fn name(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "dir",
            Self::Link(_) => "symlink",
            Self::HardLink(_) => "hardlink",
            Self::Special => "other",
        }
    }
}

impl Member {
    /// The name for people; bytes that are no UTF-8 become U+FFFD.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// The name as a path, byte by byte. It may lead anywhere.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.name))
    }
}

/// An entry that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Skipped {
    /// Entries in whose place later ones of the same name came, as far as they
    /// were chosen.
    pub(crate) fn replaced(names: Vec<Vec<u8>>, choice: &Choice) -> impl Iterator<Item = Self> {
        let paths = names.into_iter().map(|name| PathBuf::from(OsString::from_vec(name)));
        let chosen = paths.filter(|path| choice.takes(path));
        chosen.map(|path| Self { path, reason: REPLACED.to_owned() })
    }
}

/// Why an earlier entry of two was left out.
pub(crate) const REPLACED: &str = "a later entry has the same name";

/// Unix file types in the upper bits of a mode.
pub(crate) const TYPE_BITS: u32 = 0o170_000;
pub(crate) const TYPE_FILE: u32 = 0o100_000;
pub(crate) const TYPE_FOLDER: u32 = 0o040_000;
pub(crate) const TYPE_LINK: u32 = 0o120_000;
pub(crate) const TYPE_PIPE: u32 = 0o010_000;
/// Targets of links are no longer than a path can be.
pub(crate) const LONGEST_TARGET: u64 = 4096;
