//! A thread to a container: cut at either end, the other one notices.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::ToolError;
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
use crate::remote::{fresh_marker, quote};

/// How long a container may take to come up.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the client has to go when it is not wanted any more.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// What is kept of what it says.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// What a container says first: which bounds are held there.
const LIMITS_SCRIPT: &str = "c=/sys/fs/cgroup; \
    echo \"memory $(cat $c/memory.max 2>/dev/null || cat $c/memory/memory.limit_in_bytes 2>/dev/null)\"; \
    echo \"processors $(cat $c/cpu.max 2>/dev/null || cat $c/cpu/cpu.cfs_quota_us 2>/dev/null)\"; \
    echo \"processes $(cat $c/pids.max 2>/dev/null || cat $c/pids/pids.max 2>/dev/null)\"; \
    echo hermes-ready";
/// The variable that names who holds a container.
pub(super) const HOLDER_VARIABLE: &str = "HERMES_HOLD";

/// A program in a container that reads for as long as this program lives, and
/// ends with the container.
#[derive(Debug)]
pub(super) struct ContainerLifeline {
    control: Arc<dyn ProcessControl>,
    is_gone: watch::Receiver<bool>,
    /// Ends what reads at the other end, when it is closed.
    _input: Option<OwnedFd>,
    /// What it said first.
    first_output: String,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum LifelineError {
    /// The client could not be started, or does not answer.
    Client(ToolError),
    /// The folder that sessions begin in is not there.
    MissingDirectory,
    /// The engine said this.
    Engine(String),
}

impl ContainerLifeline {
    /// What runs at the other end, in a folder that is made for it.
    pub(super) fn script(settings: &DockerSettings) -> String {
        let folder = String::from_utf8_lossy(&quote(settings.start_dir().as_bytes())).into_owned();
        let us = owner::current_owner();
        // Others are the user's own affair: one that is made in silence hides
        // a mistake in its name.
        format!(
            "f={folder}; case $f in /workspace|/root|/tmp|\"$HOME\") mkdir -p \"$f\";; esac \
             2>/dev/null; [ -d \"$f\" ] || {{ echo hermes-no-folder; exit 1; }}; {LIMITS_SCRIPT}; \
             export {HOLDER_VARIABLE}={us}; exec cat >/dev/null"
        )
    }

    /// Starts the client with these words, and waits for the other end.
    pub(super) async fn attach(
        engine: &ContainerEngine,
        words: &[&str],
    ) -> Result<Self, LifelineError> {
        let mut order = engine.command_spec(words);
        order.input = StdinSource::Pipe;
        let started =
            crate::backend::ExecBackend::start(engine.local(), &fresh_marker(), order).await;
        let started =
            started.map_err(|error| LifelineError::Client(engine.explain_start(error)))?;
        let SpawnedProcess { output, input, control, .. } = started;
        let control: Arc<dyn ProcessControl> = control.into();
        let leash = AbandonOnDrop::new(&*control);
        let heard = tokio::time::timeout(START_TIMEOUT, read_until_ready(output)).await;
        leash.disarm();
        let (said, errors) = match heard {
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
        if !said.contains("hermes-ready") {
            control.terminate(KILL_GRACE).await;
            if said.contains("hermes-no-folder") {
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
        Ok(Self { control, is_gone: gone, _input: input, first_output: said })
    }

    /// Whether the other end is gone.
    pub(super) fn is_closed(&self) -> bool {
        *self.is_gone.borrow()
    }

    /// Lets go of the other end.
    pub(super) async fn close(&self) {
        self.control.terminate(KILL_GRACE).await;
    }

    /// The bounds that are wanted and do not hold there. That of the disk is
    /// not seen there; whoever made the container knows whether it has one.
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
            // Without a bound, old systems tell a number beyond all memory.
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

/// Listens until the other end is ready, or there is no more to hear.
async fn read_until_ready(
    output: Vec<(OutputStream, OwnedFd)>,
) -> std::io::Result<(String, String)> {
    let mut streams = Vec::new();
    for (source, fd) in output {
        streams.push((source, async_streams::register_nonblocking(fd)?));
    }
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 4096];
    while !streams.is_empty() {
        let (at, got) = async_streams::read_any(&streams, &mut buffer).await;
        let is_error = streams.get(at).is_some_and(|(source, _)| *source == OutputStream::Stderr);
        match got {
            Ok(got) if got > 0 => {
                let kept = if is_error { &mut errors } else { &mut said };
                kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
                kept.truncate(MAX_OUTPUT_BYTES);
                if memchr::memmem::find(&said, b"hermes-ready\n").is_some() {
                    break;
                }
            }
            _ => drop(streams.remove(at)),
        }
    }
    Ok((lossy_text(&said), lossy_text(&errors)))
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
