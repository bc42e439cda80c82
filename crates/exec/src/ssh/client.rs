//! Runs the ssh program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::time::Duration;

use hermes_core::text::shell_quote;
use hermes_core::{ErrorKind, ToolError};

use super::settings::{HostKeyPolicy, SshSettings, expand_home};
use super::{command, connection_pool};
use super::{diagnosis, exit_report};
use crate::backend::ProcessExit;
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::local::LocalBackend;
use crate::remote::greeting::GreetingFilter;
use crate::remote::{TransportIo, TransportProcess};

/// Variables of this process that are passed to ssh.
const FORWARDED_VARIABLES: [&str; 10] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SSH_AUTH_SOCK",
    "TERM",
    "TMPDIR",
    "USER",
    "XDG_RUNTIME_DIR",
];
/// Added to the connect timeout, for name resolution and key exchange.
const CONNECT_SLACK: Duration = Duration::from_secs(20);
/// Timeout for closing a connection, a local operation.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout of short commands.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// A host that is silent for three times as long is considered gone.
const KEEPALIVE_SECONDS: u32 = 15;
/// Maximum bytes of output.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// The ssh program and its settings.
#[derive(Debug)]
pub(super) struct SshClient {
    pub(super) settings: SshSettings,
    pub(super) local: LocalBackend,
}

impl SshClient {
    pub(super) fn new(settings: SshSettings) -> Self {
        Self { settings, local: LocalBackend::default() }
    }

    pub(super) fn host(&self) -> &str {
        &self.settings.host
    }

    /// Returns the ssh command that runs a script on the host.
    pub(super) fn transport_process(
        &self,
        socket: Option<&Path>,
        script: &str,
        carriage: TransportIo,
    ) -> TransportProcess {
        let terminal = if carriage.terminal { "-tt" } else { "-T" };
        let mut arguments = self.options(socket);
        arguments.extend([option("ControlMaster=no"), terminal.into(), "--".into()]);
        arguments.push(self.settings.host.clone().into());
        // Only processes started by the backend report their exit.
        let last = exit_report::EXIT_MARKER
            .try_with(|word| exit_report::report_exit_script(word))
            .unwrap_or_default();
        arguments.push(command::remote_command_line(script, &last).into());
        self.ssh_process(arguments)
    }

    /// Opens a master connection.
    pub(super) async fn start_master(&self, socket: &Path) -> Result<(), ToolError> {
        self.check()?;
        let mut arguments = self.options(Some(socket));
        let persist = format!("ControlPersist={}", self.settings.persist.as_secs().max(1));
        arguments.extend([connection_pool::MASTER_OPTION.into(), option(&persist)]);
        arguments.extend(["-f", "-N", "-T", "--"].map(OsString::from));
        arguments.push(self.settings.host.clone().into());
        let limit = self.settings.connect_timeout + CONNECT_SLACK;
        let done = self.run(self.ssh_process(arguments), limit).await?;
        if done.succeeded() {
            return Ok(());
        }
        Err(diagnosis::connect_error(&self.settings, &done.errors))
    }

    /// Closes a master connection.
    pub(super) async fn stop_master(&self, socket: &Path) {
        let mut arguments = self.options(Some(socket));
        arguments.extend(["-O", "exit", "--"].map(OsString::from));
        arguments.push(self.settings.host.clone().into());
        // A closed connection needs no handling; an unresponsive master is
        // killed.
        if self.run(self.ssh_process(arguments), CLOSE_TIMEOUT).await.is_err() {
            connection_pool::kill_stuck_master(socket);
        }
    }

    /// Runs a short `sh` script on the host.
    pub(super) async fn run_script(
        &self,
        socket: Option<&Path>,
        script: &str,
    ) -> Result<CaptureResult, ToolError> {
        let greeting = GreetingFilter::new(StdioMode::Separate);
        let script = greeting.prefix_script(script);
        let carrier = self.transport_process(socket, &script, TransportIo { terminal: false });
        let mut done = self.run(carrier, QUERY_TIMEOUT).await?;
        match diagnosis::session_error(&self.settings, done.exit, &done.errors, false) {
            Some(error) => Err(error),
            None => {
                greeting.strip_from(&mut done);
                Ok(done)
            }
        }
    }

    /// Returns the absolute path of a remote directory.
    pub(super) async fn resolve_directory(
        &self,
        socket: Option<&Path>,
        dir: &str,
    ) -> Result<OsString, ToolError> {
        let script = format!("cd {} && printf 'hermes:%s\\n' \"$(pwd)\"", quote_path(dir));
        let done = self.run_script(socket, &script).await?;
        let found = after_words(&done.output, b"hermes:").map(<[u8]>::to_vec);
        match found {
            Some(mut found) if done.exit == ProcessExit::Code(0) => {
                found.pop_if(|last| *last == b'\n');
                Ok(OsString::from_vec(found))
            }
            _ => Err(ToolError::not_found(format!(
                "ssh: cannot enter the start directory {dir} on {}: {}",
                self.host(),
                done.errors.trim()
            ))
            .with_hint(
                "Create it there, or set terminal.cwd to one that exists (`~` is the remote \
                 home).",
            )),
        }
    }

    async fn run(
        &self,
        carrier: TransportProcess,
        limit: Duration,
    ) -> Result<CaptureResult, ToolError> {
        let mut spec = command_spec(carrier);
        spec.input = StdinSource::Bytes(Vec::new());
        let errand = CapturedCommand { spec, timeout: limit, max_output_bytes: MAX_REPLY_BYTES };
        errand.run(&self.local, "ssh").await.map_err(|error| self.explain_start_error(error))
    }

    /// Explains failures of the ssh program itself.
    pub(super) fn explain_start_error(&self, error: ToolError) -> ToolError {
        let program = self.settings.program.display();
        match error.kind() {
            ErrorKind::NotFound => {
                ToolError::unavailable(format!("ssh: the program {program} is not installed"))
                    .with_hint("Install the OpenSSH client (Debian: openssh-client).")
            }
            ErrorKind::Timeout => ToolError::new(
                ErrorKind::Timeout,
                format!("ssh: {} does not respond: {}", self.host(), error.message()),
            )
            .with_hint(format!("Try `ssh {}` by hand.", self.host())),
            _ => error,
        }
    }

    fn check(&self) -> Result<(), ToolError> {
        let SshSettings { host, user, key, .. } = &self.settings;
        if host.is_empty() {
            return Err(ToolError::invalid("ssh: no host is configured")
                .with_hint("Set terminal.ssh_host (and, if needed, ssh_user and ssh_key)."));
        }
        let is_odd = |text: &str| text.starts_with('-') || text.contains(char::is_control);
        let user = user.as_deref().unwrap_or_default();
        for (name, what) in [(host.as_str(), "host"), (user, "user")] {
            if is_odd(name) {
                return Err(ToolError::invalid(format!(
                    "ssh: {name:?} is not a valid {what} name"
                ))
                .with_hint(format!("Set terminal.ssh_{what}.")));
            }
        }
        if let Some(key) = key.as_deref().map(expand_home)
            && let Err(error) = std::fs::File::open(&key)
        {
            return Err(ToolError::io(
                format!("ssh: cannot read the key {}", key.display()),
                &error,
            )
            .with_hint("Set terminal.ssh_key to a private key, or unset it."));
        }
        Ok(())
    }

    fn options(&self, socket: Option<&Path>) -> Vec<OsString> {
        let SshSettings { user, port, key, host_key, config, known_hosts, .. } = &self.settings;
        let mut words: Vec<OsString> = Vec::new();
        if let Some(config) = config {
            words.extend(["-F".into(), config.into()]);
        }
        if let Some(user) = user {
            words.extend(["-l".into(), user.into()]);
        }
        if let Some(port) = port {
            words.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(key) = key {
            words.extend(["-i".into(), expand_home(key).into(), option("IdentitiesOnly=yes")]);
        }
        let timeout = self.settings.connect_timeout.as_secs().max(1);
        words.extend(
            [
                "BatchMode=yes",
                "LogLevel=ERROR",
                "EscapeChar=none",
                // Overrides settings meant for interactive use.
                "RemoteCommand=none",
                "ClearAllForwardings=yes",
                "ForwardAgent=no",
                "ForwardX11=no",
                "PermitLocalCommand=no",
                "ServerAliveCountMax=3",
            ]
            .map(option),
        );
        words.push(option(&format!("ConnectTimeout={timeout}")));
        words.push(option(&format!("ServerAliveInterval={KEEPALIVE_SECONDS}")));
        words.push(option(match host_key {
            HostKeyPolicy::AcceptNew => "StrictHostKeyChecking=accept-new",
            HostKeyPolicy::Strict => "StrictHostKeyChecking=yes",
            HostKeyPolicy::Off => "StrictHostKeyChecking=no",
        }));
        let nowhere = (*host_key == HostKeyPolicy::Off).then(|| Path::new("/dev/null"));
        if let Some(file) = nowhere.or(known_hosts.as_deref()) {
            words.push(option_path("UserKnownHostsFile", file));
            words.push(option_path("GlobalKnownHostsFile", Path::new("/dev/null")));
        }
        words.push(match socket {
            Some(socket) => control_path_option(socket),
            None => option("ControlPath=none"),
        });
        words
    }

    fn ssh_process(&self, arguments: Vec<OsString>) -> TransportProcess {
        let environment = FORWARDED_VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect::<BTreeMap<OsString, OsString>>();
        TransportProcess { program: self.settings.program.clone(), arguments, environment }
    }
}

/// Returns the command spec of an ssh process.
pub(super) fn command_spec(carrier: TransportProcess) -> CommandSpec {
    CommandSpec {
        program: carrier.program,
        arguments: carrier.arguments,
        environment: carrier.environment,
        directory: "/".into(),
        input: StdinSource::Pipe,
        output: StdioMode::Separate,
        confinement: None,
    }
}

/// Quotes a remote path for `sh`; `~` and relative paths start at the home.
pub(super) fn quote_path(path: &str) -> String {
    match path.strip_prefix('~') {
        Some("") => "\"$HOME\"".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("\"$HOME\"{}", shell_quote(rest)),
        _ if path.starts_with('/') => shell_quote(path),
        _ => format!("\"$HOME\"/{}", shell_quote(path)),
    }
}

/// Returns the text after a marker; a host may print a banner first.
pub(super) fn after_words<'a>(text: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(words.len()).position(|piece| piece == words)?;
    text.get(at + words.len()..)
}

fn option(text: &str) -> OsString {
    format!("-o{text}").into()
}

/// Returns the option that names the socket of a master.
pub(super) fn control_path_option(socket: &Path) -> OsString {
    option_path("ControlPath", socket)
}

/// Formats an option with a path, quoted so ssh does not split it.
fn option_path(name: &str, path: &Path) -> OsString {
    let mut text = format!("-o{name}=\"").into_bytes();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' => text.extend_from_slice(b"%%"),
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
            other => text.push(*other),
        }
    }
    text.push(b'"');
    OsStr::from_bytes(&text).to_owned()
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
