//! Settings: the home directory, config.yaml, environment variables, and edits
//! that preserve the rest of the file.
//!
//! Reading goes from [`HermesHome`] to [`RawConfig`] (the document and the
//! environment) to [`ResolvedConfig`] (the typed [`HermesSettings`], the
//! [`SettingOrigin`] of each value, and [`ConfigWarning`]s). Writing goes
//! through [`edit`], which changes one value in the text, and [`save`], which
//! replaces the file atomically.
//!
//! ```
//! use hermes_config::{EnvSnapshot, RawConfig};
//!
//! let raw = RawConfig::parse("config.yaml", "tool_output:\n  max_lines: 500\n", EnvSnapshot::default())?;
//! let config = raw.resolve()?;
//! assert_eq!(config.settings.tool_output.max_lines, 500);
//! assert_eq!(config.settings.toolsets, ["hermes-cli"]);
//! # Ok::<(), hermes_config::ConfigError>(())
//! ```

pub mod edit;
pub mod save;
pub mod vars;

mod document;
mod error;
mod expand;
mod home;
mod keys;
mod path;
mod resolve;
mod scalar;
mod settings;
mod source;
mod suggest;
mod syntax;
mod tree;
mod trust;

pub use document::{ConfigDocument, MAX_CONFIG_BYTES, parse_value};
pub use edit::EditError;
pub use error::{ConfigDiagnostic, ConfigError, FilePosition};
pub use home::HermesHome;
pub use keys::{DefaultValue, KEYS, SettingKey, SettingKind, is_known_setting};
pub use path::{KeyPath, KeyPathError};
pub use resolve::{ConfigWarning, RawConfig, ResolvedConfig, ResolvedSetting, SettingOrigin};
pub use settings::{
    AgentConfig, ApprovalConfig, CheckpointConfig, CodeExecutionConfig, ContainerConfig,
    CronConfig, DockerConfig, HermesSettings, LoopGuardConfig, LoopGuardThresholds, MemoryConfig,
    ModelConfig, PermissionConfig, SandboxConfig, SingularityConfig, SshConfig, TerminalConfig,
    ToolOutputConfig, ToolSearchConfig, ToolSearchMode,
};
pub use trust::trust_project;
pub use vars::{EnvSnapshot, EnvVar, VARS};
