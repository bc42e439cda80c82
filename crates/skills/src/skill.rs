//! One skill: what it is, where, and whether it can be used.

use std::fmt;
use std::path::PathBuf;

use crate::error::SkillError;
use crate::manifest::SkillManifest;
use crate::roots::SkillOrigin;

/// A skill that was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Skill {
    /// What it says of itself.
    pub manifest: SkillManifest,
    /// What it is asked for by: its name in small letters, or its path where several have that name. No
    /// other skill that can be used has it.
    pub qualified_name: String,
    /// The folder above it, if it is not the place itself.
    pub category: Option<String>,
    /// Whose it is.
    pub origin: SkillOrigin,
    /// Its folder, as people find it.
    pub display_dir: PathBuf,
    /// Its folder, as it really is.
    pub dir: PathBuf,
    /// What its own file is called.
    pub file: &'static str,
    /// Its other files, relative to the folder.
    pub files: Vec<String>,
    /// Whether it can be used.
    pub status: SkillStatus,
    /// What is odd about it and does not matter much.
    pub notes: Vec<SkillNote>,
    /// What it is found by: its name as it is typed.
    pub(crate) key: String,
    /// Where it is below its place, and which place that is.
    pub(crate) relative: String,
    pub(crate) root_index: usize,
    /// Whether it is not searched for attacks.
    pub(crate) is_trusted: bool,
    /// Whether names in its text are filled in.
    pub(crate) expands_vars: bool,
}

/// Whether a skill can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillStatus {
    /// It can.
    Ready,
    /// The settings switch it off.
    Disabled,
    /// It is for other systems.
    Unsupported,
    /// Another one of the same name comes first.
    Shadowed {
        /// Where that is.
        by: PathBuf,
    },
    /// Something is wrong with it.
    Broken(SkillNote),
}

impl SkillStatus {
    /// The standing as a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Disabled => "disabled",
            Self::Unsupported => "unsupported",
            Self::Shadowed { .. } => "shadowed",
            Self::Broken(_) => "broken",
        }
    }
}

/// Something to be told, with the line of the file if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillNote {
    /// The line, from 1.
    pub line: Option<usize>,
    /// What there is to tell.
    pub text: String,
}

impl SkillNote {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { line: None, text: text.into() }
    }

    pub(crate) fn at_line(line: usize, text: impl Into<String>) -> Self {
        Self { line: Some(line), text: text.into() }
    }
}

impl fmt::Display for SkillNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Skill {
    /// Whether it can be used.
    pub fn is_ready(&self) -> bool {
        self.status == SkillStatus::Ready
    }

    /// Why it cannot be used; none if it can.
    pub fn unusable_reason(&self) -> Option<String> {
        match &self.status {
            SkillStatus::Ready => None,
            SkillStatus::Disabled => {
                Some("the settings switch it off (skills.disabled)".to_owned())
            }
            SkillStatus::Unsupported => {
                Some(format!("it is for {}", self.manifest.platforms.join(", ")))
            }
            SkillStatus::Shadowed { by } => Some(format!("{} comes first", by.display())),
            SkillStatus::Broken(note) => Some(note.to_string()),
        }
    }

    /// Its own file, as people find it.
    pub fn path(&self) -> PathBuf {
        self.display_dir.join(self.file)
    }

    pub(crate) fn require_ready(&self) -> Result<(), SkillError> {
        match self.unusable_reason() {
            None => Ok(()),
            Some(why) => Err(SkillError::Unusable { name: self.manifest.name.clone(), why }),
        }
    }
}

/// Whether a skill for these systems is one for this machine.
pub(crate) fn is_supported(platforms: &[String]) -> bool {
    let here = match std::env::consts::OS {
        "macos" => ["macos", "darwin"],
        "windows" => ["windows", "win32"],
        "android" => ["android", "linux"],
        other => [other, other],
    };
    let fits = |said: &String| {
        let said = said.to_lowercase();
        here.iter().any(|name| name.starts_with(&said))
    };
    platforms.is_empty() || platforms.iter().any(fits)
}
