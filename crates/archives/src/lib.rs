//! Archives: made, listed and unpacked, and never let out of their folder.
//!
//! What an archive says of itself is never believed. Names are checked before
//! they become paths ([`SafeName`]), sizes are counted while bytes arrive
//! ([`Limits`]), and a tree is unpacked beside its place and moved there when
//! all of it has arrived, so that a failure leaves nothing behind.

mod choice;
mod format;
mod gauge;
mod limits;
mod list;
mod member;
mod name;
mod pack;
mod read;
mod rules;
mod unkept;
mod unpack;

pub use choice::Choice;
pub use format::Format;
pub use gauge::Oversight;
pub use limits::Limits;
pub use list::{Listing, Page, list};
pub use member::{Member, Nature, Skipped};
pub use name::SafeName;
pub use pack::{Created, Packing, Source, create};
pub use unkept::NotKept;
pub use unpack::{Existing, Extracted, Unpacking, extract, extract_telling};
