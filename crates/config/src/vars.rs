//! The table of environment variables that the project reads, and the snapshot
//! that they are read from.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// An environment variable that the project reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// What applies if it is not set.
    pub default: &'static str,
}

macro_rules! vars {
    ($($name:ident: $meaning:literal, default $default:literal;)+) => {
        $(
            #[doc = $meaning]
            pub const $name: EnvVar = EnvVar {
                name: stringify!($name),
                meaning: $meaning,
                default: $default,
            };
        )+
        /// All variables, in documentation order.
        pub const VARS: &[EnvVar] = &[$($name),+];
    };
}

vars! {
    HERMES_HOME: "The directory with config.yaml, .env, skills, memories and state.", default "~/.hermes";
    HERMES_PERMISSION_PROFILE: "The permission profile. Overrides permissions.profile; \
        --profile overrides it.", default "the setting permissions.profile";
    HERMES_YOLO: "If 1, every approval request is approved; hard blocks and denials still \
        apply. Read once, at startup.", default "approval is requested";
    HERMES_WRITE_SAFE_ROOT: "Directories, separated by colons; writes and deletions outside \
        them are refused.", default "only the permission profile applies";
    HERMES_SAFE_MODE: "If 1, no configured MCP server is used.", default "enabled servers are used";
    HERMES_SESSION: "The session that call and exec join if --session is not given.", default "a new session";
    TERMINAL_ENV: "Where commands run: local, docker, ssh or singularity. Overrides \
        terminal.backend.", default "the setting terminal.backend";
    TERMINAL_TIMEOUT: "Default timeout of a command in seconds.", default "the setting terminal.timeout";
    TERMINAL_MAX_FOREGROUND_TIMEOUT: "Maximum seconds that a call can wait for a command.", default "the setting terminal.max_foreground_timeout";
    TERMINAL_CWD: "Initial working directory of a session on a backend other than local.", default "the setting terminal.cwd";
    TERMINAL_DOCKER_IMAGE: "The container image.", default "the setting terminal.docker_image";
    TERMINAL_SSH_HOST: "The host on which commands run.", default "the setting terminal.ssh_host";
    TERMINAL_SSH_USER: "The remote user.", default "the setting terminal.ssh_user";
    TERMINAL_SSH_PORT: "The remote port.", default "the setting terminal.ssh_port";
    TERMINAL_SSH_KEY: "Path of the private key.", default "the setting terminal.ssh_key";
    TERMINAL_SINGULARITY_IMAGE: "The Singularity or Apptainer image.", default "the setting terminal.singularity_image";
    TERMINAL_INACTIVITY_TIMEOUT: "Seconds without output after which a command is terminated.", default "the setting terminal.inactivity_timeout";
    TERMINAL_OUTPUT_DAYS: "Days to keep spilled output.", default "the setting terminal.output_days";
    TERMINAL_OUTPUT_MEGABYTES: "Maximum megabytes of spilled output.", default "the setting terminal.output_megabytes";
    TERMINAL_CONTAINER_CPU: "Number of CPUs that a container can use.", default "the setting terminal.container_cpu";
    TERMINAL_CONTAINER_MEMORY: "Megabytes of memory that a container can use.", default "the setting terminal.container_memory";
    TERMINAL_CONTAINER_DISK: "Megabytes of disk that a container can use.", default "the setting terminal.container_disk";
    TERMINAL_CONTAINER_PERSISTENT: "Whether a container's home and workspace persist.", default "the setting terminal.container_persistent";
    TERMINAL_DOCKER_PROGRAM: "The container program.", default "the setting terminal.docker_program";
    TERMINAL_DOCKER_VOLUMES: "Paths to mount in the container, as a list or separated by commas.", default "the setting terminal.docker_volumes";
    TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE: "Whether to mount the current directory as /workspace.", default "the setting terminal.docker_mount_cwd_to_workspace";
    TERMINAL_DOCKER_ENV: "Environment variables of the container, as NAME=VALUE or as a mapping.", default "the setting terminal.docker_env";
    TERMINAL_DOCKER_FORWARD_ENV: "Names of environment variables to pass to the container.", default "the setting terminal.docker_forward_env";
    TERMINAL_DOCKER_NETWORK: "Whether a container has network access.", default "the setting terminal.docker_network";
    TERMINAL_DOCKER_RUN_AS_HOST_USER: "Whether commands in a container run as the current user.", default "the setting terminal.docker_run_as_host_user";
    TERMINAL_DOCKER_EXTRA_ARGS: "Additional arguments for `docker run`.", default "the setting terminal.docker_extra_args";
    TERMINAL_DOCKER_GLOBAL_ARGS: "Arguments before every docker or podman subcommand.", default "the setting terminal.docker_global_args";
    TERMINAL_SSH_HOST_KEY: "Which host keys to accept.", default "the setting terminal.ssh_host_key";
    TERMINAL_SSH_CONFIG: "An ssh configuration file.", default "the setting terminal.ssh_config";
    TERMINAL_SYNC: "Files to copy to the remote host, as LOCAL:REMOTE.", default "the setting terminal.sync";
    TERMINAL_SYNC_BACK: "Files to copy back, as REMOTE:LOCAL.", default "the setting terminal.sync_back";
    TERMINAL_SINGULARITY_BINDS: "Paths to bind in the container.", default "the setting terminal.singularity_binds";
    TERMINAL_SINGULARITY_PROGRAM: "The Singularity program.", default "the setting terminal.singularity_program";
    HERMES_CRON_MAX_PARALLEL: "Maximum number of scheduled jobs that run at the same time.", default "the setting cron.max_parallel_jobs";
    HERMES_MODEL: "The model, by the name that its server uses. Overrides model.default.", default "the setting model.default";
    HERMES_INFERENCE_PROVIDER: "The model provider. Overrides model.provider.", default "the setting model.provider, else a provider for which an API key is set";
    OPENROUTER_API_KEY: "OpenRouter API key. Like every key variable, it can hold several keys \
        separated by commas and can be set in .env.", default "none";
    ANTHROPIC_API_KEY: "Anthropic API key.", default "none";
    OPENAI_API_KEY: "API key for OpenAI, or for the server at OPENAI_BASE_URL.", default "none";
    OPENAI_BASE_URL: "Base URL of an OpenAI-compatible server.", default "OpenAI's URL";
    GEMINI_API_KEY: "Google Gemini API key; same as GOOGLE_API_KEY.", default "none";
    GOOGLE_API_KEY: "Google Gemini API key.", default "none";
    HERMES_LOG: "Log level: off, error, warn, info, debug or trace, or target=level pairs.", default "warn";
    SUDO_PASSWORD: "Password for sudo in commands; can be set in .env. Commands cannot read it.", default "the user is asked at the terminal";
    NO_COLOR: "Disables colour in output if not empty.", default "colour if the output is a terminal";
    HOME: "The user's home directory, which contains .hermes.", default "none";
}

/// A snapshot of the environment, so nothing below the composition root reads
/// process-global state.
///
/// Values may be secrets: `Debug` shows names only.
#[derive(Clone, Default)]
pub struct EnvSnapshot(BTreeMap<OsString, OsString>);

impl EnvSnapshot {
    /// Captures the environment of this process.
    pub fn from_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// Returns the value of a variable; an empty value counts as not set.
    pub fn get(&self, var: &EnvVar) -> Option<&OsStr> {
        self.get_named(var.name)
    }

    /// Returns the value of a variable as text.
    pub fn text(&self, var: &EnvVar) -> Option<String> {
        Some(self.get(var)?.to_string_lossy().into_owned())
    }

    /// Adds variables that are not set, as a `.env` file does.
    pub fn fill_missing<K, V>(&mut self, vars: impl IntoIterator<Item = (K, V)>)
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        for (name, value) in vars {
            self.0.entry(name.into()).or_insert_with(|| value.into());
        }
    }

    fn get_named(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for EnvSnapshot {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(vars: I) -> Self {
        Self(vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for EnvSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
#[path = "vars_tests.rs"]
mod tests;
