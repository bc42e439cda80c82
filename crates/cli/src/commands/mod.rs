//! The commands, one module each.

pub(crate) mod call;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod exec;
mod readable;
pub(crate) mod runtime;
pub(crate) mod tools;
pub(crate) mod toolsets;
