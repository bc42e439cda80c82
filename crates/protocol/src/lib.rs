//! The wire dialects in which models and programs request tool calls and read
//! the results.
//!
//! [`parse`] reads a request in any dialect, [`render_results`] answers it in
//! the same one, and [`RequestFramer`] splits a stream of lines into requests,
//! so one loop serves a pretty-printed file, JSON lines and a model's raw
//! reply.
//!
//! Reading is lenient for each call and strict for the document: a call without
//! a name, with arguments of the wrong type or with an argument that nests too
//! deep still becomes a call and gets its own result; a document of unknown
//! shape is an error with a position and a hint.

mod blocks;
mod call;
mod dialect;
mod document;
mod error;
mod framer;
mod hermes_text;
mod json_node;
mod json_scan;
mod request;
mod result_format;
mod salvage;
mod syntax;

pub use dialect::CallDialect;
pub use error::ProtocolError;
pub use framer::{RequestFrame, RequestFramer};
pub use request::{CallRequest, MAX_CALLS, parse, parse_bytes};
pub use result_format::{render_error, render_results};
