//! Environment of a session's programs: the same for commands, scripts and
//! interpreters.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Confinement, EnvOverrides, ToolContext, ToolError};
use hermes_sandbox::create_private_dir;
use serde::{Deserialize, Serialize};

use crate::backend::HostFacts;
use crate::command_spec::StdioMode;
use crate::jobs::JobRegistry;
use crate::state::ShellState;

/// Session document of the shell state; the permission stage reads it too.
pub const SHELL_DOCUMENT: &str = "shell";

/// Disables prompts and pagers, since no user is present.
const NONINTERACTIVE_VARIABLES: [(&str, &str); 7] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("SYSTEMD_PAGER", ""),
    ("PYTHONUNBUFFERED", "1"),
    ("NPM_CONFIG_YES", "true"),
];

/// Variables that set the location of caches.
const CACHE_VARIABLES: &[(&str, &str)] = &[
    ("CARGO_HOME", "cargo"),
    ("GOCACHE", "go-build"),
    ("GOPATH", "go"),
    ("GRADLE_USER_HOME", "gradle"),
    ("NUGET_PACKAGES", "nuget"),
    ("PIP_CACHE_DIR", "pip"),
    ("PYTHONUSERBASE", "python"),
    ("XDG_CACHE_HOME", "cache"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("npm_config_cache", "npm"),
];

/// Default search path.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Saved state of a session's shell.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ShellSnapshot {
    /// The shell state.
    #[serde(default)]
    pub state: ShellState,
    /// The same state as source text, for the analysis of the next command.
    #[serde(default)]
    pub text: String,
    /// The session's variables that the shell was last started with.
    #[serde(default)]
    pub variables: EnvOverrides,
}

impl ShellSnapshot {
    /// Applies the session's variables: those changed since the last start
    /// override the shell's values.
    pub fn apply_variables(&mut self, variables: &EnvOverrides) {
        let names = variables.keys().chain(self.variables.keys());
        for name in names.filter(|name| variables.get(*name) != self.variables.get(*name)) {
            self.state.forget_variable(name);
        }
        self.variables.clone_from(variables);
    }
}

/// Environment of a session's program.
#[derive(Debug)]
pub struct ShellEnv {
    /// The remote host; `None` for this machine.
    pub host: Option<Arc<HostFacts>>,
    /// The environment before the changes of the session's shell.
    pub base_environment: BTreeMap<OsString, OsString>,
    /// The saved state of the session's shell.
    pub state: ShellState,
    /// The session's environment overrides.
    pub variables: EnvOverrides,
}

impl ShellEnv {
    /// Returns the environment of a call. `own` returns the variables of this
    /// process that may be passed on.
    pub async fn for_call(
        jobs: &JobRegistry,
        output: StdioMode,
        cx: &ToolContext,
        own: impl FnOnce() -> Vec<(String, String)>,
    ) -> Result<Self, ToolError> {
        let mut kept = cx.session.read::<ShellSnapshot>(SHELL_DOCUMENT)?;
        let variables = cx.session.env_overrides()?;
        kept.apply_variables(&variables);
        let state = kept.state;
        let (place, mut base) = if jobs.backend().is_local() {
            let own = own().into_iter().map(|(name, value)| (name.into(), value.into()));
            (None, own.collect())
        } else {
            let place = jobs.backend().open().await?;
            let found = place.environment.clone();
            (Some(place), found)
        };
        if place.is_none()
            && let (Some(networks), Some(confinement)) =
                (jobs.backend().networks(), &cx.confinement)
        {
            // Surviving processes of an earlier program are in the session's
            // network.
            if networks.get(&confinement.session).is_none()
                && let Some(process) = jobs.survivor(&confinement.session)
            {
                networks.rejoin(&confinement.session, process);
            }
            let network = networks
                .open_for(confinement)
                .map_err(|error| ToolError::io("Cannot open the session network", &error))?;
            base.extend(network.iter().flat_map(|network| network.variables()));
            if confinement.reduced && network.is_none() {
                base.extend(cache_variables(confinement));
            }
        }
        prepare_environment(&mut base, &variables, output);
        Ok(Self { host: place, base_environment: base, state, variables })
    }

    /// Returns the environment of a program started for the session. An unset
    /// or empty `PATH` is replaced with the default, as bash searches the
    /// default path on its own.
    pub fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment = self.state.environment(self.base_environment.clone());
        let path = environment.entry("PATH".into()).or_default();
        if path.is_empty() {
            *path = DEFAULT_PATH.into();
        }
        environment
    }
}

/// Returns cache locations for when the user's caches cannot be overlaid:
/// package managers need a writable directory. Returns none if there is no
/// private directory: then a package manager reports that it cannot write its
/// own cache.
fn cache_variables(confinement: &Confinement) -> Vec<(OsString, OsString)> {
    let workspace = confinement.overlays.first().map(|overlay| overlay.workspace.as_path());
    let Some(workspace) = workspace else { return Vec::new() };
    let Ok(dir) = cache_dir(&std::env::temp_dir(), workspace) else { return Vec::new() };
    let mut variables: Vec<(OsString, OsString)> =
        CACHE_VARIABLES.iter().map(|(name, place)| (name.into(), dir.join(place).into())).collect();
    let repository = format!("-Dmaven.repo.local={}", dir.join("m2").display());
    variables.push(("MAVEN_ARGS".into(), repository.into()));
    variables
}

/// Returns the cache directory of a workspace. Its parent has a predictable name
/// in a shared directory, so another user may have created it, with a
/// configuration that runs their programs.
fn cache_dir(shared: &Path, workspace: &Path) -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let parent = shared.join(format!("hermes-cache-{user}"));
    create_private_dir(&parent)?;
    let key = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
    Ok(parent.join(&key[..12]))
}

fn prepare_environment(
    base: &mut BTreeMap<OsString, OsString>,
    variables: &EnvOverrides,
    output: StdioMode,
) {
    let has_terminal = matches!(output, StdioMode::Terminal(_));
    base.insert("TERM".into(), if has_terminal { "xterm-256color" } else { "dumb" }.into());
    if !has_terminal {
        base.extend(NONINTERACTIVE_VARIABLES.map(|(name, value)| (name.into(), value.into())));
    }
    for (name, value) in variables {
        match value {
            Some(value) => base.insert(name.into(), value.into()),
            None => base.remove(&OsString::from(name)),
        };
    }
}

#[cfg(test)]
#[path = "shell_env_tests.rs"]
mod tests;
