//! Archives: made, listed and unpacked, and never let out of their folder.
//!
//! What an archive says of itself is never believed. Names are checked before
//! they become paths ([`SafeName`]), sizes are counted while bytes arrive
//! ([`ArchiveLimits`]), and a tree is unpacked beside its place and moved there when
//! all of it has arrived, so that a failure leaves nothing behind.

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
