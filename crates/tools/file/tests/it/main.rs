//! The file tools through the door that the engine uses.
#![allow(clippy::unwrap_used)]

mod charset;
mod contract;
mod directory_list;
mod file_compress;
mod file_diff;
mod file_watch;
mod grants;
mod harness;
mod names;
mod patch;
mod patch_files;
mod patch_kinds;
mod placeholders;
mod read_file;
mod read_more;
mod search_files;
mod write_file;
mod write_known;
