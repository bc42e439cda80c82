//! A skill: its manifest, location and status.

use std::fmt;
use std::path::PathBuf;

use crate::error::SkillError;
use crate::manifest::SkillManifest;
use crate::roots::SkillOrigin;

/// A skill that was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Skill {
    /// The fields of its front matter.
    pub manifest: SkillManifest,
    /// The name for lookup: its slug, or its path if several skills share the
    /// slug. Unique among usable skills.
    pub qualified_name: String,
    /// The top directory above it, unless that is the root.
    pub category: Option<String>,
    /// Where it comes from.
    pub origin: SkillOrigin,
    /// Its directory, as shown to users.
    pub display_dir: PathBuf,
    /// Its directory, canonicalized.
    pub dir: PathBuf,
    /// The name of its `SKILL.md`.
    pub file: &'static str,
    /// Its other files, relative to the directory.
    pub files: Vec<String>,
    /// Whether it is usable.
    pub status: SkillStatus,
    /// Minor problems.
    pub notes: Vec<SkillNote>,
    /// The slug it is found by.
    pub(crate) key: String,
    /// Its path below its root, and the index of that root.
    pub(crate) relative: String,
    pub(crate) root_index: usize,
    /// Whether it is exempt from the threat scan.
    pub(crate) is_trusted: bool,
    /// Whether placeholders in its text are expanded.
    pub(crate) expands_vars: bool,
}

/// Whether a skill is usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillStatus {
    /// It is usable.
    Ready,
    /// The settings disable it.
    Disabled,
    /// It does not support this platform.
    Unsupported,
    /// A skill of the same name takes precedence.
    Shadowed {
        /// The directory of that skill.
        by: PathBuf,
    },
    /// It is invalid.
    Broken(SkillNote),
}

impl SkillStatus {
    /// Returns the name of the status.
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

/// A note about a skill, with the line of the file if known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillNote {
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The text of the note.
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
    /// Whether it is usable.
    pub fn is_ready(&self) -> bool {
        self.status == SkillStatus::Ready
    }

    /// Returns why it is unusable; None if it is usable.
    pub fn unusable_reason(&self) -> Option<String> {
        match &self.status {
            SkillStatus::Ready => None,
            SkillStatus::Disabled => {
                Some("it is disabled in the settings (skills.disabled)".to_owned())
            }
            SkillStatus::Unsupported => {
                Some(format!("it only supports {}", self.manifest.platforms.join(", ")))
            }
            SkillStatus::Shadowed { by } => Some(format!("{} comes first", by.display())),
            SkillStatus::Broken(note) => Some(note.to_string()),
        }
    }

    /// Returns the path of its `SKILL.md`, as shown to users.
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

/// Whether the platforms include this machine's.
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
