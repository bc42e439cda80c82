//! Where skills are looked for, the strongest place first.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::settings::SkillSettings;

/// Where a project may keep skills. Other programs read the last two as well.
const PROJECT_SKILL_DIRS: [&str; 3] = [".hermes/skills", ".agents/skills", ".claude/skills"];
/// So far up from the working folder is looked.
const MAX_ANCESTORS: usize = 32;

/// Whose a skill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillOrigin {
    /// The user's own, in HERMES_HOME.
    Home,
    /// In another folder that the settings name.
    External,
    /// That of the project, which the user need not have written or read.
    Project,
}

impl SkillOrigin {
    /// The origin as a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::External => "external",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for SkillOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A folder that skills are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    /// The folder.
    pub dir: PathBuf,
    /// Whose skills are there.
    pub origin: SkillOrigin,
    /// The real folder that links may not leave; none if they may lead anywhere.
    pub link_boundary: Option<PathBuf>,
}

/// The places of a user who works in a folder. Without one there is no project.
pub fn skill_roots(home: &Path, choices: &SkillSettings, cwd: Option<&Path>) -> Vec<SkillRoot> {
    let own = |folder: PathBuf, origin| SkillRoot { dir: folder, origin, link_boundary: None };
    let mut roots = vec![own(home.join("skills"), SkillOrigin::Home)];
    roots.extend(
        choices.external_dirs.iter().map(|folder| own(folder.clone(), SkillOrigin::External)),
    );
    let Some(cwd) = cwd.and_then(|cwd| fs::canonicalize(cwd).ok()) else { return roots };
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd);
    for folder in cwd.ancestors().take(MAX_ANCESTORS).take_while(|f| f.starts_with(root)) {
        roots.extend(PROJECT_SKILL_DIRS.map(|name| SkillRoot {
            dir: folder.join(name),
            origin: SkillOrigin::Project,
            link_boundary: Some(root.to_owned()),
        }));
    }
    roots
}
