//! The commands, one module each.

pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod checkpoints;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod hands;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod permissions;
pub(crate) mod ports;
pub(crate) mod processes;
mod result_text;
pub(crate) mod run;
pub(crate) mod runtime;
pub(crate) mod sandbox;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod tools;
pub(crate) mod toolsets;
pub(crate) mod undo;
