//! Tools for files and folders.

mod aliases;
mod astray;
mod blocking;
mod brevity;
mod change;
mod charset;
mod clip;
mod content;
mod extraction;
mod image;
mod known;
mod lines;
mod lint;
mod marks;
mod missing;
mod numbered;
mod original;
mod shards;
mod similar;
mod source;
mod spelling;
mod stamp;
mod unchanged;
mod unsaved;
mod versions;

mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
