//! Tools for the machine: environment, information, waiting.

mod afar;
mod blocking;
mod desktop;
mod environment;
mod moment;
mod remark;
mod secrets;
mod shell;
mod typed;
mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
