//! Tools for files and folders.

mod aliases;
mod path_recovery;
mod blocking;
mod schema_trim;
mod change;
mod charset;
mod clip;
mod content;
mod extraction;
mod image;
mod seen_files;
mod lines;
mod lint;
mod line_index_cache;
mod missing;
mod numbered;
mod original;
mod shards;
mod similar;
mod source;
mod path_text;
mod timestamp;
mod unchanged;
mod unsaved;
mod versions;

mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
