//! Behaviour of the library as an embedding program sees it.

#![allow(clippy::unwrap_used)]

mod embedding;
mod tool_names;
