//! Every environment variable the project reads, in one table, and the snapshot they are read from.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// An environment variable the project reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// What holds when it is not set.
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
        /// All of them, in the order in which they are documented.
        pub const VARS: &[EnvVar] = &[$($name),+];
    };
}

vars! {
    HERMES_HOME: "The folder that holds config.yaml, .env, skills, memories and state.", default "~/.hermes";
    HERMES_PERMISSION_PROFILE: "The permission profile to use; --profile wins over it, it wins over permissions.profile.", default "the setting permissions.profile";
    HERMES_YOLO: "Set to 1, every question counts as answered with yes; hard blocks and denials stay. Read once, at the start.", default "questions are asked";
    HERMES_WRITE_SAFE_ROOT: "Folders, separated by colons, outside of which nothing is written or deleted.", default "the permission profile alone decides";
    HERMES_SAFE_MODE: "Set to 1, no MCP server of the settings is used.", default "all that are enabled are";
    HERMES_SESSION: "The session that call and exec join when --session is not given.", default "a new session";
    TERMINAL_ENV: "Where commands run: local, docker, ssh or singularity; it wins over terminal.backend.", default "the setting terminal.backend";
    TERMINAL_TIMEOUT: "How many seconds a command is waited for when the call does not say.", default "the setting terminal.timeout";
    TERMINAL_MAX_FOREGROUND_TIMEOUT: "The most seconds that a call may wait for a command.", default "the setting terminal.max_foreground_timeout";
    TERMINAL_CWD: "The folder that a session begins in when commands run elsewhere.", default "the setting terminal.cwd";
    TERMINAL_DOCKER_IMAGE: "The image of the container.", default "the setting terminal.docker_image";
    TERMINAL_SSH_HOST: "The host that commands run on.", default "the setting terminal.ssh_host";
    TERMINAL_SSH_USER: "The user there.", default "the setting terminal.ssh_user";
    TERMINAL_SSH_PORT: "The port there.", default "the setting terminal.ssh_port";
    TERMINAL_SSH_KEY: "The file of the private key.", default "the setting terminal.ssh_key";
    TERMINAL_SINGULARITY_IMAGE: "The image for Singularity or Apptainer.", default "the setting terminal.singularity_image";
    HERMES_CRON_MAX_PARALLEL: "How many scheduled jobs run at once.", default "the setting cron.max_parallel_jobs";
    HERMES_MODEL: "The model, as its server names it; it wins over model.default.", default "the setting model.default";
    HERMES_INFERENCE_PROVIDER: "Who runs the model, if model.provider does not say.", default "the setting model.provider, else whoever there is a key for";
    OPENROUTER_API_KEY: "A key of OpenRouter, or several with commas between them, like every key; also in the .env file.", default "none";
    ANTHROPIC_API_KEY: "A key of Anthropic.", default "none";
    OPENAI_API_KEY: "A key of OpenAI, or of the server at OPENAI_BASE_URL.", default "none";
    OPENAI_BASE_URL: "The address of a server that speaks as OpenAI's does.", default "OpenAI's own";
    GEMINI_API_KEY: "A key of Google's Gemini; GOOGLE_API_KEY is the same.", default "none";
    GOOGLE_API_KEY: "A key of Google's Gemini.", default "none";
    HERMES_LOG: "What is written to the log: off, error, warn, info, debug or trace, or target=level pairs.", default "warn";
    SUDO_PASSWORD: "The password for sudo in commands, also in the .env file; no command sees it.", default "somebody at the terminal is asked";
    NO_COLOR: "No colour in output, whatever the value.", default "colour when the output is a terminal";
    HOME: "The user's home folder, where .hermes is looked for.", default "none";
}

/// A snapshot of the environment, so that nothing below the composition root reads process-global state.
///
/// Values may be secrets: `Debug` shows names only.
#[derive(Clone, Default)]
pub struct EnvSnapshot(BTreeMap<OsString, OsString>);

impl EnvSnapshot {
    /// The variables of this process.
    pub fn from_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable; one that is set to nothing counts as not set.
    pub fn get(&self, var: &EnvVar) -> Option<&OsStr> {
        self.get_named(var.name)
    }

    /// The value of a variable as text.
    pub fn text(&self, var: &EnvVar) -> Option<String> {
        Some(self.get(var)?.to_string_lossy().into_owned())
    }

    /// Adds variables that are not set yet, as a `.env` file does.
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
