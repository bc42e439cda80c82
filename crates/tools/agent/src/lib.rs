//! Tools for the agent itself: planning.

mod patch;
mod tasks;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
