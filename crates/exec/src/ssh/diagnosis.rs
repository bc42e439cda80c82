//! Explains error messages of ssh, with hints.

use hermes_core::ToolError;

use super::settings::SshSettings;
use crate::backend::ProcessExit;

/// Exit code of ssh's own failures.
const SSH_EXIT_CODE: i32 = 255;

/// Line prefixes of ssh's own messages.
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

/// A message, its cause, and a hint.
const KNOWN_CAUSES: [(&str, &str, &str); 12] = [
    (
        "and you have requested strict checking",
        "the host key is unknown, and strict checking is on",
        "Connect once by hand and check its key, or set terminal.ssh_host_key to accept-new.",
    ),
    (
        "UNPROTECTED PRIVATE KEY FILE",
        "the private key is readable by other users, so ssh ignores it",
        "Run `chmod 600` on the key file.",
    ),
    (
        "Permission denied",
        "the host rejected the login",
        "Check terminal.ssh_user and terminal.ssh_key; a key with a passphrase must be in the \
         agent (`ssh-add`), and the public key in ~/.ssh/authorized_keys on the host.",
    ),
    (
        "Too many authentication failures",
        "too many keys were offered",
        "Set terminal.ssh_key to the key that the host accepts.",
    ),
    (
        "Could not resolve hostname",
        "the host name cannot be resolved",
        "Check terminal.ssh_host, or the Host entry in ~/.ssh/config.",
    ),
    (
        "Connection refused",
        "the port is closed",
        "Check terminal.ssh_host and terminal.ssh_port, and that sshd is running there.",
    ),
    (
        "timed out",
        "the host does not respond",
        "Check that it is running and reachable from here (network, VPN, firewall).",
    ),
    (
        "No route to host",
        "there is no route to the host",
        "Check that it is running and reachable from here (network, VPN, firewall).",
    ),
    ("Network is unreachable", "the network is unreachable", "Check the network of this machine."),
    (
        "Host key verification failed",
        "the host key was rejected",
        "Connect once by hand and check its key.",
    ),
    (
        "Bad configuration option",
        "the ssh configuration is invalid",
        "Fix ~/.ssh/config; `ssh -G HOST` prints the effective options.",
    ),
    (
        "Session open refused",
        "the host refuses further sessions",
        "Wait for other sessions to end, or raise MaxSessions on the host.",
    ),
];

/// Returns the error for a failed connection.
pub(super) fn connect_error(settings: &SshSettings, words: &str) -> ToolError {
    let host = &settings.host;
    if words.contains("IDENTIFICATION HAS CHANGED") {
        return changed_key_error(settings, words);
    }
    let said = last_line(words);
    let said = if said.is_empty() { String::new() } else { format!(" (ssh says: {said})") };
    match KNOWN_CAUSES.iter().find(|(sign, ..)| words.contains(sign)) {
        Some((_, cause, step)) => {
            ToolError::unavailable(format!("ssh: cannot connect to {host}: {cause}{said}"))
                .with_hint(*step)
        }
        None => ToolError::unavailable(format!("ssh: cannot connect to {host}{said}"))
            .with_hint(format!("Try `ssh {host}` by hand.")),
    }
}

/// Returns the error if ssh ended before the program did.
pub(super) fn session_error(
    settings: &SshSettings,
    exit: ProcessExit,
    errors: &str,
    is_broken: bool,
) -> Option<ToolError> {
    let said = last_ssh_message(errors);
    let is_own = match exit {
        ProcessExit::Code(SSH_EXIT_CODE) => is_broken || !said.is_empty(),
        // A remote program cannot kill the local ssh by a signal.
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
        ProcessExit::Signal(signal) => format!("ssh was killed by signal {signal}"),
        ProcessExit::Code(_) if said.is_empty() => "the connection was closed".to_owned(),
        ProcessExit::Code(_) => format!("ssh says: {said}"),
    };
    Some(
        ToolError::unavailable(format!(
            "ssh: the connection to {host} broke while a program was running: {how}"
        ))
        .with_hint(
            "The program was not run again, and its progress is unknown. The next command \
             reconnects; check the state on the host first.",
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
        "ssh: the host key of {} does not match the known one{known}: the host was \
         reinstalled, or another host answers in its place",
        settings.host
    ))
    .with_hint(format!(
        "Ask the administrator of the host. If the key has changed, remove the old one with \
         `ssh-keygen -R '{host}'` and reconnect."
    ))
}

/// Returns the last line that ssh itself printed.
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
