//! The system tools through the whole engine.

mod contract;
