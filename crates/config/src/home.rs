//! The home folder: where everything of the user lives. Looking a path up never creates anything.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;
use crate::vars::{EnvSnapshot, EnvVar, HERMES_HOME, HOME};

/// The user's variable on Windows, where `HOME` is not customary.
const USERPROFILE_VAR: EnvVar =
    EnvVar { name: "USERPROFILE", meaning: "The user's home folder on Windows.", default: "none" };

/// The resolved home folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HermesHome {
    root: PathBuf,
}

impl HermesHome {
    /// `HERMES_HOME`, else `.hermes` in the user's home folder. A leading `~/` and a relative path are resolved.
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

    /// A home at a given folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
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

    /// `toolsets.json`: the user's own toolsets.
    pub fn toolsets_file(&self) -> PathBuf {
        self.root.join("toolsets.json")
    }

    /// `hermes_permissions.yaml`: permission profiles.
    pub fn permissions_file(&self) -> PathBuf {
        self.root.join("hermes_permissions.yaml")
    }

    /// `approvals.json`: what was answered with "always".
    pub fn saved_rules_file(&self) -> PathBuf {
        self.root.join("approvals.json")
    }

    /// `approvals/`: questions that nobody was there to answer.
    pub fn tickets_dir(&self) -> PathBuf {
        self.root.join("approvals")
    }

    /// `secrets.json`: the user's secrets.
    pub fn secrets_file(&self) -> PathBuf {
        self.root.join("secrets.json")
    }

    /// `logs/`.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// `cache/`: safe to delete.
    pub fn cache_dir(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// `checkpoints/files/`: what files were before they were changed. Hermes
    /// Agent keeps its own beside it.
    pub fn checkpoints_dir(&self) -> PathBuf {
        self.root.join("checkpoints").join("files")
    }

    /// `checkpoints/changes/`: changes of several files that are being made.
    pub fn changes_dir(&self) -> PathBuf {
        self.root.join("checkpoints").join("changes")
    }

    /// `sandbox/overlays/`: what child processes changed in the user's caches.
    pub fn overlays_dir(&self) -> PathBuf {
        self.root.join("sandbox").join("overlays")
    }

    /// `session-state/`: what separate processes of one session share.
    pub fn session_state_dir(&self) -> PathBuf {
        self.root.join("session-state")
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
