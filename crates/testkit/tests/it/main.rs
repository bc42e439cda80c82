//! What holds for the workspace as a whole.
#![allow(clippy::unwrap_used)]

mod corpus;
mod discovery;
mod workspace;
