//! Rules of the workspace as a whole.
#![allow(clippy::unwrap_used)]

mod corpus;
mod discovery;
mod workspace;
