//! Sub-agents and mixtures, with model servers that play scripts over HTTP.
#![allow(clippy::unwrap_used)]

mod background;
mod bounds;
mod delegating;
mod mixing;
mod stage;
mod stopping;
mod strangers;
