//! System tools: terminal, processes, environment, clipboard, notifications.

mod blocking;
mod desktop;
mod environment;
mod notes;
mod remote;
mod secrets;
mod shell;
mod typed_input;
mod wall_time;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
