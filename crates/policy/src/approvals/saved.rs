//! Rules that somebody saved by answering "always".

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_config::{ConfigError, save};
use hermes_store::regular_file;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::approval_unit::ApprovalUnit;

/// A rule that was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRule {
    /// The profile in which it holds.
    pub profile: String,
    /// What it allows.
    #[serde(flatten)]
    pub unit: ApprovalUnit,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedRulesDocument {
    version: u32,
    rules: Vec<SavedRule>,
}

/// The saved rules, in their file.
#[derive(Debug)]
pub struct SavedRules {
    path: PathBuf,
    loaded: RwLock<LoadedRules>,
}

/// The rules as they were read, and of which file.
#[derive(Debug)]
struct LoadedRules {
    rules: Vec<SavedRule>,
    stamp: Option<SavedRulesStamp>,
}

/// What changes when somebody else changes the file.
type SavedRulesStamp = (u64, u64, SystemTime);

fn file_stamp(path: &Path) -> Option<SavedRulesStamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.modified().ok()?))
}

impl SavedRules {
    /// Reads the file; one that is not there holds no rules.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, String> {
        let path = path.into();
        let stamp = file_stamp(&path);
        let rules = match regular_file::read_text(&path) {
            Ok(text) => parse(&path, &text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        Ok(Self { path, loaded: RwLock::new(LoadedRules { rules, stamp }) })
    }

    /// Reads the file again if another process has changed it. What cannot be
    /// read allows nothing.
    fn refresh(&self) {
        let now = file_stamp(&self.path);
        if self.loaded.read().stamp == now {
            return;
        }
        let rules = regular_file::read_text(&self.path).ok();
        let rules = rules.and_then(|text| parse(&self.path, &text).ok()).unwrap_or_default();
        *self.loaded.write() = LoadedRules { rules, stamp: now };
    }

    /// All of them.
    pub fn list(&self) -> Vec<SavedRule> {
        self.refresh();
        self.loaded.read().rules.clone()
    }

    /// Whether one of them covers this in that profile.
    pub fn covers(&self, profile: &str, unit: &ApprovalUnit) -> bool {
        self.refresh();
        let known = self.loaded.read();
        known.rules.iter().any(|rule| rule.profile == profile && rule.unit.covers(unit))
    }

    /// Saves more.
    pub fn add(&self, profile: &str, units: Vec<ApprovalUnit>) -> Result<(), String> {
        self.change(|rules| {
            for unit in units {
                let known = rules.iter().any(|r| r.profile == profile && r.unit.covers(&unit));
                if !known {
                    rules.push(SavedRule { profile: profile.to_owned(), unit });
                }
            }
        })
    }

    /// Takes one away by its place in the list; whether it was there.
    pub fn remove(&self, index: usize) -> Result<bool, String> {
        let mut removed = false;
        self.change(|rules| {
            if index < rules.len() {
                rules.remove(index);
                removed = true;
            }
        })?;
        Ok(removed)
    }

    /// Changes the file, alone among all processes that do the same.
    fn change(&self, change: impl FnOnce(&mut Vec<SavedRule>)) -> Result<(), String> {
        let mut problem = None;
        let mut after = Vec::new();
        save::update(&self.path, |text| -> Result<String, ConfigError> {
            match parse(&self.path, text) {
                Ok(mut rules) => {
                    change(&mut rules);
                    after.clone_from(&rules);
                    let stored = SavedRulesDocument { version: 1, rules };
                    Ok(serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n")
                }
                Err(damage) => {
                    problem = Some(damage);
                    Ok(text.to_owned())
                }
            }
        })
        .map_err(|error| error.to_string())?;
        if let Some(problem) = problem {
            return Err(problem);
        }
        let stamp = file_stamp(&self.path);
        *self.loaded.write() = LoadedRules { rules: after, stamp };
        Ok(())
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<SavedRule>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let stored: SavedRulesDocument = serde_json::from_str(text)
        .map_err(|error| format!("{} is damaged: {error}", path.display()))?;
    Ok(stored.rules)
}
