//! Tools for the agent itself: planning, questions, memory, messages and
//! schedules.

mod choice;
pub mod messages;
mod notes;
mod tasks;
mod todo_patch;
mod todo_schema;
mod todo_text;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
    pub(super) use send_message::with_targets;
}
pub use todo_text::{todo_lines, todo_reminder};
pub use tools::tools;

/// Returns `send_message` with the user's targets, to replace the one in
/// [`tools`], which has none.
pub fn send_message(targets: messages::MessageTargets) -> std::sync::Arc<dyn hermes_core::DynTool> {
    tools::with_targets(targets)
}
