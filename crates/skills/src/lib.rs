//! Skills: folders with instructions that a model is given when they are wanted.
//!
//! A skill is a folder with a file `SKILL.md`: a few fields (front matter), then the instructions. Other
//! files of the folder are read when the instructions say so. A [`SkillLibrary`] knows where skills are looked
//! for; the [`SkillCatalogue`] is what is there now, with what cannot be used and why. A [`Skill`] reads its own
//! text and files, never outside its folder, and never what looks like an attack on the reader.
//!
//! ```text
//! Choices (settings) ─► Place (where) ─► walk ─► head (fields) ─► Catalogue ─► Skill ─► invocation
//! ```

mod catalogue;
mod error;
mod front_matter;
mod invocation;
mod library;
mod manifest;
mod naming;
mod read;
mod roots;
mod settings;
mod skill;
mod threat;
mod uri;
mod walk;

pub use catalogue::SkillCatalogue;
pub use error::SkillError;
pub use invocation::{FileReferenceStyle, SkillInvocation, expand_invocation, typed_text};
pub use library::SkillLibrary;
pub use manifest::SkillManifest;
pub use naming::slug;
pub use read::{SkillFileContent, SkillInstructions};
pub use roots::{SkillOrigin, SkillRoot, skill_roots};
pub use settings::SkillSettings;
pub use skill::{Skill, SkillNote, SkillStatus};
pub use threat::SkillThreat;
