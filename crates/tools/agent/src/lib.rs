//! Tools for the agent itself: planning.

mod choice;
pub mod messages;
mod notes;
mod patch;
mod plan;
mod shape;
mod tasks;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
    pub(super) use send_message::with;
}
pub use plan::{todo_lines, todo_reminder};
pub use tools::tools;

/// `send_message` for the targets of the user, in place of the one in
/// [`tools`], which has none.
pub fn send_message(targets: messages::Targets) -> std::sync::Arc<dyn hermes_core::DynTool> {
    tools::with(targets)
}
