//! Projects that the user trusts to choose where commands run.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document::{ConfigDocument, read_text};
use crate::error::ConfigError;
use crate::home::{CLI_CONFIG_FILE, HermesHome};
use crate::save;

/// The section of cli-config.yaml that needs trust.
const TRUSTED_SECTION: &str = "terminal";

/// Trusts the `terminal` section of cli-config.yaml in a directory as it is now;
/// a change of the section needs trust again. Returns the file and the section.
pub fn trust_project(home: &HermesHome, dir: &Path) -> Result<(PathBuf, Value), ConfigError> {
    let path = dir.join(CLI_CONFIG_FILE);
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let document = ConfigDocument::load_existing(&path)?
        .ok_or_else(|| ConfigError::Read { path: path.clone(), source: missing() })?;
    let section = section(&document);
    let mut trusted = trusted_projects(home);
    trusted.insert(key(&path), section.clone());
    save::update(&trust_file(home), |_| Ok::<_, ConfigError>(Value::Object(trusted).to_string()))?;
    Ok((path, section))
}

/// Whether the user trusts this project's file as it is.
pub(crate) fn is_trusted(home: &HermesHome, project: &ConfigDocument) -> bool {
    trusted_projects(home).get(&key(project.name())) == Some(&section(project))
}

fn section(document: &ConfigDocument) -> Value {
    document.value().get(TRUSTED_SECTION).cloned().unwrap_or_default()
}

fn key(file: &Path) -> String {
    file.canonicalize().unwrap_or_else(|_| file.to_owned()).to_string_lossy().into_owned()
}

fn trust_file(home: &HermesHome) -> PathBuf {
    home.root().join("trusted_projects.json")
}

/// Reads the trusted projects; an unreadable file trusts none.
fn trusted_projects(home: &HermesHome) -> Map<String, Value> {
    let text = read_text(&trust_file(home)).ok().flatten().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
