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

mod uri;
mod catalogue;
mod settings;
mod error;
mod manifest;
mod invocation;
mod front_matter;
mod naming;
mod roots;
mod read;
mod library;
mod skill;
mod threat;
mod walk;

pub use catalogue::SkillCatalogue;
pub use settings::SkillSettings;
pub use error::SkillError;
pub use manifest::SkillManifest;
pub use invocation::{SkillInvocation, FileReferenceStyle, expand_invocation, typed_text};
pub use naming::slug;
pub use roots::{SkillOrigin, SkillRoot, skill_roots};
pub use read::{SkillFileContent, SkillInstructions};
pub use library::SkillLibrary;
pub use skill::{SkillNote, Skill, SkillStatus};
pub use threat::SkillThreat;
