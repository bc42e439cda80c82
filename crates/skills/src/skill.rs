//! One skill: what it is, where, and whether it can be used.

use std::fmt;
use std::path::PathBuf;

use crate::error::SkillError;
use crate::head::Head;
use crate::place::Origin;

/// A skill that was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Skill {
    /// What it says of itself.
    pub head: Head,
    /// What it is asked for by: its name in small letters, or its path where several have that name. No
    /// other skill that can be used has it.
    pub address: String,
    /// The folder above it, if it is not the place itself.
    pub category: Option<String>,
    /// Whose it is.
    pub origin: Origin,
    /// Its folder, as people find it.
    pub shown: PathBuf,
    /// Its folder, as it really is.
    pub folder: PathBuf,
    /// What its own file is called.
    pub file: &'static str,
    /// Its other files, relative to the folder.
    pub files: Vec<String>,
    /// Whether it can be used.
    pub standing: Standing,
    /// What is odd about it and does not matter much.
    pub notes: Vec<Note>,
    /// What it is found by: its name as it is typed.
    pub(crate) key: String,
    /// Where it is below its place, and which place that is.
    pub(crate) relative: String,
    pub(crate) place: usize,
    /// Whether it is not searched for attacks.
    pub(crate) is_trusted: bool,
    /// Whether names in its text are filled in.
    pub(crate) fills_in: bool,
}

/// Whether a skill can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
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
    Broken(Note),
}

impl Standing {
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
pub struct Note {
    /// The line, from 1.
    pub line: Option<usize>,
    /// What there is to tell.
    pub text: String,
}

impl Note {
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self { line: None, text: text.into() }
    }

    pub(crate) fn at(line: usize, text: impl Into<String>) -> Self {
        Self { line: Some(line), text: text.into() }
    }
}

impl fmt::Display for Note {
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
        self.standing == Standing::Ready
    }

    /// Why it cannot be used; none if it can.
    pub fn why_not(&self) -> Option<String> {
        match &self.standing {
            Standing::Ready => None,
            Standing::Disabled => Some("the settings switch it off (skills.disabled)".to_owned()),
            Standing::Unsupported => Some(format!("it is for {}", self.head.platforms.join(", "))),
            Standing::Shadowed { by } => Some(format!("{} comes first", by.display())),
            Standing::Broken(note) => Some(note.to_string()),
        }
    }

    /// Its own file, as people find it.
    pub fn path(&self) -> PathBuf {
        self.shown.join(self.file)
    }

    pub(crate) fn require_ready(&self) -> Result<(), SkillError> {
        match self.why_not() {
            None => Ok(()),
            Some(why) => Err(SkillError::Unusable { name: self.head.name.clone(), why }),
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
