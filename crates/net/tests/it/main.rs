//! The proxy, the stub and the port forwards on real sockets.

#![allow(clippy::unwrap_used)]
// A test that is skipped says so.
#![allow(clippy::print_stderr)]

mod curl;
mod dns;
mod hostile;
mod http;
mod judging;
mod many;
mod namespace;
mod ports;
mod redirected;
mod socks;
mod support;
