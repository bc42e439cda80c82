//! Tools for files and folders.

mod blocking;
mod clip;
mod content;
mod lines;
mod missing;
mod similar;
mod source;

mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
