//! Texts that must be found, and texts that must not.

mod attacks;
mod benign;
