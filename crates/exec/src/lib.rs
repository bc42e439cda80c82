//! Runs commands. Each is a job, whether a caller waits for it or not.
//!
//! An [`ExecBackend`] starts programs. A [`Job`] is one of them, with its
//! [`output::OutputLog`] and optionally a [`screen::TerminalScreen`]. The
//! [`JobRegistry`] holds all jobs of a process. A [`state::ShellState`] is what
//! a session's shell carries from one command to the next.

mod askpass;
mod async_streams;
mod backend;
mod background_processes;
mod captured_command;
mod command_spec;
mod command_timeouts;
mod containment;
mod direct_exec;
mod disk_space;
mod disk_watch;
pub mod docker;
pub mod file_transfer;
#[cfg(target_os = "linux")]
mod guardian;
mod job;
mod job_handle;
mod job_monitor;
pub mod job_records;
mod jobs;
mod lazy_backend;
mod local;
pub mod network;
pub mod output;
pub mod remote;
mod retention;
mod run_dir;
mod scratch;
pub mod screen;
pub mod shell_env;
mod shutdown;
pub mod singularity;
pub mod ssh;
pub mod state;
pub mod tree;
pub mod watch;

pub use askpass::AskpassHelper;
pub use backend::{
    ExecBackend, HostFacts, InputWait, ProcessControl, ProcessExit, ShellKind, SpawnedProcess,
};
pub use captured_command::{CaptureResult, CapturedCommand};
pub use command_spec::{CommandSpec, StdinSource, StdioMode, TerminalSize};
pub use command_timeouts::CommandTimeouts;
pub use containment::{JobContainment, SandboxStop};
pub use disk_space::DiskSpace;
pub use hermes_sandbox::private_dir;
pub use job::{Job, JobExit, JobOutputOptions, WaitLimits, WaitOutcome};
pub use job_handle::{JobHandle, NewOutput};
pub use job_monitor::MonitorOptions;
pub use jobs::{BackendPhase, JobRecordGuard, JobRegistry, KILL_GRACE};
pub use lazy_backend::LazyBackend;
pub use local::LocalBackend;
pub use network::{ListeningPort, NetworkTable, SessionNetwork};
pub use remote::{RemoteBackend, Transport, TransportIo, TransportProcess};
pub use retention::RetentionPolicy;
pub use run_dir::RunDir;
