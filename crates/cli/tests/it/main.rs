//! The `hermes` command as its users meet it: through the binary, each test
//! with a home and a working folder of its own.

mod approvals;
mod audit;
mod batch;
mod call;
mod canary;
mod chat;
mod checkpoints;
mod config;
mod context;
mod cron;
mod crowd;
mod deluge;
mod doctor;
mod documents;
mod dry_run;
mod exec;
mod homes;
mod interrupt;
mod killed;
mod malformed;
mod mcp;
mod memory;
mod permissions;
mod person;
mod processes;
mod real_model;
mod run;
mod secrets;
mod session;
mod sessions;
mod skills;
mod stream;
mod surface;
mod tools;
mod toolsets;
