//! Built-in refusals that no user rule can override.

use std::net::IpAddr;

use hermes_core::ConnectionRefusal;

/// Refuses a metadata service, whatever the rules say: its credentials are
/// those of the whole machine.
pub(crate) fn metadata(host: &str) -> ConnectionRefusal {
    built_in(
        format!("{host} is a cloud metadata service, which hands out the machine's credentials"),
        "metadata services",
        "this cannot be allowed",
    )
}

pub(crate) fn no_judge() -> ConnectionRefusal {
    built_in(
        "this process serves no call of the session".to_owned(),
        "session without a call",
        "connect while a call of the session runs",
    )
}

pub(crate) fn unknown_placeholder(address: IpAddr) -> ConnectionRefusal {
    built_in(
        format!("{address} is a placeholder address whose name is unknown"),
        "placeholder addresses",
        "look up the name again and connect to the new address",
    )
}

pub(crate) fn unreadable(problem: &str) -> ConnectionRefusal {
    built_in(
        format!("the request could not be read: {problem}"),
        "proxy protocol",
        "send a well-formed HTTP proxy request or SOCKS5 request",
    )
}

pub(crate) fn undecided() -> ConnectionRefusal {
    built_in(
        "the connection ended before a decision was made".to_owned(),
        "unfinished connections",
        "connect again and wait for the decision",
    )
}

fn built_in(reason: String, rule: &str, allow: &str) -> ConnectionRefusal {
    ConnectionRefusal {
        reason,
        rule: format!("built-in: {rule}"),
        allow: allow.to_owned(),
        is_approvable: false,
    }
}
