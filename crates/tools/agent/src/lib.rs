//! Tools for the agent itself: planning.

mod notes;
mod patch;
mod shape;
mod tasks;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
