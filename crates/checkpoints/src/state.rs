//! What was at a path: nothing, a file, a folder, a link, or something that
//! could not be kept.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names;

/// The hash of a content, by which it is found again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub(crate) blake3::Hash);

impl ContentHash {
    /// That of these bytes.
    pub fn for_content(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// In hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.to_hex().to_string()
    }

    /// From hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(Self)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.to_hex())
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("a hash is damaged"))
    }
}

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SavedState {
    /// Nothing.
    Absent,
    /// A folder.
    Folder {
        /// Its permission bits.
        mode: u32,
        /// Its user and group, by number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<(u32, u32)>,
        /// As those of a file, and the access list of what is made in it; none
        /// if nobody could tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attributes: Option<BTreeMap<String, String>>,
    },
    /// A regular file.
    File {
        /// Its content.
        hash: ContentHash,
        /// Bytes of content.
        len: u64,
        /// Its permission bits.
        mode: u32,
        /// Its user and group, by number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<(u32, u32)>,
        /// The user's extended attributes and the access list, each value in
        /// hexadecimal.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        attributes: BTreeMap<String, String>,
        /// Its other names, if it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        linked: Option<HardLinks>,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as it is written.
        #[serde(with = "names")]
        target: PathBuf,
        /// Its user and group, by number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<(u32, u32)>,
    },
    /// Something whose content is not kept.
    Unkept {
        /// Why not.
        why: UnsavedReason,
        /// Bytes of content.
        len: u64,
        /// Its permission bits.
        mode: u32,
        /// Which version of it this was.
        stamp: FileStamp,
    },
}

/// A file with more than one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HardLinks {
    /// Which file it is.
    pub(crate) inode: u64,
    /// How many names it has.
    pub(crate) names: u64,
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnsavedReason {
    /// The file is larger than is kept.
    TooLarge,
    /// As much as is kept was kept already.
    NoRoom,
    /// The disk that checkpoints are on is full, or as much of it as the user
    /// may have.
    DiskFull,
    /// It holds more files than are kept.
    TooMany,
    /// It could not be read.
    Unreadable,
    /// A pipe, a socket or a device.
    Special,
    /// It was somewhere else, where nothing is kept.
    Elsewhere,
    /// A folder that everybody uses.
    Shared,
    /// A folder whose path is longer than the system takes.
    TooDeep,
}

impl UnsavedReason {
    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::TooLarge => "it is larger than checkpoints.max_file_size_mb",
            Self::NoRoom => "checkpoints.max_total_size_mb was reached",
            Self::DiskFull => "the disk that checkpoints are kept on is full",
            Self::TooMany => "it holds too many files",
            Self::Unreadable => "it could not be read",
            Self::Special => "it is no regular file",
            Self::Elsewhere => "it was moved here from where nothing is kept",
            Self::Shared => "it is a folder that everybody uses",
            Self::TooDeep => "its path is too long for what is in it to be kept",
        }
    }
}

impl SavedState {
    /// Whether a restore leaves one for the other: where somebody else has
    /// changed the owner or extended attributes, what comes back takes them
    /// over.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder { mode: a, .. }, Self::Folder { mode: b, .. }) => a == b,
            (Self::File { hash: a, mode: x, .. }, Self::File { hash: b, mode: y, .. }) => {
                (a, x) == (b, y)
            }
            (Self::Link { target: a, .. }, Self::Link { target: b, .. }) => a == b,
            (
                Self::Unkept { len: a, mode: m, stamp: x, .. },
                Self::Unkept { len: b, mode: n, stamp: y, .. },
            ) => (a, m, x.modified, x.inode) == (b, n, y.modified, y.inode),
            (a, b) => a == b,
        }
    }

    /// Whether one is the other but for the mode, the owner and attributes.
    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder { .. }, Self::Folder { .. }) => true,
            (Self::File { hash: a, .. }, Self::File { hash: b, .. }) => a == b,
            (one, other) => one.is_same(other),
        }
    }

    /// Whether nothing was changed between the two, not even the owner.
    pub fn is_identical(&self, other: &Self) -> bool {
        self.is_same(other) && self.attribute_differences(other) == AttributeMask::default()
    }

    /// In what two of a kind differ besides content and mode, as far as
    /// both are known.
    pub(crate) fn attribute_differences(&self, other: &Self) -> AttributeMask {
        let owner = match (self.owner(), other.owner()) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        };
        let attributes = match (self, other) {
            (Self::File { attributes: one, .. }, Self::File { attributes: other, .. }) => {
                one != other
            }
            (
                Self::Folder { attributes: Some(one), .. },
                Self::Folder { attributes: Some(other), .. },
            ) => one != other,
            _ => false,
        };
        AttributeMask { owner, attributes }
    }

    /// Its user and group, as far as they are known.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        match self {
            Self::File { owner, .. } | Self::Folder { owner, .. } | Self::Link { owner, .. } => {
                *owner
            }
            _ => None,
        }
    }

    /// Why it is not kept, if it is not.
    pub fn unsaved_reason(&self) -> Option<UnsavedReason> {
        match self {
            Self::Unkept { why, .. } => Some(*why),
            _ => None,
        }
    }

    /// Whether it is a folder.
    pub fn is_dir(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// What it is, in a word.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Folder { .. } => "folder",
            Self::File { .. } | Self::Unkept { .. } => "file",
            Self::Link { .. } => "link",
        }
    }
}

/// What of a file or folder besides content and mode is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeMask {
    /// Its user and group.
    pub owner: bool,
    /// The user's extended attributes and the access list.
    pub attributes: bool,
}

impl AttributeMask {
    /// All of it.
    pub(crate) const ALL: Self = Self { owner: true, attributes: true };

    pub(crate) fn union(self, other: Self) -> Self {
        Self { owner: self.owner || other.owner, attributes: self.attributes || other.attributes }
    }

    /// What of it is meant by both.
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self { owner: self.owner && other.owner, attributes: self.attributes && other.attributes }
    }
}

/// What tells that a file has not been touched, without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Bytes.
    #[serde(rename = "l")]
    pub(crate) len: u64,
    /// When the content changed, in nanoseconds.
    #[serde(rename = "m")]
    pub(crate) modified: i64,
    /// When anything about it changed.
    #[serde(rename = "c")]
    pub(crate) changed: i64,
    /// Which file it is.
    #[serde(rename = "i")]
    pub(crate) inode: u64,
}
