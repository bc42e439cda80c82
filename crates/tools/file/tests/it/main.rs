//! The file tools through the door that the engine uses.
#![allow(clippy::unwrap_used)]

mod contract;
mod directory_list;
mod file_compress;
mod file_diff;
mod file_watch;
mod grants;
mod harness;
mod patch;
mod read_file;
mod search_files;
mod read_more;
mod write_file;
