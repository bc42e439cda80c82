//! The database file of each SQL session, and the effects of its statements.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hermes_core::{Scope, ShellScript, WorkingDir};
use parking_lot::Mutex;

/// Database files by session name. Sessions with the same name share an entry,
/// which at worst declares one file too many.
#[derive(Debug, Default)]
pub(super) struct SessionDatabases(Mutex<HashMap<String, PathBuf>>);

impl SessionDatabases {
    pub(super) fn file_for(&self, name: &str) -> Option<PathBuf> {
        self.0.lock().get(name).cloned()
    }

    pub(super) fn record(&self, name: &str, file: &Path) {
        let mut known = self.0.lock();
        known.insert(name.to_owned(), file.to_owned());
    }

    pub(super) fn forget(&self, name: &str) {
        self.0.lock().remove(name);
    }
}

/// Returns whether the statements only read, by analyzing the equivalent
/// `sqlite3` command.
pub(super) fn sql_scope(code: &str, at: &WorkingDir) -> Scope {
    let input = Some(code.to_owned());
    let script =
        ShellScript { text: "sqlite3 database".to_owned(), stdin: input, ..ShellScript::default() };
    let analysis = hermes_shell::analyze_script("", &script, at);
    let effects = || analysis.leaves.iter().flat_map(|leaf| &leaf.effects);
    match effects().any(|effect| effect.scope == Scope::DATABASE_READ)
        && !effects().any(|effect| effect.scope == Scope::DATABASE_WRITE)
    {
        true => Scope::DATABASE_READ,
        false => Scope::DATABASE_WRITE,
    }
}

#[cfg(test)]
#[path = "databases_tests.rs"]
mod tests;
