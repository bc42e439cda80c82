//! Batches with workers that make their conversations up.

#![allow(clippy::unwrap_used)]

mod resume;
mod worker;
