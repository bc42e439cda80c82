//! Catalogue of the skills found: which of them are usable, and lookup by name.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::SkillError;
use crate::manifest::{self, SkillManifest};
use crate::naming::{MAX_NAME_CHARS, sanitize_line, slug};
use crate::read;
use crate::roots::{SkillOrigin, SkillRoot};
use crate::settings::SkillSettings;
use crate::skill::{Skill, SkillNote, SkillStatus, is_supported};
use crate::threat;
use crate::walk::{FoundSkillDir, RootScan};

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;

/// The skills found by one scan, by origin and name.
#[derive(Debug, Clone, Default)]
pub struct SkillCatalogue {
    skills: Vec<Skill>,
    notes: Vec<SkillNote>,
}

impl SkillCatalogue {
    pub(crate) fn from_scans(
        places: &[SkillRoot],
        walked: &[RootScan],
        choices: &SkillSettings,
    ) -> Self {
        let mut skills = Vec::new();
        let mut notes = Vec::new();
        let mut dirs = HashSet::new();
        for (at, (place, walked)) in places.iter().zip(walked).enumerate() {
            notes.extend(walked.notes.iter().cloned());
            for found in &walked.found {
                // A skill reachable from two roots is listed once.
                if dirs.insert(found.dir.clone()) {
                    skills.push(load_skill(place, at, found, choices));
                }
            }
        }
        resolve_name_conflicts(&mut skills);
        Self { skills, notes }
    }

    /// Returns all skills, including unusable ones.
    pub fn all(&self) -> &[Skill] {
        &self.skills
    }

    /// Returns the usable skills.
    pub fn ready(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.is_ready())
    }

    /// Returns further notes, such as skipped directories.
    pub fn notes(&self) -> &[SkillNote] {
        &self.notes
    }

    /// Finds a skill, usable or not: by its qualified name, its name in any
    /// spelling, or its path below its root (`category/name` or
    /// `category:name`). Several matches are an error.
    pub fn find(&self, wanted: &str) -> Result<&Skill, SkillError> {
        let wanted = wanted.trim().trim_start_matches('/');
        let path = wanted.replace(':', "/");
        let key = slug(wanted);
        let counts = |skill: &&Skill| !matches!(skill.status, SkillStatus::Shadowed { .. });
        let counting: Vec<&Skill> = self.skills.iter().filter(counts).collect();
        let by_address = |skill: &&&Skill| skill.qualified_name == wanted || skill.relative == path;
        let by_name = |skill: &&&Skill| {
            let dir = skill.dir.file_name().and_then(|name| name.to_str());
            !key.is_empty() && skill.key == key || dir == Some(wanted)
        };
        let mut found: Vec<&Skill> = counting.iter().filter(by_address).copied().collect();
        if found.is_empty() {
            found = counting.iter().filter(by_name).copied().collect();
        }
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(SkillError::NotFound {
                wanted: wanted.to_owned(),
                near: self.suggestions(&key),
            }),
            several => Err(SkillError::Ambiguous {
                wanted: wanted.to_owned(),
                matches: several.iter().map(|skill| skill.qualified_name.clone()).collect(),
            }),
        }
    }

    /// Finds a skill and requires it to be usable.
    pub fn find_ready(&self, wanted: &str) -> Result<&Skill, SkillError> {
        let skill = self.find(wanted)?;
        skill.require_ready()?;
        Ok(skill)
    }

    /// Returns a copy in which skills whose text would be refused on reading
    /// are marked as broken.
    #[must_use]
    pub fn with_texts_scanned(&self) -> Self {
        let mut all = self.clone();
        for skill in all.skills.iter_mut().filter(|skill| skill.is_ready()) {
            match skill.instructions(None) {
                Ok(_) => {}
                Err(SkillError::Threat { threat, .. }) => {
                    skill.status = SkillStatus::Broken(threat_note(&threat));
                }
                Err(SkillError::Unusable { why, .. }) => {
                    skill.status = SkillStatus::Broken(SkillNote::new(why));
                }
                Err(other) => skill.status = SkillStatus::Broken(SkillNote::new(other.to_string())),
            }
        }
        all
    }

    fn suggestions(&self, key: &str) -> Vec<String> {
        let is_near = |skill: &&Skill| {
            let begins = skill.key.chars().zip(key.chars()).take_while(|(a, b)| a == b).count();
            !key.is_empty() && (skill.key.contains(key) || key.contains(&skill.key) || begins >= 3)
        };
        let near = self.ready().filter(is_near).take(MAX_SUGGESTIONS);
        near.map(|skill| skill.qualified_name.clone()).collect()
    }
}

pub(crate) fn threat_note(threat: &threat::SkillThreat) -> SkillNote {
    let what = format!(
        "it contains text that looks like a prompt injection ({}: {})",
        threat.rule, threat.excerpt
    );
    SkillNote::at_line(threat.line, what)
}

/// Loads a skill from its directory.
fn load_skill(
    place: &SkillRoot,
    at: usize,
    found: &FoundSkillDir,
    choices: &SkillSettings,
) -> Skill {
    let shown = place.dir.join(&found.relative);
    let name = shown.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let parts: Vec<String> = found
        .relative
        .iter()
        .map(|part| sanitize_line(&part.to_string_lossy(), MAX_NAME_CHARS))
        .collect();
    // A root may be a skill itself.
    let relative =
        if parts.is_empty() { sanitize_line(&name, MAX_NAME_CHARS) } else { parts.join("/") };
    let mut skill = Skill {
        manifest: SkillManifest {
            name: sanitize_line(&name, MAX_NAME_CHARS),
            ..SkillManifest::default()
        },
        qualified_name: String::new(),
        category: parts.first().filter(|_| parts.len() > 1).cloned(),
        origin: place.origin,
        display_dir: shown.clone(),
        dir: found.dir.clone(),
        file: found.file,
        files: found.files.clone(),
        status: SkillStatus::Ready,
        notes: Vec::new(),
        key: String::new(),
        relative,
        root_index: at,
        is_trusted: false,
        expands_vars: choices.expands_vars,
    };
    match read::read_skill_file(&found.dir, found.file) {
        Err(note) => skill.status = SkillStatus::Broken(note),
        Ok(text) => match manifest::parse(&text, &name) {
            Err(fault) => {
                skill.status = SkillStatus::Broken(SkillNote::at_line(fault.line, fault.what))
            }
            Ok(read) => {
                skill.notes = read.notes;
                skill.manifest = read.manifest;
            }
        },
    }
    skill.key = [slug(&skill.manifest.name), slug(&name)]
        .into_iter()
        .find(|key| !key.is_empty())
        .unwrap_or_else(|| "skill".to_owned());
    let is_own = place.origin != SkillOrigin::Project;
    skill.is_trusted = is_own && choices.is_trusted(&skill.key);
    if skill.is_ready() {
        skill.status = assess_status(&skill, choices);
    }
    skill
}

/// Returns whether a readable skill is usable.
fn assess_status(skill: &Skill, choices: &SkillSettings) -> SkillStatus {
    if choices.is_disabled(&skill.key) || choices.is_disabled(&skill.manifest.name) {
        return SkillStatus::Disabled;
    }
    if !is_supported(&skill.manifest.platforms) {
        return SkillStatus::Unsupported;
    }
    // The model reads the listing before the user asks for the skill.
    let listed = format!("{}\n{}", skill.manifest.name, skill.manifest.description);
    match threat::find_threat(&listed).filter(|_| !skill.is_trusted) {
        Some(threat) => SkillStatus::Broken(SkillNote { line: None, ..threat_note(&threat) }),
        None => SkillStatus::Ready,
    }
}

/// Resolves skills of the same name: the first root wins, even if its skill is
/// broken, so a project cannot replace a skill of the user.
fn resolve_name_conflicts(skills: &mut [Skill]) {
    let mut first: HashMap<String, (usize, usize)> = HashMap::new();
    let mut several: HashSet<String> = HashSet::new();
    for (at, skill) in skills.iter().enumerate() {
        match first.get(&skill.key) {
            None => {
                first.insert(skill.key.clone(), (skill.root_index, at));
            }
            Some((place, _)) if *place == skill.root_index => {
                several.insert(skill.key.clone());
            }
            Some(_) => {}
        }
    }
    let shown: Vec<_> = skills.iter().map(|skill| skill.display_dir.clone()).collect();
    for skill in skills.iter_mut() {
        let Some((place, at)) = first.get(&skill.key) else { continue };
        let is_one_of_several = several.contains(&skill.key) && *place == skill.root_index;
        skill.qualified_name =
            if is_one_of_several { skill.relative.clone() } else { skill.key.clone() };
        if *place != skill.root_index {
            let by = shown.get(*at).map(|path| Path::new(path).to_owned()).unwrap_or_default();
            skill.status = SkillStatus::Shadowed { by };
        }
    }
    skills.sort_by(|a, b| {
        (a.root_index, &a.category, &a.key, &a.relative).cmp(&(
            b.root_index,
            &b.category,
            &b.key,
            &b.relative,
        ))
    });
}
