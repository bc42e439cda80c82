//! What ssh's own words mean, and what is to be done.

use hermes_core::ToolError;

use super::settings::SshSettings;
use crate::backend::ProcessExit;

/// What ssh ends with when it is not the program's end.
const SSH_EXIT_CODE: i32 = 255;

/// Words of ssh's own, at the beginning of a line.
const SSH_MESSAGE_PREFIXES: [&str; 14] = [
    "@@@@",
    "Connection closed by",
    "Connection reset by",
    "Connection timed out",
    "Connection to ",
    "Control socket",
    "Host key verification failed",
    "Read from remote host",
    "Timeout, server",
    "client_loop:",
    "kex_exchange_identification:",
    "mux_client_",
    "packet_write_wait",
    "ssh:",
];

/// A cause, by words that tell of it, and what is to be done.
const KNOWN_CAUSES: [(&str, &str, &str); 12] = [
    (
        "and you have requested strict checking",
        "the host is not known, and only known ones are allowed",
        "Connect once by hand and check its key, or set terminal.ssh_host_key to accept-new.",
    ),
    (
        "UNPROTECTED PRIVATE KEY FILE",
        "the private key can be read by others, so ssh does not use it",
        "Take it back with `chmod 600` on the key file.",
    ),
    (
        "Permission denied",
        "the host does not let this user in",
        "Check terminal.ssh_user and terminal.ssh_key; a key with a passphrase must be in the \
         agent (`ssh-add`), and its public half in ~/.ssh/authorized_keys there.",
    ),
    (
        "Too many authentication failures",
        "too many keys were offered",
        "Set terminal.ssh_key to the one that the host knows.",
    ),
    (
        "Could not resolve hostname",
        "the name of the host is not known",
        "Check terminal.ssh_host, or the Host entry in ~/.ssh/config.",
    ),
    (
        "Connection refused",
        "nobody listens there",
        "Check terminal.ssh_host and terminal.ssh_port, and that sshd runs there.",
    ),
    (
        "timed out",
        "the host does not answer",
        "Check that it is up and can be reached from here (network, VPN, firewall).",
    ),
    (
        "No route to host",
        "the host cannot be reached from here",
        "Check that it is up and can be reached from here (network, VPN, firewall).",
    ),
    (
        "Network is unreachable",
        "there is no network that leads there",
        "Check the network of this machine.",
    ),
    (
        "Host key verification failed",
        "the key of the host is not accepted",
        "Connect once by hand and check its key.",
    ),
    (
        "Bad configuration option",
        "the ssh configuration has an error",
        "Mend ~/.ssh/config; `ssh -G HOST` shows what ssh reads in it.",
    ),
    (
        "Session open refused",
        "the host lets no more programs run at once",
        "Wait for others to end, or raise MaxSessions there.",
    ),
];

/// The error if no connection could be made.
pub(super) fn connect_error(settings: &SshSettings, words: &str) -> ToolError {
    let host = &settings.host;
    if words.contains("IDENTIFICATION HAS CHANGED") {
        return changed_key_error(settings, words);
    }
    let said = last_line(words);
    let said = if said.is_empty() { String::new() } else { format!(" (ssh says: {said})") };
    match KNOWN_CAUSES.iter().find(|(sign, ..)| words.contains(sign)) {
        Some((_, cause, step)) => {
            ToolError::unavailable(format!("ssh: no connection to {host}: {cause}{said}"))
                .with_hint(*step)
        }
        None => ToolError::unavailable(format!("ssh: no connection to {host}{said}"))
            .with_hint(format!("Try `ssh {host}` by hand.")),
    }
}

/// The error if a trip has ended before the program did.
pub(super) fn session_error(
    settings: &SshSettings,
    exit: ProcessExit,
    errors: &str,
    is_broken: bool,
) -> Option<ToolError> {
    let said = last_ssh_message(errors);
    let is_own = match exit {
        ProcessExit::Code(SSH_EXIT_CODE) => is_broken || !said.is_empty(),
        // A program there cannot end this one by a signal.
        ProcessExit::Signal(_) => true,
        ProcessExit::Code(_) => false,
    };
    if !is_own {
        return None;
    }
    if errors.contains("IDENTIFICATION HAS CHANGED") {
        return Some(changed_key_error(settings, errors));
    }
    let never_ran = ["kex_exchange", "ssh: connect", "Host key verification", "Permission denied"];
    if never_ran.iter().any(|sign| errors.contains(sign)) {
        return Some(connect_error(settings, errors));
    }
    let host = &settings.host;
    let how = match exit {
        ProcessExit::Signal(signal) => format!("the ssh program was ended by signal {signal}"),
        ProcessExit::Code(_) if said.is_empty() => "the connection was closed".to_owned(),
        ProcessExit::Code(_) => format!("ssh says: {said}"),
    };
    Some(
        ToolError::unavailable(format!(
            "ssh: the connection to {host} broke while a program ran there: {how}"
        ))
        .with_hint(
            "It was not run again, and it is not known how far it got. The next command makes a \
             new connection; look there first.",
        ),
    )
}

fn changed_key_error(settings: &SshSettings, words: &str) -> ToolError {
    let host = match settings.port {
        Some(port) if port != 22 => format!("[{}]:{port}", settings.host),
        _ => settings.host.clone(),
    };
    let offending = words.lines().find(|line| line.starts_with("Offending"));
    let known = offending.map(|line| format!(" ({})", line.trim())).unwrap_or_default();
    ToolError::denied(format!(
        "ssh: the key of {} is not the one that is known of it{known}: the host was set up anew, \
         or somebody else answers in its place",
        settings.host
    ))
    .with_hint(format!(
        "Ask whoever runs the host. If its key has really changed, forget the old one with \
         `ssh-keygen -R '{host}'` and connect again."
    ))
}

/// The last line in which ssh speaks itself.
fn last_ssh_message(errors: &str) -> &str {
    let is_own = |line: &&str| {
        SSH_MESSAGE_PREFIXES.iter().any(|words| line.starts_with(words))
            || line.contains("Permission denied (")
    };
    errors.lines().map(str::trim).rfind(is_own).unwrap_or_default()
}

fn last_line(words: &str) -> &str {
    words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
