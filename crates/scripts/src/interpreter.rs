//! Finds the interpreter for a script on this machine.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;

use crate::limits::{ScriptLanguage, ScriptMode};

/// The oldest Python that the module supports.
const MIN_PYTHON_VERSION: (u32, u32) = (3, 8);

/// Maximum number of parents of the working directory searched for a
/// virtualenv.
const MAX_PARENT_DIRS: usize = 16;

type EnvVars = BTreeMap<OsString, OsString>;

/// An interpreter found on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptInterpreter {
    pub(crate) program: PathBuf,
    /// Virtualenv that it belongs to.
    pub(crate) venv: Option<PathBuf>,
    /// Why the preferred interpreter is not used.
    pub(crate) warning: Option<String>,
}

/// Finds the interpreter for a script.
pub(crate) fn find_interpreter(
    language: ScriptLanguage,
    mode: ScriptMode,
    environment: &EnvVars,
    cwd: &Path,
) -> Result<ScriptInterpreter, ToolError> {
    let mut warning = None;
    if (language, mode) == (ScriptLanguage::Python, ScriptMode::Project) {
        for home in venv_candidates(environment, cwd) {
            match venv_python(&home) {
                Ok(program) => return Ok(ScriptInterpreter { program, venv: Some(home), warning }),
                Err(why) => {
                    let message = format!("{} is not used: {why}", home.display());
                    warning.get_or_insert(message);
                }
            }
        }
    }
    let names: &[&str] = match language {
        ScriptLanguage::Python => &["python3", "python"],
        ScriptLanguage::JavaScript => &["node", "nodejs"],
    };
    let path = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let dirs: Vec<PathBuf> = env::split_paths(&path).collect();
    // An active virtualenv puts its Python first on the PATH.
    let is_clean = |dir: &&PathBuf| {
        let home = dir.parent().filter(|_| mode == ScriptMode::Strict);
        !home.is_some_and(|home| home.join("pyvenv.cfg").is_file())
    };
    let first = |is_fit: &dyn Fn(&&PathBuf) -> bool| {
        names.iter().find_map(|name| {
            let files = dirs.iter().filter(is_fit).map(|dir| dir.join(name));
            files.into_iter().find(|file| is_executable(file))
        })
    };
    let found = first(&is_clean).or_else(|| first(&|_| true));
    let program = found.ok_or_else(|| match language {
        ScriptLanguage::Python => ToolError::unavailable("python3 not found on the PATH")
            .with_hint("Install it (apt install python3), or set VIRTUAL_ENV."),
        ScriptLanguage::JavaScript => ToolError::unavailable("node not found on the PATH")
            .with_hint("Install it (apt install nodejs), or write the script in Python."),
    })?;
    Ok(ScriptInterpreter { program, venv: None, warning })
}

/// Returns the user's candidate virtualenvs, nearest first.
fn venv_candidates(environment: &EnvVars, cwd: &Path) -> Vec<PathBuf> {
    let from_env = |name: &str| {
        let value = environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    // Parents of the working directory count only within the project: outside
    // of it, a virtualenv may belong to another user.
    let project = cwd.ancestors().take(MAX_PARENT_DIRS).position(|dir| dir.join(".git").exists());
    let near = cwd.ancestors().take(project.unwrap_or_default() + 1);
    let near = near.flat_map(|dir| [dir.join(".venv"), dir.join("venv")]);
    let near = near.filter(|home| home.join("pyvenv.cfg").is_file());
    from_env("VIRTUAL_ENV").into_iter().chain(near).chain(from_env("CONDA_PREFIX")).collect()
}

/// Returns the Python of a virtualenv, or why it is unusable. Does not start a
/// process, as that would take as long as the script.
fn venv_python(home: &Path) -> Result<PathBuf, String> {
    let programs = ["bin/python", "bin/python3"].map(|name| home.join(name));
    let program = programs.into_iter().find(|program| is_executable(program));
    let program = program.ok_or("its Python is missing")?;
    match venv_python_version(home) {
        Some(version) if version < MIN_PYTHON_VERSION => Err(format!(
            "its Python is {}.{}, older than {}.{}",
            version.0, version.1, MIN_PYTHON_VERSION.0, MIN_PYTHON_VERSION.1
        )),
        _ => Ok(program),
    }
}

fn venv_python_version(home: &Path) -> Option<(u32, u32)> {
    let text = fs::read_to_string(home.join("pyvenv.cfg")).ok()?;
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        matches!(name.trim(), "version" | "version_info").then(|| value.trim().to_owned())
    })?;
    let mut numbers = value.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Replaces the module's name with its path in the script's imports. Node
/// resolves a module relative to the importing file, and it treats the script
/// as a file in the user's directory.
pub(crate) fn rewrite_imports(code: &str, place: &str) -> String {
    let mut text = code.to_owned();
    for quote in ['\'', '"'] {
        let name = format!("{quote}hermes_tools{quote}");
        let there = format!("{quote}{place}{quote}");
        for lead in ["from ", "from", "import ", "import", "import(", "import( "] {
            text = text.replace(&format!("{lead}{name}"), &format!("{lead}{there}"));
        }
    }
    text
}

#[cfg(test)]
#[path = "interpreter_tests.rs"]
mod tests;
