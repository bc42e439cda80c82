//! The Chat Completions API.

mod body;
mod decoder;

pub(crate) use body::request_body;
pub(crate) use decoder::ChatDecoder;
