//! What always holds, whatever is sent.

#![allow(clippy::unwrap_used)]

mod lines;
mod round_trip;
mod wild;
