//! Resolves settings: reads the file and the environment key by key, collects
//! all errors, and records the origin of every value.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document::{ConfigDocument, describe, get, parse_value};
use crate::error::{ConfigDiagnostic, ConfigError, FilePosition};
use crate::home::{CLI_CONFIG_FILE, HermesHome};
use crate::keys::{
    KEYS, OTHER_SECTIONS, SEARCH_DEFAULT_LIMIT, SEARCH_MAX_LIMIT, SettingKey, SettingKind,
    TERMINAL_BACKEND, TERMINAL_ENV_TYPE, TypedKey,
};
use crate::path::KeyPath;
use crate::settings::{HermesSettings, SettingSource, SettingValue};
use crate::suggest::nearest;
use crate::trust;
use crate::vars::EnvSnapshot;

/// The section that can be a boolean instead of a mapping.
const TOOL_SEARCH_SECTION: [&str; 2] = ["tools", "tool_search"];
/// The section that can be a model name instead of a mapping.
const MODEL_SECTION: [&str; 1] = ["model"];

/// Settings that a project's cli-config.yaml can make: where commands run and
/// how long, and limits of results. Everything else could loosen the protection
/// of the user who opens an untrusted project, or send data elsewhere.
const PROJECT_KEYS: &[&str] = &[
    "agent.max_turns",
    "file_read_max_chars",
    "terminal.backend",
    "terminal.container_cpu",
    "terminal.container_disk",
    "terminal.container_memory",
    "terminal.container_persistent",
    "terminal.cwd",
    "terminal.docker_image",
    "terminal.env_type",
    "terminal.inactivity_timeout",
    "terminal.max_foreground_timeout",
    "terminal.singularity_image",
    "terminal.ssh_host",
    "terminal.ssh_key",
    "terminal.ssh_port",
    "terminal.ssh_user",
    "terminal.timeout",
    "tool_output.max_bytes",
    "tool_output.max_line_length",
    "tool_output.max_lines",
];

/// Among [`PROJECT_KEYS`]: what decides where commands run, outside the sandbox
/// of this machine. Needs the user's trust.
const TRUSTED_PROJECT_KEYS: &[&str] = &[
    "terminal.backend",
    "terminal.docker_image",
    "terminal.env_type",
    "terminal.singularity_image",
    "terminal.ssh_host",
    "terminal.ssh_key",
    "terminal.ssh_port",
    "terminal.ssh_user",
];

/// The unchecked configuration: the documents and the environment.
#[derive(Debug)]
pub struct RawConfig {
    /// config.yaml.
    pub document: ConfigDocument,
    /// cli-config.yaml of the home directory, for settings that config.yaml does
    /// not make.
    pub fallback: Option<ConfigDocument>,
    /// cli-config.yaml of the working directory, for the few settings that a
    /// project can make and the user's files do not.
    pub project: Option<ConfigDocument>,
    /// Whether the user trusts the project to choose where commands run.
    pub trusts_project: bool,
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
    /// The user's files merged, including unknown keys.
    merged: Value,
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
    /// Reads config.yaml and cli-config.yaml of the home directory, and
    /// cli-config.yaml of the working directory; a missing file counts as empty.
    pub fn load(
        home: &HermesHome,
        working_dir: Option<&Path>,
        env: EnvSnapshot,
    ) -> Result<Self, ConfigError> {
        let document = ConfigDocument::load(&home.config_file())?;
        let fallback = ConfigDocument::load_existing(&home.root().join(CLI_CONFIG_FILE))?;
        let project = match working_dir.filter(|dir| *dir != home.root()) {
            Some(dir) => ConfigDocument::load_existing(&dir.join(CLI_CONFIG_FILE))?,
            None => None,
        };
        let trusts_project =
            project.as_ref().is_some_and(|project| trust::is_trusted(home, project));
        Ok(Self { document, fallback, project, trusts_project, env })
    }

    /// Parses a text; `name` is the file name in errors.
    pub fn parse(
        name: impl Into<PathBuf>,
        text: impl Into<String>,
        env: EnvSnapshot,
    ) -> Result<Self, ConfigError> {
        let document = ConfigDocument::parse(name, text)?;
        Ok(Self { document, fallback: None, project: None, trusts_project: false, env })
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
        let SettingsReader { mut resolved, mut problems, .. } = reader;
        problems.extend(self.untrusted_backend(&resolved));
        if !problems.is_empty() {
            return Err(ConfigError::Settings(problems));
        }
        let user_files = || std::iter::once(&self.document).chain(&self.fallback);
        let mut warnings: Vec<_> =
            user_files().chain(&self.project).flat_map(misspelled_keys).collect();
        if let Some(project) = &self.project {
            warnings.extend(ignored_project_keys(project));
            warnings.extend(project_backend(project, &resolved));
            warnings.extend(self.untrusted_keys());
        }
        let search = &mut settings.tool_search;
        if search.search_default_limit > search.max_search_limit {
            search.search_default_limit = search.max_search_limit;
            warnings.extend(clamp_default_limit(
                &self.document,
                &mut resolved,
                search.max_search_limit,
            ));
        }
        let mut merged = self.document.value().clone();
        if let Some(fallback) = &self.fallback {
            merge_missing(&mut merged, fallback.value());
        }
        Ok(ResolvedConfig { settings, resolved, warnings, document: self.document, merged })
    }
}

impl ResolvedConfig {
    /// Returns a known setting.
    pub fn setting(&self, name: &str) -> Option<&ResolvedSetting> {
        self.resolved.iter().find(|resolved| resolved.key.name == name)
    }

    /// Returns everything that the user's files set, known or not.
    pub fn values(&self) -> &Value {
        &self.merged
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
        let mut value = self.merged.clone();
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

impl RawConfig {
    /// Returns the documents that can set a key, the highest priority first.
    fn documents(&self, key: &SettingKey) -> impl Iterator<Item = &ConfigDocument> {
        let may_set = |_: &&ConfigDocument| {
            PROJECT_KEYS.contains(&key.name)
                && (self.trusts_project || !TRUSTED_PROJECT_KEYS.contains(&key.name))
        };
        let project = self.project.iter().filter(may_set);
        std::iter::once(&self.document).chain(&self.fallback).chain(project)
    }

    /// Returns the settings that the project makes without being trusted.
    fn untrusted_settings(&self) -> Vec<(&'static str, &Value)> {
        let Some(project) = self.project.as_ref().filter(|_| !self.trusts_project) else {
            return Vec::new();
        };
        let setting = |name: &&'static str| {
            let names: Vec<String> = name.split('.').map(str::to_owned).collect();
            let value = get(project.value(), &names)?;
            // Commands run here anyway.
            let is_local =
                value == "local" && matches!(*name, "terminal.backend" | "terminal.env_type");
            (!value.is_null() && !is_local).then_some((*name, value))
        };
        TRUSTED_PROJECT_KEYS.iter().filter_map(setting).collect()
    }

    /// Running commands here instead could do harm, so it is an error if an
    /// untrusted project chooses the backend and the user does not.
    fn untrusted_backend(&self, resolved: &[ResolvedSetting]) -> Option<ConfigDiagnostic> {
        let backend = resolved.iter().find(|entry| entry.key.name == TERMINAL_BACKEND.key.name)?;
        let is_backend =
            |(name, _): &(&str, &Value)| name.ends_with("backend") || name.ends_with("env_type");
        let (name, value) = self.untrusted_settings().into_iter().find(is_backend)?;
        let names: Vec<String> = name.split('.').map(str::to_owned).collect();
        let message = format!(
            "this project runs commands on the backend {value}, and you have not trusted it"
        );
        let hint = "read the file, then run `hermes config trust`; to refuse it, run `hermes config set terminal.backend local`";
        let project = self.project.as_ref().filter(|_| backend.origin == SettingOrigin::Default)?;
        Some(project.diagnose(&names, message, hint.to_owned()))
    }

    fn untrusted_keys(&self) -> Option<ConfigWarning> {
        let names: Vec<String> =
            self.untrusted_settings().iter().map(|(name, _)| format!("`{name}`")).collect();
        let project = self.project.as_ref().filter(|_| !names.is_empty())?;
        Some(ConfigWarning(ConfigDiagnostic::without_position(
            format!(
                "{} of {} do not apply, because you have not trusted the project",
                names.join(", "),
                project.name().display()
            ),
            "read the file, then run `hermes config trust`",
        )))
    }
}

/// Returns the older name of a setting. It applies within a file; the newer name
/// in a file of lower priority does not override it.
fn older_names(key: &SettingKey) -> Option<Vec<String>> {
    (key.name == TERMINAL_BACKEND.key.name).then(|| TERMINAL_ENV_TYPE.key.names())
}

impl<'r> SettingsReader<'r> {
    fn find(&mut self, key: &'static SettingKey) -> (Value, SettingOrigin) {
        let default = || (key.default.to_value(), SettingOrigin::Default);
        if let Some((variable, text)) =
            key.variables.iter().find_map(|variable| Some((variable, self.raw.env.text(variable)?)))
        {
            let value = key.kind.parse_text(&text);
            return match key.kind.normalize(&value) {
                Some(value) => (value, SettingOrigin::Variable(variable.name)),
                None => {
                    self.problems.push(ConfigDiagnostic::without_position(
                        mismatch_message(variable.name, &key.kind.to_string(), &value),
                        "change or unset the variable",
                    ));
                    default()
                }
            };
        }
        let raw: &'r RawConfig = self.raw;
        for document in raw.documents(key) {
            for names in std::iter::once(key.names()).chain(older_names(key)) {
                let Some((said_at, value)) = self.file_value(document, &names) else {
                    continue;
                };
                let Some(value) = key.kind.normalize(&value) else {
                    let message = mismatch_message(&names.join("."), &key.kind.to_string(), &value);
                    let hint = mismatch_hint(key, &value);
                    self.problems.push(document.diagnose(&names, message, hint));
                    return default();
                };
                let path = KeyPath::from_names(said_at);
                let place = path.and_then(|path| document.position(&path));
                return (value, place.map_or(SettingOrigin::Default, SettingOrigin::File));
            }
        }
        default()
    }

    /// Returns the value in the file and the path at which it was found; null
    /// counts as not set.
    fn file_value(
        &mut self,
        document: &ConfigDocument,
        names: &[String],
    ) -> Option<(Vec<String>, Value)> {
        let mut at = document.value();
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
                    self.report_section(document, section, other);
                    return None;
                }
            }
        }
        (!at.is_null()).then(|| (names.to_vec(), at.clone()))
    }

    fn report_section(&mut self, document: &ConfigDocument, section: &[String], found: &Value) {
        if self.reported_sections.iter().any(|known| known == section) {
            return;
        }
        self.reported_sections.push(section.to_vec());
        let name = section.join(".");
        let expected =
            if section == TOOL_SEARCH_SECTION { "true, false or a mapping" } else { "a mapping" };
        let hint = format!("it has the keys {}", known_children(section).join(", "));
        let message = mismatch_message(&name, expected, found);
        let problem = document.diagnose(section, message, hint);
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

/// Warns about keys of a project's cli-config.yaml that only the user can set.
fn ignored_project_keys(document: &ConfigDocument) -> Option<ConfigWarning> {
    let mut ignored = Vec::new();
    let mut open: Vec<(String, &Value)> = vec![(String::new(), document.value())];
    while let Some((name, value)) = open.pop() {
        let is_section = |name: &str| {
            let is_below = |key: &&str| key.strip_prefix(name).is_some_and(|k| k.starts_with('.'));
            name.is_empty() || PROJECT_KEYS.iter().any(is_below)
        };
        match value {
            Value::Object(map) if is_section(&name) => {
                let child = |(child, value)| match name.as_str() {
                    "" => (String::clone(child), value),
                    name => (format!("{name}.{child}"), value),
                };
                open.extend(map.iter().map(child));
            }
            _ if PROJECT_KEYS.contains(&name.as_str()) => {}
            _ => ignored.push(format!("`{name}`")),
        }
    }
    if ignored.is_empty() {
        return None;
    }
    ignored.sort();
    Some(ConfigWarning(ConfigDiagnostic::without_position(
        format!(
            "{} sets {}, which a project cannot set",
            document.name().display(),
            ignored.join(", ")
        ),
        "set them in config.yaml of the home directory",
    )))
}

/// Tells the user that a project decides where commands run.
fn project_backend(
    document: &ConfigDocument,
    resolved: &[ResolvedSetting],
) -> Option<ConfigWarning> {
    let backend = resolved.iter().find(|entry| entry.key.name == TERMINAL_BACKEND.key.name)?;
    let SettingOrigin::File(position) = &backend.origin else { return None };
    let name = backend.value.as_str()?;
    (position.file == document.name() && name != "local").then(|| {
        ConfigWarning(ConfigDiagnostic {
            message: format!("this project runs commands on the backend `{name}`"),
            position: Some(position.clone()),
            excerpt: String::new(),
            related: None,
            hint: Some("to refuse it, run `hermes config set terminal.backend local`".to_owned()),
        })
    })
}

/// Adds the entries of `lower` that `value` does not have, at any depth.
fn merge_missing(value: &mut Value, lower: &Value) {
    let (Value::Object(map), Value::Object(lower)) = (&mut *value, lower) else {
        if value.is_null() {
            *value = lower.clone();
        }
        return;
    };
    for (name, lower) in lower {
        match map.get_mut(name) {
            Some(own) => merge_missing(own, lower),
            None => _ = map.insert(name.clone(), lower.clone()),
        }
    }
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
