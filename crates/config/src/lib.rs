//! Settings: the home folder, config.yaml, environment variables, and edits that keep what they do not touch.
//!
//! Reading goes [`Home`] → [`RawConfig`] (what was said: the document and the environment) → [`Config`]
//! (what holds: typed [`Settings`], each with its [`Origin`], and [`Warning`]s). Writing goes through
//! [`edit`], which changes one value in the text, and [`save`], which puts the text on disk in one step.
//!
//! ```
//! use hermes_config::{Env, RawConfig};
//!
//! let raw = RawConfig::parse("config.yaml", "tool_output:\n  max_lines: 500\n", Env::default())?;
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

pub use document::{Document, MAX_BYTES, parse_value};
pub use edit::EditError;
pub use error::{ConfigError, Diagnostic, Place};
pub use home::Home;
pub use keys::{KEYS, Key, Kind, Preset};
pub use path::{KeyPath, PathError};
pub use resolve::{Config, Origin, RawConfig, Resolved, Warning};
pub use settings::{
    Agent, Approvals, Checkpoints, CodeExecution, Container, Cron, Docker, Guardrails, Memory,
    Model, Permissions, Sandbox, Settings, Singularity, Ssh, Terminal, Thresholds, ToolOutput,
    ToolSearch, ToolSearchMode,
};
pub use vars::{Env, VARS, Var};
