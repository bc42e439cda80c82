//! Detection of programs that do not exist. Such a command needs no approval:
//! the shell reports that the program was not found.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{CallProposal, Resource, Scope};
use hermes_shell::LeafCommand;

use crate::permissions::PermissionPolicy;

/// Directories that shells search without a `PATH`.
const SYSTEM_PATH_DIRS: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/snap/bin"];

/// Directories below the home and the workspace that users add to `PATH` in
/// ways that are not visible here.
const USER_PATH_DIRS: &[&str] = &[
    "bin",
    ".local/bin",
    ".cargo/bin",
    "go/bin",
    ".bun/bin",
    ".deno/bin",
    ".volta/bin",
    ".npm-global/bin",
    "node_modules/.bin",
    ".venv/bin",
    "venv/bin",
];

/// Programs that start another one found through the usual search path.
const PLAIN_WRAPPERS: &[&str] = &[
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf",
    "sudo", "time", "timeout", "xargs",
];

/// Reports whether a program of that name exists in one of these directories.
pub type ProgramLookup = Arc<dyn Fn(&str, &[PathBuf]) -> bool + Send + Sync>;

impl PermissionPolicy {
    /// Whether the program of a simple command certainly does not exist.
    /// `texts` are the shell's earlier input and the command, `before` is what
    /// the command runs first.
    pub(crate) fn is_missing_program(
        &self,
        proposal: &CallProposal<'_>,
        texts: [&str; 2],
        leaf: &LeafCommand,
        before: &[LeafCommand],
    ) -> bool {
        let Some(name) = literal_program(leaf) else { return false };
        // The command may set its own search path, or have just installed the
        // program.
        if texts.iter().any(|text| text.contains("PATH")) || before.iter().any(may_install) {
            return false;
        }
        let cwd = proposal.working_dir.cwd();
        let look = |name: &str, directories: &[PathBuf]| match self.program_lookup() {
            Some(lookup) => lookup(name, directories),
            None => directories.iter().any(|directory| is_present(&directory.join(name))),
        };
        if let Some((directory, name)) = name.rsplit_once('/') {
            return directory.starts_with('/') && !look(name, &[PathBuf::from(directory)]);
        }
        // If the directory is not on this machine, neither are the programs.
        if !cwd.is_dir() {
            return false;
        }
        let Ok(variables) = proposal.session.env_overrides() else { return false };
        let own = variables.get("PATH").cloned().map(|path| path.map(OsString::from));
        let path = own.unwrap_or_else(|| env::var_os("PATH")).unwrap_or_default();
        let listed = env::split_paths(&path).map(|directory| cwd.join(directory));
        let usual = SYSTEM_PATH_DIRS.iter().map(PathBuf::from);
        let places = self.path_variables();
        let roots = places.home.iter().chain(&places.workspace);
        let own = roots.flat_map(|root| USER_PATH_DIRS.iter().map(move |own| root.join(own)));
        let directories: Vec<PathBuf> = listed.chain(usual).chain(own).collect();
        !look(name, &directories)
    }
}

/// Returns the program of a simple command, if written literally: the result of
/// an expansion may be another name.
fn literal_program(leaf: &LeafCommand) -> Option<&str> {
    let program = leaf.words.first().filter(|word| word.known && !word.glob)?;
    let name = program.text.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-/".contains(c);
    let is_literal = !name.is_empty()
        && name.chars().all(is_plain)
        && leaf.text.split_whitespace().any(|word| word == name)
        && leaf.wrappers.iter().all(|via| PLAIN_WRAPPERS.contains(&via.as_str()));
    is_literal.then_some(name)
}

fn is_present(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether a simple command may install a program.
fn may_install(leaf: &LeafCommand) -> bool {
    leaf.effects.iter().any(|effect| {
        effect.scope.family() == "network"
            || effect.scope == Scope::FILE_WRITE && effect.resource == Resource::Any
    })
}
