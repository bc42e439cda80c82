//! Outgoing messages: the configured targets and how to reach them.

mod http;
mod mail;
mod parts;
mod send;
mod targets;

pub(crate) use send::{OutgoingMessage, send};
pub use targets::{
    MessageTarget, MessageTargets, OneOrMany, SecretLookup, SmtpSecurity, TargetError,
};
