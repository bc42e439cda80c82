//! A connection to a container: either side notices when the other one ends.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::ToolError;
use hermes_core::ids::random_marker;
use tokio::sync::watch;

use super::container_spec::ResourceLimit;
use super::engine::ContainerEngine;
use super::owner;
use super::settings::DockerSettings;
use crate::async_streams;
use crate::backend::{ProcessControl, ProcessExit, SpawnedProcess};
use crate::captured_command::AbandonOnDrop;
use crate::command_spec::StdinSource;
use crate::output::OutputStream;

/// Time limit for a container to start.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Time between SIGTERM and SIGKILL for the client.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// Bytes of output that are kept.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Prints the limits that hold in the container.
const LIMITS_SCRIPT: &str = "c=/sys/fs/cgroup; \
    echo \"memory $(cat $c/memory.max 2>/dev/null || cat $c/memory/memory.limit_in_bytes 2>/dev/null)\"; \
    echo \"processors $(cat $c/cpu.max 2>/dev/null || cat $c/cpu/cpu.cfs_quota_us 2>/dev/null)\"; \
    echo \"processes $(cat $c/pids.max 2>/dev/null || cat $c/pids/pids.max 2>/dev/null)\"; \
    echo hermes-ready";
/// The variable that names the holder of a container.
pub(super) const HOLDER_VARIABLE: &str = "HERMES_HOLD";

/// A program in a container that reads until this process ends, and ends with the
/// container.
#[derive(Debug)]
pub(super) struct ContainerLifeline {
    control: Arc<dyn ProcessControl>,
    is_gone: watch::Receiver<bool>,
    /// Ends the reader in the container when it is closed.
    _input: Option<OwnedFd>,
    /// The first output.
    first_output: String,
}

/// Why a container cannot be attached.
#[derive(Debug)]
pub(super) enum LifelineError {
    /// The client could not be started, or does not answer.
    Client(ToolError),
    /// The start directory does not exist.
    MissingDirectory,
    /// The engine reported this.
    Engine(String),
}

impl ContainerLifeline {
    /// The script that runs in the container, in the start directory.
    pub(super) fn script(settings: &DockerSettings) -> String {
        let dir = hermes_core::text::shell_quote(settings.start_dir());
        let us = owner::current_owner();
        // Other directories are not created: that would hide a typo in the setting.
        format!(
            "f={dir}; case $f in /workspace|/root|/tmp|\"$HOME\") mkdir -p \"$f\";; esac \
             2>/dev/null; [ -d \"$f\" ] || {{ echo hermes-no-folder; exit 1; }}; {LIMITS_SCRIPT}; \
             export {HOLDER_VARIABLE}={us}; exec cat >/dev/null"
        )
    }

    /// Starts the client with these arguments, and waits for the container.
    pub(super) async fn attach(
        engine: &ContainerEngine,
        words: &[&str],
    ) -> Result<Self, LifelineError> {
        let mut spec = engine.command_spec(words);
        spec.input = StdinSource::Pipe;
        let started =
            crate::backend::ExecBackend::start(engine.local(), &random_marker(), spec).await;
        let started =
            started.map_err(|error| LifelineError::Client(engine.explain_start(error)))?;
        let SpawnedProcess { output, input, control, .. } = started;
        let control: Arc<dyn ProcessControl> = control.into();
        let leash = AbandonOnDrop::new(&*control);
        let heard = tokio::time::timeout(START_TIMEOUT, read_until_ready(output)).await;
        leash.disarm();
        let (output, errors) = match heard {
            Ok(Ok(heard)) => heard,
            other => {
                control.terminate(KILL_GRACE).await;
                let why = match other {
                    Ok(Err(error)) => error.to_string(),
                    _ => format!("the container did not come up within {START_TIMEOUT:?}"),
                };
                return Err(LifelineError::Engine(why));
            }
        };
        if !output.contains("hermes-ready") {
            control.terminate(KILL_GRACE).await;
            if output.contains("hermes-no-folder") {
                return Err(LifelineError::MissingDirectory);
            }
            return Err(LifelineError::Engine(errors));
        }
        let (sender, gone) = watch::channel(false);
        let watched = Arc::clone(&control);
        tokio::spawn(async move {
            let _: Result<ProcessExit, _> = watched.wait().await;
            sender.send_replace(true);
        });
        Ok(Self { control, is_gone: gone, _input: input, first_output: output })
    }

    /// Whether the container is gone.
    pub(super) fn is_closed(&self) -> bool {
        *self.is_gone.borrow()
    }

    /// Ends the connection.
    pub(super) async fn close(&self) {
        self.control.terminate(KILL_GRACE).await;
    }

    /// The limits that are set but not enforced. The disk limit is not visible in the
    /// container; the creator knows whether it has one.
    pub(super) fn unenforced_limits(
        &self,
        settings: &DockerSettings,
        holds_disk: bool,
    ) -> Vec<ResourceLimit> {
        let value = |name: &str| {
            let line = self.first_output.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim).and_then(|line| line.split(' ').next()).unwrap_or_default()
        };
        let is_held = |limit: &ResourceLimit| match limit {
            // Without a limit, old systems report a number larger than any memory.
            ResourceLimit::Memory => {
                value("memory").parse::<u64>().is_ok_and(|bytes| bytes < 1 << 60)
            }
            ResourceLimit::Processors => value("processors").parse::<u64>().is_ok(),
            ResourceLimit::Processes => value("processes").parse::<u64>().is_ok(),
            ResourceLimit::Disk => holds_disk,
        };
        let wanted =
            ResourceLimit::ALL.into_iter().filter(|limit| limit.arguments(settings).is_some());
        wanted.filter(|limit| !is_held(limit)).collect()
    }
}

/// Reads until the container is ready, or its output ends.
async fn read_until_ready(
    output: Vec<(OutputStream, OwnedFd)>,
) -> std::io::Result<(String, String)> {
    let mut streams = Vec::new();
    for (source, fd) in output {
        streams.push((source, async_streams::register_nonblocking(fd)?));
    }
    let (mut stdout, mut errors) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 4096];
    while !streams.is_empty() {
        let (at, got) = async_streams::read_any(&streams, &mut buffer).await;
        let is_error = streams.get(at).is_some_and(|(source, _)| *source == OutputStream::Stderr);
        match got {
            Ok(got) if got > 0 => {
                let target = if is_error { &mut errors } else { &mut stdout };
                target.extend_from_slice(buffer.get(..got).unwrap_or_default());
                target.truncate(MAX_OUTPUT_BYTES);
                if memchr::memmem::find(&stdout, b"hermes-ready\n").is_some() {
                    break;
                }
            }
            _ => drop(streams.remove(at)),
        }
    }
    Ok((lossy_text(&stdout), lossy_text(&errors)))
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
