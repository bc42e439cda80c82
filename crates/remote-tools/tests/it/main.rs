//! File tools in another place, as the engine meets them: the place is this
//! machine under another home, and a container or another host where the
//! tests are given one.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod carrying;
mod death;
mod inside;
mod links;
mod place;
mod remote;
mod tools;
