//! Why a skill, or a file of one, is not to be had.

use std::io;

use crate::threat::SkillThreat;

/// A skill, or a file of one, is not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// There is none of that name.
    #[error("There is no skill '{wanted}'")]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// Names that are like it.
        near: Vec<String>,
    },
    /// There are several of that name, and none is guessed.
    #[error("'{wanted}' may be {}", matches.join(" or "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// What each of them is called in full.
        matches: Vec<String>,
    },
    /// It is there and cannot be used.
    #[error("The skill '{name}' cannot be used: {why}")]
    Unusable {
        /// Its name.
        name: String,
        /// The reason.
        why: String,
    },
    /// A file of it looks like an attack on the reader.
    #[error("{file} of the skill '{name}' is not shown: it holds text that looks like an attack on the reader ({})", threat.rule)]
    Threat {
        /// The name of the skill.
        name: String,
        /// The file.
        file: String,
        /// What was found.
        threat: SkillThreat,
    },
    /// The path is none that a skill's files have.
    #[error("'{path}' is not a file of the skill: {why}")]
    Outside {
        /// What was asked for.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The skill has no such file.
    #[error("The skill '{name}' has no file '{path}'")]
    NoFile {
        /// The name of the skill.
        name: String,
        /// What was asked for.
        path: String,
        /// The files that it has.
        files: Vec<String>,
    },
    /// The file is too long.
    #[error("{file} has more than {most} bytes")]
    TooLong {
        /// The file.
        file: String,
        /// The most.
        most: usize,
    },
    /// The operating system refuses.
    #[error("{file} cannot be read: {source}")]
    Io {
        /// The file.
        file: String,
        /// Its answer.
        source: io::Error,
    },
}

impl SkillError {
    /// What to do about it, if anything can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { near, .. } if !near.is_empty() => {
                Some(format!("Did you mean {}?", near.join(" or ")))
            }
            Self::Ambiguous { .. } => Some("Name one of them in full.".to_owned()),
            Self::NoFile { files, .. } if !files.is_empty() => {
                Some(format!("It has {}.", files.join(", ")))
            }
            _ => None,
        }
    }
}
