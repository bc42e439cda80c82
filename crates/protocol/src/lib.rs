//! The wire dialects in which models and programs ask for tool calls and read
//! the answers.
//!
//! [`parse`] reads a request in any dialect, [`render`] answers it in the same
//! one, and [`RequestFramer`] cuts a stream of lines into requests, so that one loop
//! serves a pretty-printed file, JSON lines and a model's raw reply.
//!
//! Reading is lenient for each call and strict for the document: a call
//! without a name, with arguments of the wrong type or with an argument that
//! nests too deep still becomes a call, so that it gets its own answer; a
//! document whose shape is unknown is an error with the place and a way out.

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
