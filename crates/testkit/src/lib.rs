//! Contract tests and fixtures for tools and engines; for tests only.

pub mod backends;
pub mod contract;
pub mod fuzz;
pub mod models;
pub mod probe;
