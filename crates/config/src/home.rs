//! The Hermes home directory, which holds all of the user's data. Path lookups
//! never create anything.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;
use crate::vars::{EnvSnapshot, EnvVar, HERMES_HOME, HOME};

/// The configuration file with the lowest priority, in the home directory and in
/// a project.
pub(crate) const CLI_CONFIG_FILE: &str = "cli-config.yaml";

/// The home variable on Windows, where `HOME` is usually not set.
const USERPROFILE_VAR: EnvVar = EnvVar {
    name: "USERPROFILE",
    meaning: "The user's home directory on Windows.",
    default: "none",
};

/// The resolved home directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HermesHome {
    root: PathBuf,
}

impl HermesHome {
    /// Resolves `HERMES_HOME`, else `.hermes` in the user's home directory.
    /// Expands a leading `~/` and makes relative paths absolute.
    pub fn from_env(env: &EnvSnapshot) -> Result<Self, ConfigError> {
        let user_var = if cfg!(windows) { &USERPROFILE_VAR } else { &HOME };
        let user_home = env.get(user_var).map(PathBuf::from);
        let no_home = || ConfigError::NoHome { variable: user_var.name };
        let root = match env.get(&HERMES_HOME).map(Path::new) {
            Some(path) => match path.strip_prefix("~") {
                Ok(rest) => user_home.ok_or_else(no_home)?.join(rest),
                Err(_) => path.to_owned(),
            },
            None => user_home.ok_or_else(no_home)?.join(".hermes"),
        };
        let root = std::path::absolute(&root)
            .map_err(|source| ConfigError::Read { path: root.clone(), source })?;
        Ok(Self { root })
    }

    /// Returns a home at the given directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `config.yaml`: the settings.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.yaml")
    }

    /// `.env`: keys and other secrets.
    pub fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    /// `toolsets.json`: custom toolsets.
    pub fn toolsets_file(&self) -> PathBuf {
        self.root.join("toolsets.json")
    }

    /// `hermes_permissions.yaml`: permission profiles.
    pub fn permissions_file(&self) -> PathBuf {
        self.root.join("hermes_permissions.yaml")
    }

    /// `approvals.json`: calls approved with "always".
    pub fn saved_rules_file(&self) -> PathBuf {
        self.root.join("approvals.json")
    }

    /// `approvals/`: questions without an approver to answer them.
    pub fn tickets_dir(&self) -> PathBuf {
        self.root.join("approvals")
    }

    /// `secrets.json`: the user's secrets.
    pub fn secrets_file(&self) -> PathBuf {
        self.root.join("secrets.json")
    }

    /// `logs/`: log files.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The directory of the audit log.
    pub fn audit_dir(&self) -> PathBuf {
        self.logs_dir().join("audit")
    }

    /// `cache/`: safe to delete.
    pub fn cache_dir(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// `checkpoints/files/`: the contents of files before they were changed.
    /// Hermes Agent keeps its own checkpoints beside it.
    pub fn checkpoints_dir(&self) -> PathBuf {
        self.root.join("checkpoints").join("files")
    }

    /// `checkpoints/changes/`: multi-file changes in progress.
    pub fn changes_dir(&self) -> PathBuf {
        self.root.join("checkpoints").join("changes")
    }

    /// `sandbox/overlays/`: changes of child processes to the user's caches.
    pub fn overlays_dir(&self) -> PathBuf {
        self.root.join("sandbox").join("overlays")
    }

    /// `session-state/`: state shared by the processes of one session.
    pub fn session_state_dir(&self) -> PathBuf {
        self.root.join("session-state")
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
