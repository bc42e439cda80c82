//! Tools for files and directories.

mod aliases;
mod blocking;
mod change;
mod charset;
mod clip;
mod content;
mod extraction;
mod image;
mod line_index_cache;
mod lines;
mod lint;
mod missing;
mod numbered;
mod original;
mod path_recovery;
mod path_text;
mod placeholders;
mod schema_trim;
mod seen_files;
mod shards;
mod similar;
mod source;
mod timestamp;
mod unchanged;
mod unsaved;
mod versions;

mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
