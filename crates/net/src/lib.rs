//! Network access of child processes. A session's children run in a network
//! namespace without a route and reach the network only through the proxy of
//! this crate.
//!
//! ```text
//! child ── HTTP, SOCKS5, redirected TCP ──► ProxyServer ──► ConnectionJudge
//!   │                                          │ allowed
//!   └── port 53 ──► DnsStub ──► NameTable ─────┤
//!                   (never forwards)        Dialer ──► each address checked ──► host network
//! ```
//!
//! Names are judged before they are looked up, and addresses right before they
//! are dialled, so no name leads to an address that was not judged.

mod accept;
mod address;
mod destination;
mod dialer;
mod dns;
mod judge;
mod names;
mod ports;
mod proxy;
mod refusal;

pub use address::{AddressReach, address_reach, canonical_host, host_reach};
pub use dialer::{AddressCheck, DialError, DialedStream, Dialer};
pub use dns::DnsStub;
pub use judge::CurrentJudge;
pub use names::NameTable;
pub use ports::publish_port;
pub use proxy::{
    ClientLookup, KernelRedirects, OriginalDestination, ProxyContext, ProxyLimits, ProxyServer,
};
