//! The file tools through the door that the engine uses.
#![allow(clippy::unwrap_used)]

mod contract;
mod directory_list;
mod grants;
mod harness;
mod read_file;
