//! Skills: directories with instructions that are loaded for the model on
//! demand.
//!
//! A skill is a directory with a `SKILL.md`: front matter, then the
//! instructions. The model reads other files of the directory when the
//! instructions say so. A [`SkillLibrary`] scans the skill roots; the
//! [`SkillCatalogue`] lists the skills found, including unusable ones with the
//! reason. A [`Skill`] reads its text and files, never outside its directory,
//! and rejects text that looks like a prompt injection.
//!
//! ```text
//! SkillSettings ─► SkillRoot ─► walk ─► SkillManifest ─► SkillCatalogue ─► Skill ─► invocation
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
