//! Google's Gemini.

mod body;
mod pieces;

pub(crate) use body::body;
pub(crate) use pieces::Reader;
