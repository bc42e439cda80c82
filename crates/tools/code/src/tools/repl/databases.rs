//! Which file a session of SQL works on, and what its statements do to it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hermes_core::{Scope, ShellScript, WorkingDir};
use parking_lot::Mutex;

/// The files by the names of the sessions. Two of one name count as one, which
/// at most names a file too many.
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

/// Whether the statements only read, by what is said of the command that would
/// be given them.
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
