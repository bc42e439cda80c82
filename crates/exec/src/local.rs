//! Programs on this machine, in the sandbox that their rules demand.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_core::{BoxFuture, ChildLimits, Confinement, ToolError};
use hermes_sandbox::{ProcessGroup, LaunchSpec, LaunchedChild, Sandbox};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, kill_process_group};
use tokio::io::unix::AsyncFd;

use crate::backend::{Backend, Control, Exit, Place, Shell, Started, Waiting};
use crate::containment::JobContainment;
use crate::network::{NetworkTable, SessionNetwork};
use crate::order::{Input, Order, Output, Size};
use crate::output::Source;
use crate::ready;
use crate::screen::pty::{self, Pty};
use crate::shortcut;
use crate::strays;
use crate::tree::{self, Root, Signal};

/// Bytes that a pipe holds, so that a chatty program seldom waits.
const PIPE: usize = 1024 * 1024;

/// Sandboxes that are kept prepared.
const KEPT: usize = 8;

/// This machine.
#[derive(Debug, Default)]
pub struct Local {
    prepared: Mutex<Vec<(Confinement, Prepared)>>,
    networks: Arc<NetworkTable>,
}

/// A sandbox, and the network of its children.
#[derive(Debug, Clone)]
struct Prepared {
    sandbox: Arc<Sandbox>,
    network: Option<Arc<SessionNetwork>>,
}

impl Local {
    /// The sandbox of a confinement, which was perhaps made before.
    fn sandbox(&self, confinement: &Confinement) -> Result<Prepared, ToolError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = prepared.iter().position(|(known, _)| known == confinement) {
            // The one that was used last comes last.
            let found = prepared.remove(at);
            let sandbox = found.1.clone();
            prepared.push(found);
            return Ok(sandbox);
        }
        let network = self
            .networks
            .of(confinement)
            .map_err(|error| ToolError::io("The network of the session", &error))?;
        let space = network.as_ref().map(|network| Arc::clone(network.space()));
        let sandbox = Sandbox::prepare(confinement, space).map_err(|error| {
            ToolError::unavailable(format!("The command cannot be confined here: {error}"))
                .with_hint("`hermes permissions verify` shows what this system can hold.")
        })?;
        let sandbox = Prepared { sandbox: Arc::new(sandbox), network };
        if prepared.len() >= KEPT {
            prepared.remove(0);
        }
        prepared.push((confinement.clone(), sandbox.clone()));
        Ok(sandbox)
    }

    fn launch(&self, job: &str, order: Order) -> Result<Started, ToolError> {
        let Order { program, arguments, mut environment, directory, input, output, confinement } =
            order;
        let size = size_of(&arguments, &environment);
        let failed = |error: io::Error| match Errno::from_io_error(&error) {
            Some(Errno::TOOBIG) => too_long(size),
            _ => ToolError::io(format!("{} cannot be started", program.display()), &error),
        };
        let outer = std::env::var(tree::MARK).ok();
        environment.insert(tree::MARK.into(), tree::mark(outer.as_deref(), job).into());
        let shortcut = shortcut::of(&program, &arguments, &environment);
        if shortcut.is_some() {
            shortcut::settle(&mut environment, &directory);
        }
        let Prepared { sandbox, network } = match &confinement {
            Some(confinement) => self.sandbox(confinement)?,
            None => Prepared { sandbox: Arc::new(Sandbox::unconfined()), network: None },
        };
        let Streams { child: [stdin, stdout, stderr], input, output, terminal } =
            Streams::open(&input, output, &sandbox).map_err(failed)?;
        let group = if terminal.is_some() { ProcessGroup::NewTerminalSession } else { ProcessGroup::NewSession };
        let launch = LaunchSpec {
            program: program.clone(),
            arguments,
            shortcut,
            environment,
            directory,
            stdin,
            stdout,
            stderr,
            group,
        };
        let launched = sandbox.launch(&launch).map_err(failed)?;
        drop(launch);
        let pid = launched.id();
        if let Some(network) = &network {
            network.note_process(pid);
        }
        #[cfg(target_os = "linux")]
        crate::guardian::watch(pid);
        let root = Root::of(pid, job).unwrap_or(Root { pid, started: 0, job: job.to_owned() });
        let file = launched.as_fd().try_clone_to_owned().map_err(failed)?;
        let control = Process {
            root,
            terminal,
            launched: Mutex::new(launched),
            file: ready::watch(file).map_err(failed)?,
            sandbox: Arc::clone(&sandbox),
        };
        Ok(Started {
            pid: Some(pid),
            output,
            input,
            control: Box::new(control),
            containment: confinement.map(|confinement| {
                let held = held(&sandbox, &confinement);
                Arc::new(JobContainment { held, confinement: Some(confinement), network })
            }),
        })
    }
}

impl Backend for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn is_here(&self) -> bool {
        true
    }

    fn networks(&self) -> Option<&Arc<NetworkTable>> {
        Some(&self.networks)
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<Place>, ToolError>> {
        Box::pin(async {
            let system = match std::env::consts::OS {
                "linux" => "Linux",
                "macos" => "Darwin",
                other => other,
            };
            Ok(Arc::new(Place {
                directory: std::env::current_dir().unwrap_or_else(|_| "/".into()),
                environment: std::env::vars_os().collect(),
                shell: Shell::Bash,
                system: format!("{system} {}", std::env::consts::ARCH),
            }))
        })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: Order,
    ) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move { self.launch(job, order) })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// The ends of what a program reads and writes.
struct Streams {
    child: [Option<OwnedFd>; 3],
    input: Option<OwnedFd>,
    output: Vec<(Source, OwnedFd)>,
    terminal: Option<OwnedFd>,
}

impl Streams {
    fn open(input: &Input, output: Output, sandbox: &Sandbox) -> io::Result<Self> {
        if let Output::Terminal(size) = output {
            let Pty { master, slave } = match sandbox.open_terminal() {
                Some(master) => pty::with(master?, size.rows, size.columns)?,
                None => pty::open(size.rows, size.columns)?,
            };
            return Ok(Self {
                child: [Some(slave.try_clone()?), Some(slave.try_clone()?), Some(slave)],
                input: Some(master.try_clone()?),
                output: vec![(Source::Stdout, master.try_clone()?)],
                terminal: Some(master),
            });
        }
        let (stdin, input) = match input {
            Input::Nothing => (None, None),
            Input::Given(_) | Input::Open => {
                let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(theirs), Some(ours))
            }
        };
        let (out, stdout) = large_pipe()?;
        let mut output_ends = vec![(Source::Stdout, out)];
        let stderr = if output == Output::Apart {
            let (err, stderr) = large_pipe()?;
            output_ends.push((Source::Stderr, err));
            stderr
        } else {
            stdout.try_clone()?
        };
        Ok(Self {
            child: [stdin, Some(stdout), Some(stderr)],
            input,
            output: output_ends,
            terminal: None,
        })
    }
}

fn large_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only a wish.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIPE);
    Ok((ours, theirs))
}

/// A program of this machine.
#[derive(Debug)]
struct Process {
    root: Root,
    terminal: Option<OwnedFd>,
    launched: Mutex<LaunchedChild>,
    /// Becomes readable when it ends.
    file: AsyncFd<OwnedFd>,
    /// What stands in for protected files goes with it.
    sandbox: Arc<Sandbox>,
}

impl Control for Process {
    fn root(&self) -> Option<&Root> {
        Some(&self.root)
    }

    fn ended(&self) -> BoxFuture<'_, io::Result<Exit>> {
        Box::pin(async {
            loop {
                let mut ready = self.file.readable().await?;
                #[cfg(target_os = "linux")]
                crate::guardian::see_end(self.root.pid);
                let status = {
                    let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
                    launched.try_wait()?
                };
                if let Some(status) = status {
                    self.sandbox.quarantine();
                    return Ok(exit(status));
                }
                ready.clear_ready();
            }
        })
    }

    fn end(&self, grace: Duration) -> BoxFuture<'_, ()> {
        let root = self.root.clone();
        Box::pin(async move {
            let _ = tokio::task::spawn_blocking(move || tree::end(&root, grace)).await;
        })
    }

    fn abandon(&self) {
        let group = i32::try_from(self.root.pid).ok().and_then(Pid::from_raw);
        // As long as nobody has waited for it, its number is its own.
        if let Some(group) = group.filter(|_| !self.is_over()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn is_over(&self) -> bool {
        !tree::is_alive(self.root.pid, self.root.started)
    }

    fn leaves(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            // The group of a shell has in it what that has left, unless it has
            // a session of its own; asking for it is a single step.
            if !is_likely && !tree::has_group(self.root.pid) {
                return false;
            }
            strays::are_there(&self.root).await
        })
    }

    fn deserted(&self) -> BoxFuture<'_, ()> {
        Box::pin(strays::gone(&self.root))
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize> {
        Box::pin(async move { tree::signal(&self.root, signal) })
    }

    fn awaits_input(&self) -> BoxFuture<'_, Waiting> {
        Box::pin(async { tree::waiting_for(&self.root) })
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        match &self.terminal {
            Some(terminal) => pty::set_size(terminal, size.rows, size.columns),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// The bytes that a program is given with its start.
fn size_of(arguments: &[OsString], environment: &BTreeMap<OsString, OsString>) -> usize {
    let words = arguments.iter().map(|word| word.len());
    let variables = environment.iter().map(|(name, value)| name.len() + value.len() + 1);
    words.chain(variables).map(|length| length + 1).sum()
}

fn too_long(size: usize) -> ToolError {
    ToolError::limit(format!(
        "The command is too long: with its environment it has {size} bytes, and the system takes \
         about 2 MB (`getconf ARG_MAX`)"
    ))
    .with_hint("Write it to a file and run that, or give what is long as stdin.")
}

/// What holds, and the limit that does not. The preset one is a net, and not
/// spoken of; one that a profile has set was asked for.
fn held(sandbox: &Sandbox, confinement: &Confinement) -> String {
    let held = sandbox.enforcement();
    if confinement.reduced && !held.mount_namespace {
        return held.to_string();
    }
    let is_preset = confinement.limits.processes == ChildLimits::default().processes;
    match held.limit_gap.as_ref().filter(|_| !is_preset) {
        Some(gap) => format!("{}; not held: {gap}", held.names()),
        None => held.names(),
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}
