//! State of a path: absent, a file, a directory, a symlink, or something that
//! could not be saved.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names;

/// The hash that identifies a content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub(crate) blake3::Hash);

impl ContentHash {
    /// Hashes these bytes.
    pub fn for_content(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// Formats the hash as hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.to_hex().to_string()
    }

    /// Parses hexadecimal digits.
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
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("invalid content hash"))
    }
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SavedState {
    /// Nothing.
    Absent,
    /// A directory.
    Folder {
        /// Its permission bits.
        mode: u32,
        /// Its user and group id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<(u32, u32)>,
        /// Extended attributes and ACLs, including the default ACL; `None` if
        /// they could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attributes: Option<BTreeMap<String, String>>,
    },
    /// A regular file.
    File {
        /// Hash of its content.
        hash: ContentHash,
        /// Length in bytes.
        len: u64,
        /// Its permission bits.
        mode: u32,
        /// Its user and group id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<(u32, u32)>,
        /// User extended attributes and the ACL, with hexadecimal values.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        attributes: BTreeMap<String, String>,
        /// Its hard links, if it has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        linked: Option<HardLinks>,
    },
    /// A symbolic link.
    Link {
        /// Its target, unresolved.
        #[serde(with = "names")]
        target: PathBuf,
        /// Its user and group id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<(u32, u32)>,
    },
    /// Something whose content is not saved.
    Unkept {
        /// Why it is not saved.
        why: UnsavedReason,
        /// Length in bytes.
        len: u64,
        /// Its permission bits.
        mode: u32,
        /// Identifies the version of the file.
        stamp: FileStamp,
    },
}

/// A file with several hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HardLinks {
    /// Its inode.
    pub(crate) inode: u64,
    /// Number of hard links.
    pub(crate) names: u64,
}

/// Why a content is not saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnsavedReason {
    /// The file exceeds the size limit.
    TooLarge,
    /// The total size limit was reached.
    NoRoom,
    /// The disk that holds the checkpoints is full, or the user's quota is
    /// exhausted.
    DiskFull,
    /// The directory holds too many files.
    TooMany,
    /// It could not be read.
    Unreadable,
    /// A pipe, a socket or a device.
    Special,
    /// It was moved in from where nothing is saved.
    Elsewhere,
    /// A shared directory.
    Shared,
    /// A directory whose path exceeds the system limit.
    TooDeep,
}

impl UnsavedReason {
    /// Describes the reason.
    pub fn describe(self) -> &'static str {
        match self {
            Self::TooLarge => "it is larger than checkpoints.max_file_size_mb",
            Self::NoRoom => "checkpoints.max_total_size_mb was reached",
            Self::DiskFull => "the disk that holds the checkpoints is full",
            Self::TooMany => "it holds too many files",
            Self::Unreadable => "it could not be read",
            Self::Special => "it is not a regular file",
            Self::Elsewhere => "it was moved here from a location that is not saved",
            Self::Shared => "it is a shared directory",
            Self::TooDeep => "its path is too long to save its contents",
        }
    }
}

impl SavedState {
    /// Whether a restore treats both as equal. Owner and extended attributes
    /// are ignored, since a restored file keeps foreign changes to them.
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

    /// Whether both differ at most in mode, owner and attributes.
    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder { .. }, Self::Folder { .. }) => true,
            (Self::File { hash: a, .. }, Self::File { hash: b, .. }) => a == b,
            (one, other) => one.is_same(other),
        }
    }

    /// Whether both are equal, including the owner.
    pub fn is_identical(&self, other: &Self) -> bool {
        self.is_same(other) && self.attribute_differences(other) == AttributeMask::default()
    }

    /// Returns the attributes besides content and mode in which two states of
    /// the same kind differ, as far as both are known.
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

    /// Returns its user and group id, if known.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        match self {
            Self::File { owner, .. } | Self::Folder { owner, .. } | Self::Link { owner, .. } => {
                *owner
            }
            _ => None,
        }
    }

    /// Returns why it is not saved, if it is not.
    pub fn unsaved_reason(&self) -> Option<UnsavedReason> {
        match self {
            Self::Unkept { why, .. } => Some(*why),
            _ => None,
        }
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Returns a noun for the kind of state.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Folder { .. } => "folder",
            Self::File { .. } | Self::Unkept { .. } => "file",
            Self::Link { .. } => "link",
        }
    }
}

/// A selection of attributes besides content and mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeMask {
    /// User and group.
    pub owner: bool,
    /// User extended attributes and the ACL.
    pub attributes: bool,
}

impl AttributeMask {
    /// All attributes.
    pub(crate) const ALL: Self = Self { owner: true, attributes: true };

    pub(crate) fn union(self, other: Self) -> Self {
        Self { owner: self.owner || other.owner, attributes: self.attributes || other.attributes }
    }

    /// Returns the attributes in both selections.
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self { owner: self.owner && other.owner, attributes: self.attributes && other.attributes }
    }
}

/// Metadata that identifies an unmodified file without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Bytes.
    #[serde(rename = "l")]
    pub(crate) len: u64,
    /// Modification time in nanoseconds.
    #[serde(rename = "m")]
    pub(crate) modified: i64,
    /// Status change time in nanoseconds.
    #[serde(rename = "c")]
    pub(crate) changed: i64,
    /// Inode of the file.
    #[serde(rename = "i")]
    pub(crate) inode: u64,
}
