//! Where skills are looked for, the strongest place first.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::choices::Choices;

/// Where a project may keep skills. Other programs read the last two as well.
const OF_PROJECTS: [&str; 3] = [".hermes/skills", ".agents/skills", ".claude/skills"];
/// So far up from the working folder is looked.
const ANCESTORS: usize = 32;

/// Whose a skill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user's own, in HERMES_HOME.
    Home,
    /// In another folder that the settings name.
    External,
    /// That of the project, which the user need not have written or read.
    Project,
}

impl Origin {
    /// The origin as a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::External => "external",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A folder that skills are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// Whose skills are there.
    pub origin: Origin,
    /// The real folder that links may not leave; none if they may lead anywhere.
    pub bound: Option<PathBuf>,
}

/// The places of a user who works in a folder. Without one there is no project.
pub fn places(home: &Path, choices: &Choices, cwd: Option<&Path>) -> Vec<Place> {
    let own = |folder: PathBuf, origin| Place { folder, origin, bound: None };
    let mut places = vec![own(home.join("skills"), Origin::Home)];
    places.extend(choices.folders.iter().map(|folder| own(folder.clone(), Origin::External)));
    let Some(cwd) = cwd.and_then(|cwd| fs::canonicalize(cwd).ok()) else { return places };
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd);
    for folder in cwd.ancestors().take(ANCESTORS).take_while(|f| f.starts_with(root)) {
        places.extend(OF_PROJECTS.map(|name| Place {
            folder: folder.join(name),
            origin: Origin::Project,
            bound: Some(root.to_owned()),
        }));
    }
    places
}
