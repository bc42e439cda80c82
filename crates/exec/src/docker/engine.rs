//! The engine's command-line client and its error messages.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use hermes_core::ids::random_marker;
use hermes_core::{ErrorKind, ToolError};

use super::lifeline::HOLDER_VARIABLE;
use super::settings::DockerSettings;
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::local::LocalBackend;
use crate::remote::TransportProcess;

/// Time limit for a short query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of queries about a container that may have died.
const MAX_DEATH_CHECKS: usize = 20;
/// Output limit in bytes.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// Environment variables that the client uses.
const FORWARDED_VARIABLES: [&str; 12] = [
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SSH_AUTH_SOCK",
    "TMPDIR",
    "USER",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
];
/// Prefixes of other such variables.
const FORWARDED_PREFIXES: [&str; 5] = ["DOCKER_", "CONTAINER_", "CONTAINERS_", "XDG_", "LC_"];

/// The engine's command-line client.
#[derive(Debug)]
pub(super) struct ContainerEngine {
    program: OsString,
    global_arguments: Vec<OsString>,
    environment: BTreeMap<OsString, OsString>,
    local: LocalBackend,
}

/// An existing container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundContainer {
    pub(super) id: String,
    pub(super) is_running: bool,
    pub(super) fingerprint: String,
    pub(super) task: String,
    pub(super) profile: String,
    pub(super) home: String,
    pub(super) persistent: bool,
    pub(super) owner: String,
    /// When it was created, in seconds of Unix time.
    pub(super) created_at: u64,
    /// Whether the engine was asked to limit its disk.
    pub(super) has_disk_limit: bool,
}

impl ContainerEngine {
    pub(super) fn new(settings: &DockerSettings) -> Self {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os()
            .filter(|(name, _)| {
                name.to_str().is_some_and(|name| {
                    FORWARDED_VARIABLES.contains(&name)
                        || FORWARDED_PREFIXES.iter().any(|it| name.starts_with(it))
                })
            })
            .collect();
        let program = settings.program.clone().unwrap_or_else(|| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let has = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
            if !has("docker") && has("podman") { "podman".into() } else { "docker".into() }
        });
        let first = settings.global_arguments.iter().map(OsString::from).collect();
        Self { program, global_arguments: first, environment, local: LocalBackend::default() }
    }

    /// Its name without the directory.
    pub(super) fn name(&self) -> String {
        Path::new(&self.program).file_name().unwrap_or(&self.program).display().to_string()
    }

    /// Builds the arguments of a client call.
    pub(super) fn engine_process<S: Into<OsString>>(
        &self,
        words: impl IntoIterator<Item = S>,
    ) -> TransportProcess {
        let words = words.into_iter().map(Into::into);
        TransportProcess {
            program: self.program.clone(),
            arguments: self.global_arguments.iter().cloned().chain(words).collect(),
            environment: self.environment.clone(),
        }
    }

    /// The backend that runs the client: this machine.
    pub(super) fn local(&self) -> &LocalBackend {
        &self.local
    }

    /// Runs a short client command to completion.
    pub(super) async fn query(&self, words: &[&str]) -> Result<CaptureResult, ToolError> {
        self.run(words, QUERY_TIMEOUT).await
    }

    /// Runs a client command to completion.
    pub(super) async fn run(
        &self,
        words: &[&str],
        limit: Duration,
    ) -> Result<CaptureResult, ToolError> {
        let spec = self.command_spec(words);
        let done = CapturedCommand { spec, timeout: limit, max_output_bytes: MAX_OUTPUT_BYTES }
            .run(&self.local, &random_marker())
            .await;
        done.map_err(|error| self.explain_start(error))
    }

    /// Builds the command for these arguments.
    pub(super) fn command_spec(&self, words: &[&str]) -> CommandSpec {
        let TransportProcess { program, arguments, environment } = self.engine_process(words);
        CommandSpec {
            program,
            arguments,
            environment,
            directory: "/".into(),
            input: StdinSource::Empty,
            output: StdioMode::Separate,
            confinement: None,
        }
    }

    /// Explains why the client could not be started.
    pub(super) fn explain_start(&self, error: ToolError) -> ToolError {
        let name = self.name();
        match error.kind() {
            ErrorKind::NotFound => {
                let program = self.program.display();
                ToolError::unavailable(format!("docker: the program {program} is not installed"))
                    .with_hint(
                        "Install Docker or Podman, check `terminal.docker_program`, or \
                         choose another terminal backend.",
                    )
            }
            ErrorKind::Timeout => {
                ToolError::unavailable(format!("docker: {name} did not answer in time"))
                    .with_hint(format!("Check whether `{name} ps` answers."))
            }
            _ => error,
        }
    }

    /// Explains why a client command failed.
    pub(super) fn explain(&self, doing: &str, image: &str, errors: &str) -> ToolError {
        let name = self.name();
        let cause = error_line(errors);
        let has = |text: &str| errors.to_lowercase().contains(text);
        if has("permission denied") && (has("connect") || has("socket")) {
            return ToolError::unavailable(format!(
                "docker: this user has no access to the engine: {cause}"
            ))
            .with_hint(
                "Add the user to the group `docker` and log in again, or use rootless Docker or Podman.",
            );
        }
        if is_engine_unreachable(errors) {
            return ToolError::unavailable(format!("docker: the engine is not running: {cause}"))
                .with_hint(
                    "Start it (`systemctl start docker`), or set DOCKER_HOST to its address.",
                );
        }
        if has("no such image") || has("manifest unknown") || has("pull access denied") {
            return ToolError::not_found(format!(
                "docker: the image {image} was not found: {cause}"
            ))
            .with_hint(format!(
                "Check the name in `terminal.docker_image`; `{name} pull {image}` fetches it."
            ));
        }
        if ["unknown flag", "unknown shorthand flag", "invalid argument"].into_iter().any(has) {
            return ToolError::unavailable(format!("docker: {doing} failed: {cause}"))
                .with_hint("Check `terminal.docker_extra_args`: the engine does not accept them.");
        }
        let no_shell = ["executable file not found", "\"sh\": no such file", "exec sh failed"];
        if no_shell.into_iter().any(has) {
            return ToolError::unavailable(format!(
                "docker: the image {image} has no shell: {cause}"
            ))
            .with_hint("Choose an image with `sh`, such as debian, alpine or busybox.");
        }
        ToolError::unavailable(format!("docker: {doing} failed: {cause}")).with_hint(format!(
            "`{name} info` shows the engine's state; the message above names what it refused."
        ))
    }

    /// Lists all containers that belong to hermes.
    pub(super) async fn list_own(&self, image: &str) -> Result<Vec<FoundContainer>, ToolError> {
        let listed = self.query(&["ps", "-aq", "--no-trunc", "--filter", "label=hermes=1"]).await?;
        if !listed.succeeded() {
            return Err(self.explain("listing containers", image, &listed.errors));
        }
        let listed = String::from_utf8_lossy(&listed.output).into_owned();
        let ids: Vec<&str> = listed.split_whitespace().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let labels = ["settings", "task", "profile", "home", "persistent", "owner", "made", "disk"]
            .map(|label| format!("{{{{index .Config.Labels \"hermes.{label}\"}}}}"));
        let format = format!("{{{{.Id}}}}\t{{{{.State.Running}}}}\t{}", labels.join("\t"));
        let words = ["inspect", "--type", "container", "--format", &format];
        // A container that has just been removed is an error next to the others.
        let seen = self.query(&[&words[..], &ids[..]].concat()).await?;
        Ok(String::from_utf8_lossy(&seen.output).lines().filter_map(parse_container).collect())
    }

    /// Whether a container is known to be dead. The engine may take a moment to notice.
    pub(super) async fn is_dead(&self, id: &str) -> bool {
        if self.can_run_shell(id).await {
            return false;
        }
        let words = ["inspect", "--type", "container", "--format", "{{.State.Running}}", id];
        for _ in 0..MAX_DEATH_CHECKS {
            let Ok(done) = self.query(&words).await else { return false };
            match String::from_utf8_lossy(&done.output).trim() {
                "false" => return true,
                "true" => tokio::time::sleep(Duration::from_millis(100)).await,
                _ => return !is_engine_unreachable(&done.errors),
            }
        }
        false
    }

    /// Whether a container is paused.
    pub(super) async fn is_paused(&self, id: &str) -> bool {
        let words = ["inspect", "--type", "container", "--format", "{{.State.Paused}}", id];
        self.query(&words).await.is_ok_and(|done| done.output.starts_with(b"true"))
    }

    /// Whether a shell with a few utilities can be started in a container.
    pub(super) async fn can_run_shell(&self, id: &str) -> bool {
        let words = ["exec", id, "sh", "-c", "echo a | cat | cat | grep -q a"];
        self.query(&words).await.is_ok_and(|done| done.succeeded())
    }

    /// The owners that hold a running container.
    pub(super) async fn holders(&self, id: &str) -> Vec<String> {
        let script = format!(
            "for f in /proc/[0-9]*/environ; do tr '\\0' '\\n' <$f | sed -n 's/^{HOLDER_VARIABLE}=//p'; \
             done 2>/dev/null; :"
        );
        let done = self.query(&["exec", id, "sh", "-c", &script]).await;
        let output = done.map(|done| String::from_utf8_lossy(&done.output).into_owned());
        output.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// Removes a container; one that is gone counts as removed.
    pub(super) async fn remove(&self, id: &str) {
        self.remove_within(id, QUERY_TIMEOUT).await;
    }

    /// Removes a container within a time limit.
    pub(super) async fn remove_within(&self, id: &str, limit: Duration) {
        let _ = self.run(&["rm", "--force", "--volumes", id], limit).await;
    }
}

fn parse_container(line: &str) -> Option<FoundContainer> {
    let mut fields = line.split('\t').map(str::to_owned);
    Some(FoundContainer {
        id: fields.next()?,
        is_running: fields.next()? == "true",
        fingerprint: fields.next()?,
        task: fields.next()?,
        profile: fields.next()?,
        home: fields.next()?,
        persistent: fields.next()? == "1",
        owner: fields.next()?,
        created_at: fields.next()?.parse().ok()?,
        has_disk_limit: fields.next()? == "1",
    })
}

/// Whether the engine could not be reached.
pub(super) fn is_engine_unreachable(errors: &str) -> bool {
    let errors = errors.to_lowercase();
    [
        "cannot connect to the docker daemon",
        "is the docker daemon running",
        "connection refused",
        "error during connect",
        "cannot connect to podman",
    ]
    .iter()
    .any(|text| errors.contains(text))
}

/// Whether the engine reported that the container name is taken.
pub(super) fn is_name_taken(errors: &str) -> bool {
    errors.contains("is already in use") && errors.contains("name")
}

/// Whether the engine reported that the container does not run.
pub(super) fn is_container_gone(errors: &str) -> bool {
    let errors = errors.to_lowercase();
    let is_its_word = errors.contains("error response from daemon") || errors.contains("error: ");
    is_its_word
        && [
            "no such container",
            "is not running",
            "no container with name",
            "is paused",
            "can only create exec sessions on running containers",
        ]
        .iter()
        .any(|text| errors.contains(text))
}

/// The line with the error: clients print usage text after it.
pub(super) fn error_line(errors: &str) -> String {
    let lines = || errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_help =
        |line: &&str| ["Run '", "See '", "Usage:"].iter().any(|help| line.starts_with(help));
    let error = lines().find(|line| line.to_lowercase().contains("error"));
    error.or_else(|| lines().rfind(|line| !is_help(line))).unwrap_or("no reason given").to_owned()
}
