//! Runs programs on this machine, in the sandbox that their confinement
//! requires.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, ChildLimits, Confinement, ToolError};
use hermes_sandbox::{LaunchSpec, LaunchedChild, ProcessGroup, Sandbox};
use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, kill_process_group};
use tokio::io::unix::AsyncFd;

use crate::async_streams;
use crate::backend::{
    ExecBackend, HostFacts, InputWait, ProcessControl, ProcessExit, ShellKind, SpawnedProcess,
};
use crate::background_processes;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode, TerminalSize};
use crate::containment::JobContainment;
use crate::direct_exec;
use crate::network::{NetworkTable, SessionNetwork};
use crate::output::OutputStream;
use crate::screen::pty::{self, PtyPair};
use crate::tree::{self, JobRoot, Signal};

/// Pipe capacity, large enough that a program with much output seldom blocks.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;

/// Prepared sandboxes to cache.
const MAX_PREPARED_SANDBOXES: usize = 8;

/// The backend of this machine.
#[derive(Debug, Default)]
pub struct LocalBackend {
    prepared: Mutex<Vec<(Confinement, PreparedSandbox)>>,
    networks: Arc<NetworkTable>,
}

/// A sandbox, and the network of its children.
#[derive(Debug, Clone)]
struct PreparedSandbox {
    sandbox: Arc<Sandbox>,
    network: Option<Arc<SessionNetwork>>,
}

impl LocalBackend {
    /// Returns the sandbox of a confinement, from the cache if possible.
    fn sandbox(&self, confinement: &Confinement) -> Result<PreparedSandbox, ToolError> {
        let mut prepared = self.prepared.lock();
        if let Some(at) = prepared.iter().position(|(known, _)| known == confinement) {
            // Keep the cache in order of use.
            let found = prepared.remove(at);
            let sandbox = found.1.clone();
            prepared.push(found);
            return Ok(sandbox);
        }
        let network = self
            .networks
            .open_for(confinement)
            .map_err(|error| ToolError::io("cannot set up the session's network", &error))?;
        let namespace = network.as_ref().map(|network| Arc::clone(network.namespace()));
        let sandbox = Sandbox::prepare(confinement, namespace).map_err(|error| {
            ToolError::unavailable(format!("The command cannot be confined here: {error}"))
                .with_hint("`hermes permissions verify` shows what this system can enforce.")
        })?;
        let sandbox = PreparedSandbox { sandbox: Arc::new(sandbox), network };
        if prepared.len() >= MAX_PREPARED_SANDBOXES {
            prepared.remove(0);
        }
        prepared.push((confinement.clone(), sandbox.clone()));
        Ok(sandbox)
    }

    fn spawn(&self, job: &str, spec: CommandSpec) -> Result<SpawnedProcess, ToolError> {
        let CommandSpec {
            program,
            arguments,
            mut environment,
            directory,
            input,
            output,
            confinement,
        } = spec;
        let size = argument_bytes(&arguments, &environment);
        let failed = |error: io::Error| match Errno::from_io_error(&error) {
            Some(Errno::TOOBIG) => too_long_error(size),
            _ => ToolError::io(format!("cannot start {}", program.display()), &error),
        };
        let outer = std::env::var(tree::JOB_VARIABLE).ok();
        environment
            .insert(tree::JOB_VARIABLE.into(), tree::nested_mark(outer.as_deref(), job).into());
        let shortcut = direct_exec::direct_command(&program, &arguments, &environment);
        if shortcut.is_some() {
            direct_exec::adjust_environment(&mut environment, &directory);
        }
        let PreparedSandbox { sandbox, network } = match &confinement {
            Some(confinement) => self.sandbox(confinement)?,
            None => PreparedSandbox { sandbox: Arc::new(Sandbox::unconfined()), network: None },
        };
        let StdioStreams { child: [stdin, stdout, stderr], input, output, terminal } =
            StdioStreams::open(&input, output, &sandbox).map_err(failed)?;
        let group = if terminal.is_some() {
            ProcessGroup::NewTerminalSession
        } else {
            ProcessGroup::NewSession
        };
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
        crate::guardian::add_process(pid);
        let root =
            JobRoot::for_pid(pid, job).unwrap_or(JobRoot { pid, started: 0, job: job.to_owned() });
        let file = launched.as_fd().try_clone_to_owned().map_err(failed)?;
        let control = LocalProcess {
            root,
            terminal,
            launched: Mutex::new(launched),
            pidfd: async_streams::register(file).map_err(failed)?,
            sandbox: Arc::clone(&sandbox),
        };
        Ok(SpawnedProcess {
            pid: Some(pid),
            output,
            input,
            control: Box::new(control),
            containment: confinement.map(|confinement| {
                let summary = containment_summary(&sandbox, &confinement);
                Arc::new(JobContainment { summary, confinement: Some(confinement), network })
            }),
        })
    }
}

impl ExecBackend for LocalBackend {
    fn name(&self) -> &str {
        "local"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn networks(&self) -> Option<&Arc<NetworkTable>> {
        Some(&self.networks)
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async {
            let system = match std::env::consts::OS {
                "linux" => "Linux",
                "macos" => "Darwin",
                other => other,
            };
            Ok(Arc::new(HostFacts {
                directory: std::env::current_dir().unwrap_or_else(|_| "/".into()),
                environment: std::env::vars_os().collect(),
                shell: ShellKind::Bash,
                system: format!("{system} {}", std::env::consts::ARCH),
            }))
        })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        spec: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async move { self.spawn(job, spec) })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Both ends of a program's standard streams.
struct StdioStreams {
    child: [Option<OwnedFd>; 3],
    input: Option<OwnedFd>,
    output: Vec<(OutputStream, OwnedFd)>,
    terminal: Option<OwnedFd>,
}

impl StdioStreams {
    fn open(input: &StdinSource, output: StdioMode, sandbox: &Sandbox) -> io::Result<Self> {
        if let StdioMode::Terminal(size) = output {
            let PtyPair { master, slave } = match sandbox.open_terminal() {
                Some(master) => pty::from_master(master?, size.rows, size.columns)?,
                None => pty::open(size.rows, size.columns)?,
            };
            return Ok(Self {
                child: [Some(slave.try_clone()?), Some(slave.try_clone()?), Some(slave)],
                input: Some(master.try_clone()?),
                output: vec![(OutputStream::Stdout, master.try_clone()?)],
                terminal: Some(master),
            });
        }
        let (stdin, input) = match input {
            StdinSource::Empty => (None, None),
            StdinSource::Bytes(_) | StdinSource::Pipe => {
                let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(theirs), Some(ours))
            }
        };
        let (out, stdout) = large_pipe()?;
        let mut output_ends = vec![(OutputStream::Stdout, out)];
        let stderr = if output == StdioMode::Separate {
            let (err, stderr) = large_pipe()?;
            output_ends.push((OutputStream::Stderr, err));
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
    // Best effort.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIPE_BYTES);
    Ok((ours, theirs))
}

/// A program on this machine.
#[derive(Debug)]
struct LocalProcess {
    root: JobRoot,
    terminal: Option<OwnedFd>,
    launched: Mutex<LaunchedChild>,
    /// Becomes readable when it ends.
    pidfd: AsyncFd<OwnedFd>,
    /// Placeholders for protected files are removed with it.
    sandbox: Arc<Sandbox>,
}

impl ProcessControl for LocalProcess {
    fn root(&self) -> Option<&JobRoot> {
        Some(&self.root)
    }

    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>> {
        Box::pin(async {
            loop {
                let mut ready = self.pidfd.readable().await?;
                #[cfg(target_os = "linux")]
                crate::guardian::note_exit(self.root.pid);
                let status = {
                    let mut launched = self.launched.lock();
                    launched.try_wait()?
                };
                if let Some(status) = status {
                    self.sandbox.quarantine();
                    return Ok(process_exit(status));
                }
                ready.clear_ready();
            }
        })
    }

    fn terminate(&self, grace: Duration) -> BoxFuture<'_, ()> {
        let root = self.root.clone();
        Box::pin(async move {
            let _ = tokio::task::spawn_blocking(move || tree::terminate(&root, grace)).await;
        })
    }

    fn abandon(&self) {
        let group = i32::try_from(self.root.pid).ok().and_then(Pid::from_raw);
        // The pid cannot be reused before it is reaped.
        if let Some(group) = group.filter(|_| !self.has_exited()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn has_exited(&self) -> bool {
        !tree::is_alive(self.root.pid, self.root.started)
    }

    fn has_descendants(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            // Background processes of a shell are in its group, unless they
            // started a new session. Checking the group is a single system
            // call.
            if !is_likely && !tree::has_group(self.root.pid) {
                return false;
            }
            background_processes::any_running(&self.root).await
        })
    }

    fn wait_for_descendants(&self) -> BoxFuture<'_, ()> {
        Box::pin(background_processes::wait_until_gone(&self.root))
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize> {
        Box::pin(async move { tree::signal(&self.root, signal) })
    }

    fn input_wait(&self) -> BoxFuture<'_, InputWait> {
        Box::pin(async { tree::input_wait(&self.root) })
    }

    fn resize(&self, size: TerminalSize) -> io::Result<()> {
        match &self.terminal {
            Some(terminal) => pty::set_size(terminal, size.rows, size.columns),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// Returns the size of the argument list and environment in bytes.
fn argument_bytes(arguments: &[OsString], environment: &BTreeMap<OsString, OsString>) -> usize {
    let words = arguments.iter().map(|word| word.len());
    let variables = environment.iter().map(|(name, value)| name.len() + value.len() + 1);
    words.chain(variables).map(|length| length + 1).sum()
}

fn too_long_error(size: usize) -> ToolError {
    ToolError::limit(format!(
        "The command is too long: {size} bytes with its environment; the system allows about 2 \
         MB (`getconf ARG_MAX`)"
    ))
    .with_hint("Write it to a file and run that, or pass the long part as stdin.")
}

/// Lists what is enforced, and the process limit if it is not. An unenforced
/// default limit is omitted, since only a profile's limit was asked for.
fn containment_summary(sandbox: &Sandbox, confinement: &Confinement) -> String {
    let report = sandbox.enforcement();
    if confinement.reduced && !report.mount_namespace {
        return report.to_string();
    }
    let is_preset = confinement.limits.processes == ChildLimits::default().processes;
    match report.limit_gap.as_ref().filter(|_| !is_preset) {
        Some(gap) => format!("{}; not held: {gap}", report.names()),
        None => report.names(),
    }
}

fn process_exit(status: ExitStatus) -> ProcessExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, signal) => ProcessExit::Signal(signal.unwrap_or_default()),
    }
}
