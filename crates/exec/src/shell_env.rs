//! What a program of a session finds around it: the same for a command, a
//! script and an interpreter.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use hermes_core::{Confinement, EnvOverrides, ToolContext, ToolError};
use serde::{Deserialize, Serialize};

use crate::backend::HostFacts;
use crate::command_spec::StdioMode;
use crate::jobs::JobRegistry;
use crate::state::ShellState;

/// The session document of the shell; the permission stage reads it as well.
pub const SHELL_DOCUMENT: &str = "shell";

/// Nobody is there to answer a question or to turn a page.
const NONINTERACTIVE_VARIABLES: [(&str, &str); 7] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("SYSTEMD_PAGER", ""),
    ("PYTHONUNBUFFERED", "1"),
    ("NPM_CONFIG_YES", "true"),
];

/// The variables that tell programs where to keep what they can fetch or make
/// again.
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

/// Where programs usually are.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What is kept of a session's shell.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ShellSnapshot {
    /// What it holds.
    #[serde(default)]
    pub state: ShellState,
    /// The same as text in front of a command, for whoever judges the next one.
    #[serde(default)]
    pub text: String,
    /// The session's variables that the shell was last started with.
    #[serde(default)]
    pub variables: EnvOverrides,
}

impl ShellSnapshot {
    /// Follows the session's variables: what was set or unset since counts
    /// more than what the shell has of it.
    pub fn apply_variables(&mut self, variables: &EnvOverrides) {
        let names = variables.keys().chain(self.variables.keys());
        for name in names.filter(|name| variables.get(*name) != self.variables.get(*name)) {
            self.state.forget_variable(name);
        }
        self.variables.clone_from(variables);
    }
}

/// What a program of a session finds around it.
#[derive(Debug)]
pub struct ShellEnv {
    /// Where it is; none is this machine.
    pub host: Option<Arc<HostFacts>>,
    /// The environment before what the session's shell adds.
    pub base_environment: BTreeMap<OsString, OsString>,
    /// What the session's shell has left behind.
    pub state: ShellState,
    /// What the session changes in the environment.
    pub variables: EnvOverrides,
}

impl ShellEnv {
    /// Those of a call. Of the environment of this program, `own` is what
    /// may be passed on.
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
            // What an earlier program has left is in the session's network.
            if networks.get(&confinement.session).is_none()
                && let Some(process) = jobs.survivor(&confinement.session)
            {
                networks.rejoin(&confinement.session, process);
            }
            let network = networks
                .open_for(confinement)
                .map_err(|error| ToolError::io("The network of the session", &error))?;
            base.extend(network.iter().flat_map(|network| network.variables()));
            if confinement.reduced && network.is_none() {
                base.extend(cache_variables(confinement));
            }
        }
        prepare_environment(&mut base, &variables, output);
        Ok(Self { host: place, base_environment: base, state, variables })
    }

    /// The environment of a program that we start for the session, as its shell
    /// would. A session without a `PATH`, or with an empty one, gets the usual
    /// one here, as bash looks in the usual places by itself.
    pub fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment = self.state.environment(self.base_environment.clone());
        let path = environment.entry("PATH".into()).or_default();
        if path.is_empty() {
            *path = DEFAULT_PATH.into();
        }
        environment
    }
}

/// Where caches are while the user's own cannot be overlaid: programs that
/// install something need a place that they may write to.
fn cache_variables(confinement: &Confinement) -> Vec<(OsString, OsString)> {
    let workspace = confinement.overlays.first().map(|overlay| overlay.workspace.as_path());
    let Some(workspace) = workspace else { return Vec::new() };
    let key = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
    let user = rustix::process::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("hermes-cache-{user}")).join(&key[..12]);
    let mut variables: Vec<(OsString, OsString)> = CACHE_VARIABLES
        .iter()
        .map(|(name, place)| (name.into(), folder.join(place).into()))
        .collect();
    let repository = format!("-Dmaven.repo.local={}", folder.join("m2").display());
    variables.push(("MAVEN_ARGS".into(), repository.into()));
    variables
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
