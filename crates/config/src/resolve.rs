//! Resolves settings: reads the file and the environment key by key, collects
//! all errors, and records the origin of every value.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::document::{ConfigDocument, describe, get, parse_value};
use crate::error::{ConfigDiagnostic, ConfigError, FilePosition};
use crate::home::HermesHome;
use crate::keys::{
    KEYS, OTHER_SECTIONS, SEARCH_DEFAULT_LIMIT, SEARCH_MAX_LIMIT, SettingKey, SettingKind, TypedKey,
};
use crate::path::KeyPath;
use crate::settings::{HermesSettings, SettingSource, SettingValue};
use crate::suggest::nearest;
use crate::vars::EnvSnapshot;

/// The section that can be a boolean instead of a mapping.
const TOOL_SEARCH_SECTION: [&str; 2] = ["tools", "tool_search"];
/// The section that can be a model name instead of a mapping.
const MODEL_SECTION: [&str; 1] = ["model"];

/// The unchecked configuration: the document and the environment.
#[derive(Debug)]
pub struct RawConfig {
    /// config.yaml.
    pub document: ConfigDocument,
    /// The environment.
    pub env: EnvSnapshot,
}

/// The checked configuration.
#[derive(Debug)]
pub struct ResolvedConfig {
    /// The settings.
    pub settings: HermesSettings,
    /// Each setting with its origin, in the order of [`KEYS`].
    pub resolved: Vec<ResolvedSetting>,
    /// Probable mistakes that are not errors.
    pub warnings: Vec<ConfigWarning>,
    /// config.yaml, including unknown keys.
    pub document: ConfigDocument,
}

/// A setting's value and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedSetting {
    /// The setting.
    pub key: &'static SettingKey,
    /// Its value; null if it is not set and has no default.
    pub value: Value,
    /// The origin of the value.
    pub origin: SettingOrigin,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Not set.
    Default,
    /// A position in the configuration file.
    File(FilePosition),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => write!(f, "{}:{}", place.file.display(), place.line),
            Self::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// A probable mistake that is not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigWarning(pub ConfigDiagnostic);

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl RawConfig {
    /// Reads config.yaml of the home directory; a missing file counts as empty.
    pub fn load(home: &HermesHome, env: EnvSnapshot) -> Result<Self, ConfigError> {
        let document = ConfigDocument::load(&home.config_file())?;
        Ok(Self { document, env })
    }

    /// Parses a text; `name` is the file name in errors.
    pub fn parse(
        name: impl Into<PathBuf>,
        text: impl Into<String>,
        env: EnvSnapshot,
    ) -> Result<Self, ConfigError> {
        let document = ConfigDocument::parse(name, text)?;
        Ok(Self { document, env })
    }

    /// Checks every known setting, and reports all errors at once.
    pub fn resolve(self) -> Result<ResolvedConfig, ConfigError> {
        let mut reader = SettingsReader {
            raw: &self,
            resolved: Vec::with_capacity(KEYS.len()),
            problems: Vec::new(),
            reported_sections: Vec::new(),
        };
        let mut settings = HermesSettings::read(&mut reader);
        let SettingsReader { mut resolved, problems, .. } = reader;
        if !problems.is_empty() {
            return Err(ConfigError::Settings(problems));
        }
        let mut warnings = misspelled_keys(&self.document);
        let search = &mut settings.tool_search;
        if search.search_default_limit > search.max_search_limit {
            search.search_default_limit = search.max_search_limit;
            warnings.extend(clamp_default_limit(
                &self.document,
                &mut resolved,
                search.max_search_limit,
            ));
        }
        Ok(ResolvedConfig { settings, resolved, warnings, document: self.document })
    }
}

impl ResolvedConfig {
    /// Returns a known setting.
    pub fn setting(&self, name: &str) -> Option<&ResolvedSetting> {
        self.resolved.iter().find(|resolved| resolved.key.name == name)
    }

    /// Returns the value at any path, known or not, with defaults filled in; a
    /// section is a mapping.
    pub fn get(&self, path: &KeyPath) -> Option<(Value, SettingOrigin)> {
        let dotted = path.names().join(".");
        if let Some(resolved) = self.setting(&dotted) {
            return Some((resolved.value.clone(), resolved.origin.clone()));
        }
        let value = get(&self.effective(), path.names())?.clone();
        let origin = match self.document.position(path) {
            Some(place) => SettingOrigin::File(place),
            None => SettingOrigin::Default,
        };
        Some((value, origin))
    }

    /// Returns the document with the value of every known setting filled in.
    fn effective(&self) -> Value {
        let mut value = self.document.value().clone();
        for resolved in self.resolved.iter().filter(|one| !one.value.is_null()) {
            let mut at = &mut value;
            for name in resolved.key.name.split('.') {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                // It is a mapping after the line above; indexing inserts the
                // name.
                at = &mut at[name];
            }
            *at = resolved.value.clone();
        }
        value
    }
}

struct SettingsReader<'r> {
    raw: &'r RawConfig,
    resolved: Vec<ResolvedSetting>,
    problems: Vec<ConfigDiagnostic>,
    /// Sections already reported as not mappings.
    reported_sections: Vec<Vec<String>>,
}

impl SettingSource for SettingsReader<'_> {
    fn read<T: SettingValue>(&mut self, typed: TypedKey<T>) -> T {
        let Some(key) = SettingKey::find(typed.key.name) else {
            return T::default();
        };
        let (value, origin) = self.find(key);
        let result = T::from_value(&value).unwrap_or_default();
        self.resolved.push(ResolvedSetting { key, value, origin });
        result
    }
}

impl SettingsReader<'_> {
    fn find(&mut self, key: &'static SettingKey) -> (Value, SettingOrigin) {
        let default = || (key.default.to_value(), SettingOrigin::Default);
        if let Some((variable, text)) =
            key.variables.iter().find_map(|variable| Some((variable, self.raw.env.text(variable)?)))
        {
            let value = match key.kind {
                SettingKind::Text => Value::String(text),
                _ => parse_value(&text),
            };
            return match key.kind.normalize(&value) {
                Some(value) => (value, SettingOrigin::Variable(variable.name)),
                None => {
                    self.problems.push(ConfigDiagnostic {
                        message: mismatch_message(variable.name, &key.kind.to_string(), &value),
                        position: None,
                        excerpt: String::new(),
                        related: None,
                        hint: Some("change or unset the variable".to_owned()),
                    });
                    default()
                }
            };
        }
        let names = key.names();
        let Some((said_at, value)) = self.file_value(&names) else {
            return default();
        };
        let Some(value) = key.kind.normalize(&value) else {
            let message = mismatch_message(key.name, &key.kind.to_string(), &value);
            let problem = self.raw.document.diagnose(&names, message, mismatch_hint(key, &value));
            self.problems.push(problem);
            return default();
        };
        let path = KeyPath::from_names(said_at);
        let place = path.and_then(|path| self.raw.document.position(&path));
        (value, place.map_or(SettingOrigin::Default, SettingOrigin::File))
    }

    /// Returns the value in the file and the path at which it was found; null
    /// counts as not set.
    fn file_value(&mut self, names: &[String]) -> Option<(Vec<String>, Value)> {
        let mut at = self.raw.document.value();
        for (depth, name) in names.iter().enumerate() {
            let section = names.get(..depth)?;
            match at {
                Value::Object(map) => at = map.get(name)?,
                Value::Null => return None,
                Value::Bool(flag) if section == TOOL_SEARCH_SECTION => {
                    let word = if *flag { "auto" } else { "off" };
                    return (name == "enabled").then(|| (section.to_vec(), Value::from(word)));
                }
                // A model name can replace the whole section.
                Value::String(model) if section == MODEL_SECTION => {
                    let said = name == "default" && !model.is_empty();
                    return said.then(|| (section.to_vec(), at.clone()));
                }
                other => {
                    self.report_section(section, other);
                    return None;
                }
            }
        }
        (!at.is_null()).then(|| (names.to_vec(), at.clone()))
    }

    fn report_section(&mut self, section: &[String], found: &Value) {
        if self.reported_sections.iter().any(|known| known == section) {
            return;
        }
        self.reported_sections.push(section.to_vec());
        let name = section.join(".");
        let expected =
            if section == TOOL_SEARCH_SECTION { "true, false or a mapping" } else { "a mapping" };
        let hint = format!("it has the keys {}", known_children(section).join(", "));
        let message = mismatch_message(&name, expected, found);
        let problem = self.raw.document.diagnose(section, message, hint);
        self.problems.push(problem);
    }
}

fn mismatch_message(name: &str, expected: &str, found: &Value) -> String {
    format!("`{name}` must be {expected}, not {}", describe(found))
}

fn mismatch_hint(key: &SettingKey, found: &Value) -> String {
    let leaf = key.name.rsplit('.').next().unwrap_or(key.name);
    match (key.kind, found) {
        (SettingKind::TextList, Value::String(text)) => format!("write `{leaf}: [{text}]`"),
        (SettingKind::TextList, Value::Array(_)) => {
            "put quotes around the items that are not strings".to_owned()
        }
        (SettingKind::Text, Value::Number(_) | Value::Bool(_)) => {
            "put the value in quotes".to_owned()
        }
        (
            SettingKind::Count { .. } | SettingKind::Percent | SettingKind::Flag,
            Value::String(text),
        ) if key.kind.normalize(&parse_value(text)).is_some() => {
            format!("write it without quotes: `{leaf}: {text}`")
        }
        _ if key.default.to_value().is_null() => "remove the key to leave it unset".to_owned(),
        _ => format!("remove the key to get the default, {}", key.default.to_value()),
    }
}

/// Returns the direct children of `section` among the known settings.
fn known_children(section: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for key in KEYS {
        let mut rest = key.name.split('.');
        if section.iter().all(|name| rest.next() == Some(name))
            && let Some(child) = rest.next()
            && !names.contains(&child)
        {
            names.push(child);
        }
    }
    names
}

/// Warns about unknown keys that resemble known keys of the same section.
fn misspelled_keys(document: &ConfigDocument) -> Vec<ConfigWarning> {
    let mut warnings = Vec::new();
    let mut sections: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(section) = sections.pop() {
        let known = known_children(&section);
        let Some(Value::Object(map)) = get(document.value(), &section) else {
            continue;
        };
        for name in map.keys() {
            let mut path = section.clone();
            path.push(name.clone());
            if known.contains(&name.as_str()) {
                sections.push(path);
                continue;
            }
            if section.is_empty() && OTHER_SECTIONS.contains(&name.as_str()) {
                continue;
            }
            if let Some(meant) = nearest(name, known.iter().copied()) {
                let message = format!("`{}` is not a known setting", path.join("."));
                let hint = format!("did you mean `{meant}`?");
                warnings.push(ConfigWarning(document.diagnose(&path, message, hint)));
            }
        }
    }
    let line = |warning: &ConfigWarning| {
        warning.0.position.as_ref().map(|place| (place.line, place.column))
    };
    warnings.sort_by_key(line);
    warnings
}

/// Clamps the default limit of searches to the maximum; warns only if the user
/// set it.
fn clamp_default_limit(
    document: &ConfigDocument,
    resolved: &mut [ResolvedSetting],
    limit: u64,
) -> Option<ConfigWarning> {
    let name = SEARCH_DEFAULT_LIMIT.key.name;
    let most = SEARCH_MAX_LIMIT.key.name;
    let entry = resolved.iter_mut().find(|entry| entry.key.name == name)?;
    entry.value = Value::from(limit);
    if entry.origin == SettingOrigin::Default {
        return None;
    }
    let message = format!("`{name}` exceeds `{most}`; using {limit}");
    let hint = format!("lower `{name}` or raise `{most}`");
    Some(ConfigWarning(document.diagnose(&entry.key.names(), message, hint)))
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
