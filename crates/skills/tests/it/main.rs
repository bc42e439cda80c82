//! Skills as they are found, chosen and read, in folders of every kind.

#![allow(clippy::unwrap_used)]

mod calling;
mod finding;
mod reading;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_skills::{Skill, SkillCatalogue, SkillLibrary, SkillSettings, skill_roots};
use serde_json::{Value, json};

/// A home and a project, with skills in both.
pub(crate) struct World {
    dir: tempfile::TempDir,
    skills: Value,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work/.git")).unwrap();
        Self { dir, skills: json!({}) }
    }

    pub(crate) fn with(mut self, skills: Value) -> Self {
        self.skills = skills;
        self
    }

    /// A path below the whole; real, as temporary folders may be behind a link.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A skill by the rules, at `PLACE/NAME`.
    pub(crate) fn skill(&self, at: &str) -> PathBuf {
        let name = at.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n\nDo {name}.\n");
        self.file(&format!("{at}/SKILL.md"), text)
    }

    pub(crate) fn link(&self, at: &str, target: impl AsRef<Path>) {
        let path = self.path(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn shelf(&self) -> SkillLibrary {
        let home = self.path("home");
        let config = json!({ "skills": self.skills });
        let choices = SkillSettings::read(&config, &home, &|_| None);
        let work = self.path("work/deep/er");
        fs::create_dir_all(&work).unwrap();
        SkillLibrary::new(skill_roots(&home, &choices, Some(&work)), choices)
    }

    pub(crate) fn look(&self) -> Arc<SkillCatalogue> {
        self.shelf().refresh()
    }
}

/// Each skill as `ADDRESS ORIGIN STANDING`.
pub(crate) fn told(catalogue: &SkillCatalogue) -> Vec<String> {
    let one = |skill: &Skill| {
        format!("{} {} {}", skill.qualified_name, skill.origin, skill.status.name())
    };
    catalogue.all().iter().map(one).collect()
}
