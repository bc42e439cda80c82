//! Rules saved when the user answers "always".

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_config::{ConfigError, save};
use hermes_store::regular_file;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::approval_unit::ApprovalUnit;

/// A saved rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRule {
    /// Profile that the rule applies to.
    pub profile: String,
    /// What the rule allows.
    #[serde(flatten)]
    pub unit: ApprovalUnit,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedRulesDocument {
    version: u32,
    rules: Vec<SavedRule>,
}

/// The saved rules and their file.
#[derive(Debug)]
pub struct SavedRules {
    path: PathBuf,
    loaded: RwLock<LoadedRules>,
}

/// Rules as last read, with the stamp of the file they came from.
#[derive(Debug)]
struct LoadedRules {
    rules: Vec<SavedRule>,
    stamp: Option<SavedRulesStamp>,
}

/// Inode, size and modification time, to detect changes by other processes.
type SavedRulesStamp = (u64, u64, SystemTime);

fn file_stamp(path: &Path) -> Option<SavedRulesStamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.modified().ok()?))
}

impl SavedRules {
    /// Reads the file; a missing file contains no rules.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, String> {
        let path = path.into();
        let stamp = file_stamp(&path);
        let rules = match regular_file::read_text(&path) {
            Ok(text) => parse(&path, &text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        Ok(Self { path, loaded: RwLock::new(LoadedRules { rules, stamp }) })
    }

    /// Reloads the file if another process has changed it. An unreadable file
    /// allows nothing.
    fn refresh(&self) {
        let now = file_stamp(&self.path);
        if self.loaded.read().stamp == now {
            return;
        }
        let rules = regular_file::read_text(&self.path).ok();
        let rules = rules.and_then(|text| parse(&self.path, &text).ok()).unwrap_or_default();
        *self.loaded.write() = LoadedRules { rules, stamp: now };
    }

    /// Returns all rules.
    pub fn list(&self) -> Vec<SavedRule> {
        self.refresh();
        self.loaded.read().rules.clone()
    }

    /// Whether a rule of the profile covers this unit.
    pub fn covers(&self, profile: &str, unit: &ApprovalUnit) -> bool {
        self.refresh();
        let known = self.loaded.read();
        known.rules.iter().any(|rule| rule.profile == profile && rule.unit.covers(unit))
    }

    /// Saves rules for these units.
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

    /// Removes a rule by its index in the list; returns whether it existed.
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

    /// Changes the file under a lock shared by all processes.
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
