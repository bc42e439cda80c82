//! Tools for code: scripts, interpreters, linters, formatters, tests, a debugger.

mod checks;
mod program;

mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
