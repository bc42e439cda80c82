//! Directories that are searched for skills, in order of precedence.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::settings::SkillSettings;

/// Skill directories of a project. Other programs read the last two as well.
const PROJECT_SKILL_DIRS: [&str; 3] = [".hermes/skills", ".agents/skills", ".claude/skills"];
/// Maximum number of ancestors of the working directory that are searched.
const MAX_ANCESTORS: usize = 32;

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillOrigin {
    /// The user's, in HERMES_HOME.
    Home,
    /// A directory named in the settings.
    External,
    /// The project, whose skills the user may not have written or read.
    Project,
}

impl SkillOrigin {
    /// Returns the name of the origin.
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

/// A directory that is searched for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    /// The directory.
    pub dir: PathBuf,
    /// The origin of its skills.
    pub origin: SkillOrigin,
    /// The canonical directory that symlinks may not leave; None if they may
    /// lead anywhere.
    pub link_boundary: Option<PathBuf>,
}

/// Returns the skill roots for a working directory. Without one there are no
/// project roots.
pub fn skill_roots(home: &Path, choices: &SkillSettings, cwd: Option<&Path>) -> Vec<SkillRoot> {
    let own =
        |directory: PathBuf, origin| SkillRoot { dir: directory, origin, link_boundary: None };
    let mut roots = vec![own(home.join("skills"), SkillOrigin::Home)];
    roots.extend(
        choices.external_dirs.iter().map(|directory| own(directory.clone(), SkillOrigin::External)),
    );
    let Some(cwd) = cwd.and_then(|cwd| fs::canonicalize(cwd).ok()) else { return roots };
    let root = cwd.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(&cwd);
    for directory in cwd.ancestors().take(MAX_ANCESTORS).take_while(|f| f.starts_with(root)) {
        roots.extend(PROJECT_SKILL_DIRS.map(|name| SkillRoot {
            dir: directory.join(name),
            origin: SkillOrigin::Project,
            link_boundary: Some(root.to_owned()),
        }));
    }
    roots
}
