//! The ssh program: how it is called, and what it is asked itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

use super::settings::{HostKeyPolicy, SshSettings, expand_home};
use super::{command, connection_pool};
use super::{diagnosis, exit_report};
use crate::backend::ProcessExit;
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::local::LocalBackend;
use crate::remote::greeting::GreetingFilter;
use crate::remote::{TransportIo, TransportProcess, quote};

/// What ssh takes from the environment of this program.
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
/// Beyond the host's own time to answer: names are looked up, keys checked.
const CONNECT_SLACK: Duration = Duration::from_secs(20);
/// How long a connection has to end. It is a matter of this machine.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a small question may take.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// A host that says nothing for three times as long is gone.
const KEEPALIVE_SECONDS: u32 = 15;
/// Bytes of an answer.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// The ssh program, and the host that it is to reach.
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

    /// What runs a script there.
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
        // Only what is started as a program has a word to say at its end.
        let last = exit_report::EXIT_MARKER
            .try_with(|word| exit_report::report_exit_script(word))
            .unwrap_or_default();
        arguments.push(command::remote_command_line(script, &last).into());
        self.ssh_process(arguments)
    }

    /// Makes a connection that others can share.
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

    /// Ends a connection that was shared.
    pub(super) async fn stop_master(&self, socket: &Path) {
        let mut arguments = self.options(Some(socket));
        arguments.extend(["-O", "exit", "--"].map(OsString::from));
        arguments.push(self.settings.host.clone().into());
        // One that is gone needs no end; one that does not hear is made to.
        if self.run(self.ssh_process(arguments), CLOSE_TIMEOUT).await.is_err() {
            connection_pool::kill_stuck_master(socket);
        }
    }

    /// Runs a few words of `sh` there.
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

    /// The whole name of a folder there.
    pub(super) async fn resolve_directory(
        &self,
        socket: Option<&Path>,
        folder: &str,
    ) -> Result<OsString, ToolError> {
        let script = format!("cd {} && printf 'hermes:%s\\n' \"$(pwd)\"", quote_path(folder));
        let done = self.run_script(socket, &script).await?;
        let found = after_words(&done.output, b"hermes:").map(<[u8]>::to_vec);
        match found {
            Some(mut found) if done.exit == ProcessExit::Code(0) => {
                found.pop_if(|last| *last == b'\n');
                Ok(OsString::from_vec(found))
            }
            _ => Err(ToolError::not_found(format!(
                "ssh: the folder {folder} that sessions are to begin in is not on {}: {}",
                self.host(),
                done.errors.trim()
            ))
            .with_hint(
                "Make it there, or set terminal.cwd to one that exists (`~` is the home there).",
            )),
        }
    }

    async fn run(
        &self,
        carrier: TransportProcess,
        limit: Duration,
    ) -> Result<CaptureResult, ToolError> {
        let mut order = command_spec(carrier);
        order.input = StdinSource::Bytes(Vec::new());
        let errand =
            CapturedCommand { spec: order, timeout: limit, max_output_bytes: MAX_REPLY_BYTES };
        errand.run(&self.local, "ssh").await.map_err(|error| self.explain_start_error(error))
    }

    /// Says what is to be done if the program itself is the trouble.
    pub(super) fn explain_start_error(&self, error: ToolError) -> ToolError {
        let program = self.settings.program.display();
        match error.kind() {
            ErrorKind::NotFound => {
                ToolError::unavailable(format!("ssh: the program {program} is not installed"))
                    .with_hint("Install OpenSSH's client (Debian: openssh-client).")
            }
            ErrorKind::Timeout => ToolError::new(
                ErrorKind::Timeout,
                format!("ssh: {} does not answer: {}", self.host(), error.message()),
            )
            .with_hint(format!("Try `ssh {}` by hand.", self.host())),
            _ => error,
        }
    }

    fn check(&self) -> Result<(), ToolError> {
        let SshSettings { host, user, key, .. } = &self.settings;
        if host.is_empty() {
            return Err(ToolError::invalid("ssh: no host is configured")
                .with_hint("Set terminal.ssh_host (and perhaps ssh_user, ssh_key)."));
        }
        let is_odd = |text: &str| text.starts_with('-') || text.contains(char::is_control);
        let user = user.as_deref().unwrap_or_default();
        for (name, what) in [(host.as_str(), "host"), (user, "user")] {
            if is_odd(name) {
                return Err(ToolError::invalid(format!("ssh: {name:?} is no name of a {what}"))
                    .with_hint(format!("Set terminal.ssh_{what}.")));
            }
        }
        if let Some(key) = key.as_deref().map(expand_home)
            && let Err(error) = std::fs::File::open(&key)
        {
            return Err(ToolError::io(format!("ssh: the key {}", key.display()), &error)
                .with_hint("Set terminal.ssh_key to a private key, or leave it out."));
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
                // What a configuration for work by hand may ask for.
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
            Some(socket) => option_path("ControlPath", socket),
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

/// The order for a call of ssh.
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

/// A path there, as a word of `sh`; `~` is the home, and so is nothing.
pub(super) fn quote_path(path: &str) -> String {
    let quoted = |text: &str| String::from_utf8_lossy(&quote(text.as_bytes())).into_owned();
    match path.strip_prefix('~') {
        Some("") => "\"$HOME\"".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("\"$HOME\"{}", quoted(rest)),
        _ if path.starts_with('/') => quoted(path),
        _ => format!("\"$HOME\"/{}", quoted(path)),
    }
}

/// What comes after some words; a host may greet first.
pub(super) fn after_words<'a>(text: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(words.len()).position(|piece| piece == words)?;
    text.get(at + words.len()..)
}

fn option(text: &str) -> OsString {
    format!("-o{text}").into()
}

/// An option with a path, which ssh would otherwise take apart.
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
