//! Sandboxed, permission-checked tools for AI agents, as a library.
//!
//! [`Hermes::builder`] composes the tool families, a policy, sandboxed command
//! execution, checkpoints and an audit log. The `hermes` command is built on it.
//!
//! ```
//! use hermes::Hermes;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let directory = std::env::temp_dir().join(format!("hermes-doc-{}", std::process::id()));
//! # let (home, workspace) = (directory.join("home"), directory.join("work"));
//! # std::fs::create_dir_all(&workspace).unwrap();
//! let hermes = Hermes::builder().home(&home).workspace(&workspace).build()?;
//! let caller = hermes.caller();
//! let result = hermes.call("write_file", json!({"path": "a.txt", "content": "hi"}), &caller).await;
//! assert!(result.is_success(), "{}", result.content);
//! assert_eq!(std::fs::read_to_string(workspace.join("a.txt"))?, "hi");
//! hermes.close().await?;
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! `examples/embedding` in the repository adds a tool and dispatches a batch.

mod audit_recorder;
mod builder;
mod families;

mod hermes;
mod policy_files;
pub mod sandbox_support;
mod secrets_provider;

pub use audit_recorder::AuditRecorder;
pub use builder::{DEFAULT_PROFILE, HermesBuilder, HermesError};
pub use families::{FAMILIES, ToolFamily, all_tools};
pub use hermes::Hermes;
pub use policy_files::{path_variables, project_policy_file, registry_lookup};
pub use secrets_provider::{RedactingStore, SecretsProvider};

pub use hermes_audit as audit;
pub use hermes_core as core;
pub use hermes_engine as engine;
pub use hermes_policy as policy;
pub use hermes_protocol as protocol;
pub use hermes_sandbox as sandbox;
pub use hermes_schema as schema;
pub use hermes_secrets as secrets;
