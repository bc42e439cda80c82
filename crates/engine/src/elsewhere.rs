//! What commands change, as far as they name it: outside the working folder
//! nothing else of it is known, and inside it files that git ignores are not
//! kept with the tree.

use std::path::{Path, PathBuf};

use hermes_core::{Resource, Scope, Workplace};
use serde::Deserialize;
use serde_json::Value;

use crate::pipeline::{Flight, Known};

/// What the session's shell remembers, as text in front of a command.
#[derive(Default, Deserialize)]
struct Shell {
    #[serde(default)]
    text: String,
}

/// The files that the commands of a call name as what they write or delete. Of a folder only its removal counts: who writes
/// in it leaves the rest alone.
pub(crate) fn named(flight: &Flight, call: &Known) -> Vec<PathBuf> {
    let is_command = |resource: &Resource| *resource != Resource::Any;
    let mut commands = call
        .effects
        .iter()
        .filter(|effect| effect.scope == Scope::TERMINAL_EXECUTE && is_command(&effect.resource))
        .peekable();
    if commands.peek().is_none() {
        return Vec::new();
    }
    let usual = flight.workplace.load();
    let folder = call.arguments.get("workdir").and_then(Value::as_str);
    let there = folder
        .map(|folder| Workplace::new(usual.resolve(folder), usual.home().map(Path::to_path_buf)));
    let at = there.as_ref().unwrap_or(&usual);
    let shell: Shell = flight.caller.session.read("shell").unwrap_or_default();
    let effects = commands
        .flat_map(|effect| {
            hermes_shell::analyze_after(&shell.text, &effect.resource.as_text(), at).leaves
        })
        .flat_map(|leaf| leaf.effects);
    let paths = effects.filter_map(|effect| {
        let path = effect.resource.as_path()?;
        let counts = effect.scope == Scope::FILE_DELETE
            || effect.scope == Scope::FILE_WRITE && !path.is_dir();
        let is_file = !["/dev", "/proc", "/sys"].iter().any(|top| path.starts_with(top));
        (counts && is_file && path.parent().is_some()).then(|| path.to_path_buf())
    });
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths.dedup();
    paths
}
