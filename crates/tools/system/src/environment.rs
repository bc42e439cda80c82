//! The environment of a session: that of the process, with the session's
//! changes on top.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::path::Path;

use hermes_core::{EnvOverrides, ToolError};
use hermes_exec::shell_env::ShellEnv;
use hermes_secrets::is_secret;
use serde::Serialize;

/// Maximum bytes of a value: the kernel rejects longer strings.
pub(crate) const MAX_VALUE_BYTES: usize = 128 * 1024;
/// Maximum bytes of all changes of a session, so programs can still start.
const MAX_CHANGES_BYTES: usize = 1024 * 1024;
const MAX_NAME_BYTES: usize = 256;
/// Shorter values could occur in other text by chance.
const MIN_SECRET_BYTES: usize = 6;

/// Names and name prefixes that control which code a program loads.
const LOADER_PREFIXES: &[&str] = &["LD_", "DYLD_"];
const CODE_LOADING_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS0",
    "PS4",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "ZDOTDIR",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PERL5DB",
    "PERL5LIB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "LUA_INIT",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "R_PROFILE",
    "R_PROFILE_USER",
    "LESSOPEN",
    "LESSCLOSE",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "RSYNC_RSH",
    "CVS_RSH",
    "SVN_SSH",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "TAR_OPTIONS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "GOFLAGS",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "KUBECONFIG",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "VIMINIT",
    "EXINIT",
    "INPUTRC",
    "PSQLRC",
    "FZF_DEFAULT_COMMAND",
    "RIPGREP_CONFIG_PATH",
    "PIP_CONFIG_FILE",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
];
/// Git variables that name programs, configuration files or output locations.
const GIT_CONTROL_VARIABLES: &[&str] = &[
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_TRACE",
    "GIT_TRACE2",
];
const HERMES_PREFIX: &str = "HERMES_";
/// Variables that the shell maintains; they do not count as changed.
const SHELL_OWN_VARIABLES: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_"];

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VariableSource {
    /// The environment that hermes was started with.
    Process,
    /// The environment of the backend, if it is not this machine.
    Place,
    /// Set for every command, so no program waits for user input.
    Hermes,
    /// The session: set by this tool, or by one of its commands.
    Session,
}

/// A variable's value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariableEntry {
    /// The value.
    pub(crate) value: String,
    /// Origin of the value.
    pub(crate) source: VariableSource,
    /// Whether the variable is withheld from programs.
    pub(crate) withheld: bool,
}

/// The variables of this process, lossily converted to Unicode.
pub(crate) fn process_variables() -> BTreeMap<String, String> {
    to_lossy_strings(env::vars_os())
}

fn to_lossy_strings(
    found: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<String, String> {
    let lossy = |text: OsString| text.to_string_lossy().into_owned();
    found.into_iter().map(|(name, value)| (lossy(name), lossy(value))).collect()
}

/// The names that the session has changed, by this tool or in its shell.
pub(crate) fn changed_names(around: &ShellEnv) -> BTreeSet<String> {
    let names = around.variables.keys().map(String::as_str).chain(around.state.variable_names());
    names.filter(|name| !SHELL_OWN_VARIABLES.contains(name)).map(str::to_owned).collect()
}

/// The variables that a program started in the session would see, and those of
/// this process that are withheld from it.
pub(crate) fn visible_variables(around: &ShellEnv, cwd: &Path) -> BTreeMap<String, VariableEntry> {
    let changed = changed_names(around);
    let (usual, from) = match &around.host {
        None => (process_variables(), VariableSource::Process),
        Some(place) => (to_lossy_strings(place.environment.clone()), VariableSource::Place),
    };
    let mut programs = to_lossy_strings(around.state.environment(around.base_environment.clone()));
    // The shell sets PWD.
    programs.insert("PWD".to_owned(), cwd.display().to_string());
    let mut seen: BTreeMap<String, VariableEntry> = usual
        .iter()
        .filter(|(name, _)| !changed.contains(*name))
        .map(|(name, value)| {
            (name.clone(), VariableEntry { value: value.clone(), source: from, withheld: true })
        })
        .collect();
    for (name, value) in programs {
        let source = match usual.get(&name) {
            _ if changed.contains(&name) || SHELL_OWN_VARIABLES.contains(&name.as_str()) => {
                VariableSource::Session
            }
            Some(known) if *known == value => from,
            _ => VariableSource::Hermes,
        };
        seen.insert(name, VariableEntry { value, source, withheld: false });
    }
    seen
}

/// Fails unless `name` is a valid variable name.
pub(crate) fn check_name(name: &str) -> Result<(), ToolError> {
    if is_variable_name(name) && name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(ToolError::invalid("The variable name is not valid")
        .with_hint("A name consists of letters, digits and _, and does not start with a digit."))
}

/// Why a session may not change the variable; `None` if it may.
pub(crate) fn protection_reason(name: &str) -> Option<&'static str> {
    if name.starts_with(HERMES_PREFIX) {
        return Some("it configures hermes itself");
    }
    if SHELL_OWN_VARIABLES.contains(&name) {
        return Some("the shell sets it in every command");
    }
    let upper = name.to_ascii_uppercase();
    let loads = CODE_LOADING_VARIABLES.contains(&name)
        || LOADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || GIT_CONTROL_VARIABLES.iter().any(|known| name == *known || is_in_family(name, known))
        || upper.starts_with("NPM_CONFIG_");
    loads.then_some("it controls which code programs load")
}

/// Whether the value changes which programs run or what they connect to, so it
/// needs a separate approval. Assignments before a command are judged by the
/// same list.
pub(crate) fn redirects_programs(name: &str, value: &str) -> bool {
    let (found, reached) = hermes_shell::variable_effects(name, value);
    found.is_some() || reached.is_some()
}

/// `GIT_CONFIG_KEY_0` and `GIT_SSH_COMMAND` belong to the shorter names.
fn is_in_family(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.starts_with('_'))
}

/// Secret values in an environment. A value that contains one is masked too,
/// whatever its name.
#[derive(Default)]
pub(crate) struct VariableMask(Vec<String>);

impl std::fmt::Debug for VariableMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VariableMask({})", self.0.len())
    }
}

impl VariableMask {
    pub(crate) fn new(seen: &BTreeMap<String, VariableEntry>) -> Self {
        let secrets = seen.iter().filter(|(name, entry)| {
            entry.value.len() >= MIN_SECRET_BYTES && is_secret(name, &entry.value)
        });
        Self(secrets.map(|(_, entry)| entry.value.clone()).collect())
    }

    pub(crate) fn covers(&self, value: &str) -> bool {
        self.0.iter().any(|secret| value.contains(secret.as_str()))
    }
}

/// Rejects a PATH without bash.
pub(crate) fn check_path(value: Option<&str>, now: &str) -> Result<(), ToolError> {
    let has_shell = |dir: std::path::PathBuf| dir.join("bash").is_file();
    if value.is_some_and(|value| env::split_paths(value).any(has_shell)) {
        return Ok(());
    }
    Err(ToolError::invalid("No command could be started with that PATH: it has no bash").with_hint(
        format!(
            "Give the full value; variables are not expanded. The current value \
            is {now}"
        ),
    ))
}

/// Fails unless a session may change the variable.
pub(crate) fn check_writable(name: &str) -> Result<(), ToolError> {
    check_name(name)?;
    match protection_reason(name) {
        None => Ok(()),
        Some(why) => {
            let hint = match name {
                _ if name.starts_with(HERMES_PREFIX) => {
                    "Ask the user to set it where hermes is started."
                }
                "PWD" | "OLDPWD" => {
                    "Use cd in a terminal command: it changes the session's \
                 working directory."
                }
                _ if SHELL_OWN_VARIABLES.contains(&name) => {
                    "Set it in the same terminal command as the program that needs it."
                }
                _ => {
                    "Export it in a terminal command, which the policy checks, or ask the user \
                     to set it where hermes is started."
                }
            };
            Err(ToolError::denied(format!("{name} is protected: {why}")).with_hint(hint))
        }
    }
}

/// Fails unless a variable can have this value.
pub(crate) fn check_value(name: &str, value: &str) -> Result<(), ToolError> {
    if value.contains('\0') {
        return Err(ToolError::invalid(format!(
            "The value of {name} contains a NUL byte, which is not allowed"
        )));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(ToolError::limit(format!(
            "The value of {name} has {} bytes; the maximum is {MAX_VALUE_BYTES}",
            value.len()
        ))
        .with_hint("Put it into a file and set the variable to its path."));
    }
    Ok(())
}

/// Sets a variable, unless the session's changes would become too large.
pub(crate) fn set(changes: &mut EnvOverrides, name: &str, value: &str) -> Result<(), ToolError> {
    let others: usize = changes
        .iter()
        .filter(|(other, _)| *other != name)
        .map(|(other, value)| other.len() + value.as_ref().map_or(0, String::len))
        .sum();
    if others + name.len() + value.len() > MAX_CHANGES_BYTES {
        return Err(ToolError::limit(format!(
            "The session's variables would exceed {MAX_CHANGES_BYTES} bytes in total"
        ))
        .with_hint("Unset variables that are no longer needed."));
    }
    changes.insert(name.to_owned(), Some(value.to_owned()));
    Ok(())
}

/// Whether a name matches a filter, ignoring case: a pattern if it contains `*`
/// or `?`, otherwise a substring.
pub(crate) fn matches_filter(filter: &str, name: &str) -> bool {
    let (filter, name) = (filter.to_uppercase(), name.to_uppercase());
    if filter.contains(['*', '?']) {
        matches_pattern(&filter, &name)
    } else {
        name.contains(&filter)
    }
}

/// Backtracks only to the last `*`, so the time is bounded by the product of
/// the lengths.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || name.get(n) == Some(c) => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// Whether `name` is a variable name.
pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
