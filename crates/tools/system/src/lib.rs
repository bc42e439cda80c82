//! Tools for the machine: environment, information, waiting.

mod blocking;
mod environment;
mod moment;
mod secrets;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
