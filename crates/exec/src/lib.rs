//! Commands that run: each is a job, whether somebody waits for it or not.
//!
//! A [`ExecBackend`] starts programs; a [`Job`] is one of them, with its
//! [`output::OutputLog`] and perhaps a [`screen::TerminalScreen`]; [`JobRegistry`] are all of a
//! program. A [`state::ShellState`] is what a session's shell carries from one
//! command to the next.

mod askpass;
mod job_monitor;
mod backend;
mod shutdown;
mod containment;
mod disk_watch;
pub mod docker;
pub mod remote;
mod captured_command;
mod run_dir;
#[cfg(target_os = "linux")]
mod guardian;
pub mod surrogates;
mod job;
mod jobs;
mod retention;
pub mod job_records;
mod job_handle;
mod local;
pub mod network;
mod command_spec;
pub mod output;
mod lazy_backend;
mod async_streams;
mod disk_space;
mod scratch;
pub mod screen;
mod direct_exec;
pub mod singularity;
pub mod ssh;
pub mod state;
mod background_processes;
pub mod shell_env;
mod command_timeouts;
pub mod file_transfer;
pub mod tree;
pub mod watch;

pub use askpass::AskpassHelper;
pub use job_monitor::MonitorOptions;
pub use backend::{ExecBackend, ProcessControl, ProcessExit, HostFacts, ShellKind, SpawnedProcess, InputWait};
pub use containment::{JobContainment, SandboxStop};
pub use remote::{TransportIo, TransportProcess, RemoteBackend, Transport};
pub use captured_command::{CaptureResult, CapturedCommand};
pub use run_dir::RunDir;
pub use hermes_sandbox::den;
pub use job::{JobExit, Job, WaitLimits, WaitOutcome, JobOutputOptions};
pub use jobs::{KILL_GRACE, JobRegistry, BackendPhase, JobRecordGuard};
pub use retention::RetentionPolicy;
pub use job_handle::{JobHandle, NewOutput};
pub use local::LocalBackend;
pub use network::{ListeningPort, NetworkTable, SessionNetwork};
pub use command_spec::{StdinSource, CommandSpec, StdioMode, TerminalSize};
pub use lazy_backend::LazyBackend;
pub use disk_space::DiskSpace;
pub use command_timeouts::CommandTimeouts;
