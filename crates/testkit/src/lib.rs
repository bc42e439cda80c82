//! Contract tests and fixtures for tools and engines; for tests only.

pub mod contract;
pub mod fuzz;
pub mod models;
pub mod place;
pub mod probe;
