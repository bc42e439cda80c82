//! What is there: every skill that was found, which of them count, and how one is asked for.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::choices::Choices;
use crate::error::SkillError;
use crate::head::{self, Head};
use crate::naming::{LONGEST_NAME, slug, tidy};
use crate::place::{Origin, Place};
use crate::read;
use crate::skill::{Note, Skill, Standing, is_supported};
use crate::threat;
use crate::walk::{Found, Walked};

/// How many names are suggested.
const NEAR: usize = 3;

/// The skills of a moment, by origin and name.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    skills: Vec<Skill>,
    notes: Vec<Note>,
}

impl Catalogue {
    pub(crate) fn of(places: &[Place], walked: &[Walked], choices: &Choices) -> Self {
        let mut skills = Vec::new();
        let mut notes = Vec::new();
        let mut folders = HashSet::new();
        for (at, (place, walked)) in places.iter().zip(walked).enumerate() {
            notes.extend(walked.notes.iter().cloned());
            for found in &walked.found {
                // One that two places lead to is not there twice.
                if folders.insert(found.folder.clone()) {
                    skills.push(look_at(place, at, found, choices));
                }
            }
        }
        settle(&mut skills);
        Self { skills, notes }
    }

    /// All of them, those that cannot be used as well.
    pub fn all(&self) -> &[Skill] {
        &self.skills
    }

    /// Those that can be used.
    pub fn ready(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.is_ready())
    }

    /// What else is to be told: folders that were left out.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The skill that is meant, whether it can be used or not: by its address, its name in any spelling, or
    /// its path below its place (`category/name` or `category:name`). Of several none is guessed.
    pub fn find(&self, wanted: &str) -> Result<&Skill, SkillError> {
        let wanted = wanted.trim().trim_start_matches('/');
        let path = wanted.replace(':', "/");
        let key = slug(wanted);
        let counts = |skill: &&Skill| !matches!(skill.standing, Standing::Shadowed { .. });
        let counting: Vec<&Skill> = self.skills.iter().filter(counts).collect();
        let by_address = |skill: &&&Skill| skill.address == wanted || skill.relative == path;
        let by_name = |skill: &&&Skill| {
            let folder = skill.folder.file_name().and_then(|name| name.to_str());
            !key.is_empty() && skill.key == key || folder == Some(wanted)
        };
        let mut found: Vec<&Skill> = counting.iter().filter(by_address).copied().collect();
        if found.is_empty() {
            found = counting.iter().filter(by_name).copied().collect();
        }
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(SkillError::NotFound { wanted: wanted.to_owned(), near: self.near(&key) }),
            several => Err(SkillError::Ambiguous {
                wanted: wanted.to_owned(),
                matches: several.iter().map(|skill| skill.address.clone()).collect(),
            }),
        }
    }

    /// The skill that is meant, if it can be used.
    pub fn usable(&self, wanted: &str) -> Result<&Skill, SkillError> {
        let skill = self.find(wanted)?;
        skill.require_ready()?;
        Ok(skill)
    }

    /// The same after every text was read: what would be refused then is told now.
    #[must_use]
    pub fn examined(&self) -> Self {
        let mut all = self.clone();
        for skill in all.skills.iter_mut().filter(|skill| skill.is_ready()) {
            match skill.text(None) {
                Ok(_) => {}
                Err(SkillError::Threat { threat, .. }) => {
                    skill.standing = Standing::Broken(suspicious(&threat));
                }
                Err(SkillError::Unusable { why, .. }) => {
                    skill.standing = Standing::Broken(Note::of(why));
                }
                Err(other) => skill.standing = Standing::Broken(Note::of(other.to_string())),
            }
        }
        all
    }

    fn near(&self, key: &str) -> Vec<String> {
        let is_near = |skill: &&Skill| {
            let begins = skill.key.chars().zip(key.chars()).take_while(|(a, b)| a == b).count();
            !key.is_empty() && (skill.key.contains(key) || key.contains(&skill.key) || begins >= 3)
        };
        let near = self.ready().filter(is_near).take(NEAR);
        near.map(|skill| skill.address.clone()).collect()
    }
}

pub(crate) fn suspicious(threat: &threat::Threat) -> Note {
    let what = format!(
        "it holds text that looks like an attack on the reader ({}: {})",
        threat.rule, threat.excerpt
    );
    Note::at(threat.line, what)
}

/// Reads a skill that was found.
fn look_at(place: &Place, at: usize, found: &Found, choices: &Choices) -> Skill {
    let shown = place.folder.join(&found.relative);
    let name = shown.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let parts: Vec<String> =
        found.relative.iter().map(|part| tidy(&part.to_string_lossy(), LONGEST_NAME)).collect();
    // A place may be a skill itself.
    let relative = if parts.is_empty() { tidy(&name, LONGEST_NAME) } else { parts.join("/") };
    let mut skill = Skill {
        head: Head { name: tidy(&name, LONGEST_NAME), ..Head::default() },
        address: String::new(),
        category: parts.first().filter(|_| parts.len() > 1).cloned(),
        origin: place.origin,
        shown: shown.clone(),
        folder: found.folder.clone(),
        file: found.file,
        files: found.files.clone(),
        standing: Standing::Ready,
        notes: Vec::new(),
        key: String::new(),
        relative,
        place: at,
        is_trusted: false,
        fills_in: choices.fills_in,
    };
    match read::own_file(&found.folder, found.file) {
        Err(note) => skill.standing = Standing::Broken(note),
        Ok(text) => match head::read(&text, &name) {
            Err(fault) => skill.standing = Standing::Broken(Note::at(fault.line, fault.what)),
            Ok(read) => {
                skill.notes = read.notes;
                skill.head = read.head;
            }
        },
    }
    skill.key = [slug(&skill.head.name), slug(&name)]
        .into_iter()
        .find(|key| !key.is_empty())
        .unwrap_or_else(|| "skill".to_owned());
    let is_own = place.origin != Origin::Project;
    skill.is_trusted = is_own && choices.trusts(&skill.key);
    if skill.is_ready() {
        skill.standing = standing(&skill, choices);
    }
    skill
}

/// Whether a skill that can be read can be used.
fn standing(skill: &Skill, choices: &Choices) -> Standing {
    if choices.disables(&skill.key) || choices.disables(&skill.head.name) {
        return Standing::Disabled;
    }
    if !is_supported(&skill.head.platforms) {
        return Standing::Unsupported;
    }
    // What is listed is read by a model before anybody has asked for it.
    let listed = format!("{}\n{}", skill.head.name, skill.head.description);
    match threat::find(&listed).filter(|_| !skill.is_trusted) {
        Some(threat) => Standing::Broken(Note { line: None, ..suspicious(&threat) }),
        None => Standing::Ready,
    }
}

/// Decides which of several skills of one name count. A place that comes later does not take a name away, not
/// even from a skill that is broken: a project must not slip in its own.
fn settle(skills: &mut [Skill]) {
    let mut first: HashMap<String, (usize, usize)> = HashMap::new();
    let mut several: HashSet<String> = HashSet::new();
    for (at, skill) in skills.iter().enumerate() {
        match first.get(&skill.key) {
            None => {
                first.insert(skill.key.clone(), (skill.place, at));
            }
            Some((place, _)) if *place == skill.place => {
                several.insert(skill.key.clone());
            }
            Some(_) => {}
        }
    }
    let shown: Vec<_> = skills.iter().map(|skill| skill.shown.clone()).collect();
    for skill in skills.iter_mut() {
        let Some((place, at)) = first.get(&skill.key) else { continue };
        let is_one_of_several = several.contains(&skill.key) && *place == skill.place;
        skill.address = if is_one_of_several { skill.relative.clone() } else { skill.key.clone() };
        if *place != skill.place {
            let by = shown.get(*at).map(|path| Path::new(path).to_owned()).unwrap_or_default();
            skill.standing = Standing::Shadowed { by };
        }
    }
    skills.sort_by(|a, b| {
        (a.place, &a.category, &a.key, &a.relative).cmp(&(
            b.place,
            &b.category,
            &b.key,
            &b.relative,
        ))
    });
}
