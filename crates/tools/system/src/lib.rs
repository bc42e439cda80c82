//! Tools for the machine: environment, information, waiting.

mod remote;
mod blocking;
mod desktop;
mod environment;
mod wall_time;
mod notes;
mod secrets;
mod shell;
mod typed_input;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
