//! Errors of skills and their files.

use std::io;

use crate::threat::SkillThreat;

/// Why a skill, or a file of one, is unavailable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// No skill has that name.
    #[error("There is no skill '{wanted}'")]
    NotFound {
        /// The requested name.
        wanted: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// Several skills have that name.
    #[error("'{wanted}' may be {}", matches.join(" or "))]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// Their qualified names.
        matches: Vec<String>,
    },
    /// The skill exists but is unusable.
    #[error("The skill '{name}' cannot be used: {why}")]
    Unusable {
        /// The name of the skill.
        name: String,
        /// The reason.
        why: String,
    },
    /// A file of the skill looks like a prompt injection.
    #[error("{file} of the skill '{name}' is not shown: it contains text that looks like a \
        prompt injection ({})", threat.rule)]
    Threat {
        /// The name of the skill.
        name: String,
        /// The file.
        file: String,
        /// What was found.
        threat: SkillThreat,
    },
    /// The path cannot be one of a skill file.
    #[error("'{path}' is not a file of the skill: {why}")]
    Outside {
        /// The requested path.
        path: String,
        /// Why the path is invalid.
        why: &'static str,
    },
    /// The skill has no such file.
    #[error("The skill '{name}' has no file '{path}'")]
    NoFile {
        /// The name of the skill.
        name: String,
        /// The requested path.
        path: String,
        /// The files of the skill.
        files: Vec<String>,
    },
    /// The file is too long.
    #[error("{file} exceeds {most} bytes")]
    TooLong {
        /// The file.
        file: String,
        /// The limit in bytes.
        most: usize,
    },
    /// An I/O error.
    #[error("{file} cannot be read: {source}")]
    Io {
        /// The file.
        file: String,
        /// The underlying error.
        source: io::Error,
    },
}

impl SkillError {
    /// Returns a hint for the caller, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { near, .. } if !near.is_empty() => {
                Some(format!("Did you mean {}?", near.join(" or ")))
            }
            Self::Ambiguous { .. } => Some("Use one of these full names.".to_owned()),
            Self::NoFile { files, .. } if !files.is_empty() => {
                Some(format!("It has {}.", files.join(", ")))
            }
            _ => None,
        }
    }
}
