//! Settings of skills: the section `skills` of config.yaml, in the format of
//! Hermes Agent.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::naming::slug;

/// The platform of this program, as named in the settings.
const SETTINGS_PLATFORM: &str = "cli";
/// Maximum number of external directories.
const MAX_EXTERNAL_DIRS: usize = 50;

/// The user's settings for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// Slugs of disabled skills.
    disabled: Vec<String>,
    /// Slugs of the user's skills that are not scanned for threats.
    trusted: Vec<String>,
    /// Additional skill directories.
    pub(crate) external_dirs: Vec<PathBuf>,
    /// Whether placeholders such as `${HERMES_SKILL_DIR}` are expanded.
    pub(crate) expands_vars: bool,
}

impl Default for SkillSettings {
    fn default() -> Self {
        let (disabled, trusted, dirs) = Default::default();
        Self { disabled, trusted, external_dirs: dirs, expands_vars: true }
    }
}

impl SkillSettings {
    /// Reads the settings from a configuration. Invalid values are ignored,
    /// since skills must not prevent startup. `variable` looks up environment
    /// variables.
    pub fn read(config: &Value, home: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let section = config.get("skills");
        let at = |key: &str| section.and_then(|section| section.get(key));
        let here = at("platform_disabled").and_then(|all| all.get(SETTINGS_PLATFORM));
        let disabled = [at("disabled"), here].into_iter().flatten().flat_map(string_list);
        let dirs = at("external_dirs").map(string_list).unwrap_or_default();
        let dirs =
            dirs.iter().take(MAX_EXTERNAL_DIRS).map(|said| home.join(expand_path(said, variable)));
        Self {
            disabled: disabled.map(|name| slug(&name)).collect(),
            trusted: at("trusted")
                .map(string_list)
                .unwrap_or_default()
                .iter()
                .map(|n| slug(n))
                .collect(),
            external_dirs: dirs.collect(),
            expands_vars: at("template_vars").and_then(Value::as_bool).unwrap_or(true),
        }
    }

    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        self.disabled.iter().any(|known| *known == slug(name))
    }

    pub(crate) fn is_trusted(&self, name: &str) -> bool {
        self.trusted.iter().any(|known| *known == slug(name))
    }
}

/// Parses a list of strings, or a single string.
fn string_list(value: &Value) -> Vec<String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let said = items.iter().filter_map(Value::as_str).map(str::trim);
    said.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Expands `~`, `$NAME` and `${NAME}` in a path; unset variables are left
/// unchanged.
fn expand_path(path: &str, variable: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    let mut out = String::new();
    let mut rest = path;
    if let Some(below) = path.strip_prefix('~').filter(|it| it.is_empty() || it.starts_with('/')) {
        out.push_str(&variable("HOME").unwrap_or_else(|| "~".to_owned()));
        rest = below;
    }
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (name, next) = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
            Some(found) => found,
            None => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                after.split_at(after.find(|c| !is_part(c)).unwrap_or(after.len()))
            }
        };
        match variable(name).filter(|_| !name.is_empty()) {
            Some(value) => {
                out.push_str(&value);
                rest = next;
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
