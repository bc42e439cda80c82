//! The `hermes` command as its users meet it: through the binary, each test
//! with a home and a working folder of its own.

mod call;
mod config;
mod context;
mod crowd;
mod deluge;
mod doctor;
mod documents;
mod exec;
mod homes;
mod interrupt;
mod malformed;
mod person;
mod session;
mod stream;
mod surface;
mod tools;
mod toolsets;
