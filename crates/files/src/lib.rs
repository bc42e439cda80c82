//! The user's files, opened by what they are and not by what they are called.
//!
//! A rule judges where a path really leads ([`real_path`]). [`Files`] then
//! opens exactly that place and refuses every symbolic link on the way, so
//! that nothing that happens between the two can lead a call elsewhere.

mod above;
mod arrival;
mod attributes;
mod beside;
mod change;
mod content;
mod facts;
mod files;
mod folder;
mod hold;
mod journal;
mod open;
mod place;
mod real;
mod remove;
mod scratch;
mod temporary;
mod traps;
mod whole;
mod words;
mod write;

pub use above::IgnoreRules;
pub use arrival::Arrival;
pub use attributes::{ACCESS_LIST, Unlike, attribute, attribute_names, remove_access_list};
pub use change::{Change, Changed, Secured};
pub use content::Content;
pub use facts::{Facts, Identity, Kind, WrongKind, identity, same_file};
pub use files::Files;
pub use folder::{Entries, Entry, Folder};
pub use hold::Hold;
pub use journal::{Journal, Journals, Recovered};
pub use open::{Walk, open_file, open_folder};
pub use real::{Found, find, real_entry, real_path};
pub use scratch::{Scratch, claim, remove_scratch, sweep};
pub use traps::refuse_traps;
pub use whole::read_whole;
pub use words::{explain, is_loop};
pub use write::{Existing, Mode, Permissions};
