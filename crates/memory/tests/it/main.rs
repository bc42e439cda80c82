//! The lists on disk.

mod lists;
mod sharing;
