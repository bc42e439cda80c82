//! All `unsafe` code: what runs between fork and exec, and processes created
//! without the standard library.

pub(crate) mod attempt;
pub(crate) mod child;
mod helper;
pub(crate) mod image;
pub(crate) mod namespace;
pub(crate) mod network;
pub(crate) mod remount;
pub(crate) mod vfork;
