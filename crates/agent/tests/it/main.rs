//! Turns of an agent with a model that follows a script, and real tools.
#![allow(clippy::unwrap_used)]

mod room;
mod script;
mod turns;
mod writing;
