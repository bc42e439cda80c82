//! Skills: folders with instructions that a model is given when they are wanted.
//!
//! A skill is a folder with a file `SKILL.md`: a few fields (front matter), then the instructions. Other
//! files of the folder are read when the instructions say so. A [`Shelf`] knows where skills are looked
//! for; the [`Catalogue`] is what is there now, with what cannot be used and why. A [`Skill`] reads its own
//! text and files, never outside its folder, and never what looks like an attack on the reader.
//!
//! ```text
//! Choices (settings) ─► Place (where) ─► walk ─► head (fields) ─► Catalogue ─► Skill ─► invocation
//! ```

mod address;
mod catalogue;
mod choices;
mod error;
mod head;
mod invocation;
mod matter;
mod naming;
mod place;
mod read;
mod shelf;
mod skill;
mod threat;
mod walk;

pub use catalogue::Catalogue;
pub use choices::Choices;
pub use error::SkillError;
pub use head::Head;
pub use invocation::{Call, Files, expand, typed};
pub use naming::slug;
pub use place::{Origin, Place, places};
pub use read::{Content, Text};
pub use shelf::Shelf;
pub use skill::{Note, Skill, Standing};
pub use threat::Threat;
