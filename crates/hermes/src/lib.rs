//! The library facade of hermes: everything that an embedding program needs.
//!
//! ```
//! use hermes::core::ToolCall;
//! use hermes::engine::{Caller, Engine};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let engine = Engine::builder().build().expect("tool names are unique");
//! let caller = Caller::new("/tmp");
//! let call = ToolCall::new("call_1", "tool_search", serde_json::json!({ "query": "files" }));
//! let result = engine.call(call, &caller).await;
//! assert!(result.is_success());
//! assert!(result.content.starts_with('{'));
//! # });
//! ```

mod audit_recorder;

pub use audit_recorder::AuditRecorder;
pub use hermes_audit as audit;
pub use hermes_core as core;
pub use hermes_engine as engine;
pub use hermes_policy as policy;
pub use hermes_protocol as protocol;
pub use hermes_sandbox as sandbox;
pub use hermes_schema as schema;
pub use hermes_secrets as secrets;
