//! A thread to a container: cut at either end, the other one notices.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::ToolError;
use tokio::sync::watch;

use super::engine::Engine;
use super::owner;
use super::settings::Settings;
use super::shape::Limit;
use crate::backend::{Control, Exit, Started};
use crate::elsewhere::{fresh_word, quote};
use crate::errand::Leash;
use crate::order::Input;
use crate::output::Source;
use crate::ready;

/// How long a container may take to come up.
const UP: Duration = Duration::from_secs(120);
/// How long the client has to go when it is not wanted any more.
const GRACE: Duration = Duration::from_millis(500);
/// What is kept of what it says.
const MOST: usize = 64 * 1024;

/// What a container says first: which bounds are held there.
const FACTS: &str = "c=/sys/fs/cgroup; \
    echo \"memory $(cat $c/memory.max 2>/dev/null || cat $c/memory/memory.limit_in_bytes 2>/dev/null)\"; \
    echo \"processors $(cat $c/cpu.max 2>/dev/null || cat $c/cpu/cpu.cfs_quota_us 2>/dev/null)\"; \
    echo \"processes $(cat $c/pids.max 2>/dev/null || cat $c/pids/pids.max 2>/dev/null)\"; \
    echo hermes-ready";
/// The variable that names who holds a container.
pub(super) const HOLD: &str = "HERMES_HOLD";

/// A program in a container that reads for as long as this program lives, and
/// ends with the container.
#[derive(Debug)]
pub(super) struct Lifeline {
    control: Arc<dyn Control>,
    gone: watch::Receiver<bool>,
    /// Ends what reads at the other end, when it is closed.
    _input: Option<OwnedFd>,
    /// What it said first.
    said: String,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum Cut {
    /// The client could not be started, or does not answer.
    Client(ToolError),
    /// The folder that sessions begin in is not there.
    Folder,
    /// The engine said this.
    Engine(String),
}

impl Lifeline {
    /// What runs at the other end, in a folder that is made for it.
    pub(super) fn script(settings: &Settings) -> String {
        let folder = String::from_utf8_lossy(&quote(settings.folder().as_bytes())).into_owned();
        let us = owner::us();
        // Others are the user's own affair: one that is made in silence hides
        // a mistake in its name.
        format!(
            "f={folder}; case $f in /workspace|/root|/tmp|\"$HOME\") mkdir -p \"$f\";; esac \
             2>/dev/null; [ -d \"$f\" ] || {{ echo hermes-no-folder; exit 1; }}; {FACTS}; \
             export {HOLD}={us}; exec cat >/dev/null"
        )
    }

    /// Starts the client with these words, and waits for the other end.
    pub(super) async fn tie(engine: &Engine, words: &[&str]) -> Result<Self, Cut> {
        let mut order = engine.order(words);
        order.input = Input::Open;
        let started = crate::backend::Backend::start(engine.local(), &fresh_word(), order).await;
        let started = started.map_err(|error| Cut::Client(engine.explain_start(error)))?;
        let Started { output, input, control, .. } = started;
        let control: Arc<dyn Control> = control.into();
        let leash = Leash::on(&*control);
        let heard = tokio::time::timeout(UP, hear(output)).await;
        leash.let_go();
        let (said, errors) = match heard {
            Ok(Ok(heard)) => heard,
            other => {
                control.end(GRACE).await;
                let why = match other {
                    Ok(Err(error)) => error.to_string(),
                    _ => format!("the container did not come up within {UP:?}"),
                };
                return Err(Cut::Engine(why));
            }
        };
        if !said.contains("hermes-ready") {
            control.end(GRACE).await;
            if said.contains("hermes-no-folder") {
                return Err(Cut::Folder);
            }
            return Err(Cut::Engine(errors));
        }
        let (sender, gone) = watch::channel(false);
        let watched = Arc::clone(&control);
        tokio::spawn(async move {
            let _: Result<Exit, _> = watched.ended().await;
            sender.send_replace(true);
        });
        Ok(Self { control, gone, _input: input, said })
    }

    /// Whether the other end is gone.
    pub(super) fn is_cut(&self) -> bool {
        *self.gone.borrow()
    }

    /// Lets go of the other end.
    pub(super) async fn cut(&self) {
        self.control.end(GRACE).await;
    }

    /// The bounds that are wanted and do not hold there. That of the disk is
    /// not seen there; whoever made the container knows whether it has one.
    pub(super) fn unheld(&self, settings: &Settings, holds_disk: bool) -> Vec<Limit> {
        let value = |name: &str| {
            let line = self.said.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim).and_then(|line| line.split(' ').next()).unwrap_or_default()
        };
        let is_held = |limit: &Limit| match limit {
            // Without a bound, old systems tell a number beyond all memory.
            Limit::Memory => value("memory").parse::<u64>().is_ok_and(|bytes| bytes < 1 << 60),
            Limit::Processors => value("processors").parse::<u64>().is_ok(),
            Limit::Processes => value("processes").parse::<u64>().is_ok(),
            Limit::Disk => holds_disk,
        };
        let wanted = Limit::ALL.into_iter().filter(|limit| limit.words(settings).is_some());
        wanted.filter(|limit| !is_held(limit)).collect()
    }
}

/// Listens until the other end is ready, or there is no more to hear.
async fn hear(output: Vec<(Source, OwnedFd)>) -> std::io::Result<(String, String)> {
    let mut streams = Vec::new();
    for (source, fd) in output {
        streams.push((source, ready::stream(fd)?));
    }
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 4096];
    while !streams.is_empty() {
        let (at, got) = ready::read(&streams, &mut buffer).await;
        let is_error = streams.get(at).is_some_and(|(source, _)| *source == Source::Stderr);
        match got {
            Ok(got) if got > 0 => {
                let kept = if is_error { &mut errors } else { &mut said };
                kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
                kept.truncate(MOST);
                if memchr::memmem::find(&said, b"hermes-ready\n").is_some() {
                    break;
                }
            }
            _ => drop(streams.remove(at)),
        }
    }
    Ok((text(&said), text(&errors)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
