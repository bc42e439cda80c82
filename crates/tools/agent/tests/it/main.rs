//! The agent tools through the whole engine.

mod contract;
mod ports;
