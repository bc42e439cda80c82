//! Messages to people elsewhere: where they may go, and how they get there.

mod http;
mod mail;
mod parts;
mod send;
mod targets;

pub(crate) use send::{OutgoingMessage, send};
pub use targets::{
    MessageTarget, MessageTargets, OneOrMany, SecretLookup, SmtpSecurity, TargetError,
};
