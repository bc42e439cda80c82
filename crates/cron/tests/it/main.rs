//! Jobs and whoever runs them, with real processes.

#![allow(clippy::unwrap_used)]

mod daemon;
mod sharing;
