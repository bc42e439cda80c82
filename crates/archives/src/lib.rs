//! Creating, listing and unpacking archives, confined to a target directory.
//!
//! Archive metadata is never trusted. Names are checked before they become
//! paths ([`SafeName`]), sizes are counted while bytes arrive
//! ([`ArchiveLimits`]), and a tree is unpacked beside its target and moved
//! there once it is complete, so a failure leaves nothing behind.

mod dropped_attributes;
mod filter;
mod format;
mod ignore_rules;
mod limits;
mod list;
mod member;
mod name;
mod pack;
mod progress;
mod read;
mod unpack;

pub use dropped_attributes::DroppedAttribute;
pub use filter::GlobFilter;
pub use format::ArchiveFormat;
pub use limits::ArchiveLimits;
pub use list::{ArchiveListing, ListPage, list};
pub use member::{ArchiveMember, MemberKind, SkippedEntry};
pub use name::SafeName;
pub use pack::{PackReport, PackRequest, PackSource, create};
pub use progress::ProgressHooks;
pub use unpack::{UnpackConflictPolicy, UnpackReport, UnpackRequest, extract, extract_announcing};
