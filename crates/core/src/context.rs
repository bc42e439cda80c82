//! The context of a running call.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::{Confinement, EngineHandle, Grants, Ports, Resource, Scope, Session, ToolError};

/// The directories of a call: the base of relative paths, and the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDir {
    cwd: PathBuf,
    home: Option<PathBuf>,
}

impl WorkingDir {
    /// Creates a working directory; `cwd` must be absolute.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { cwd: cwd.into(), home }
    }

    /// Returns the current directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the absolute form of a path from a caller: `~` expanded, joined
    /// to the working directory, `.` and `..` resolved. Does not access the
    /// file system.
    pub fn resolve(&self, path: &str) -> PathBuf {
        let written = match (path.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(path),
        };
        self.normalize(&written)
    }

    /// Returns the absolute form of a path: joined to the working directory,
    /// `.` and `..` resolved. Does not access the file system.
    pub fn normalize(&self, path: &Path) -> PathBuf {
        let joined: Cow<'_, Path> =
            if path.is_absolute() { path.into() } else { self.cwd.join(path).into() };
        if is_normalized(&joined) {
            return joined.into_owned();
        }
        let mut parts = Vec::with_capacity(16);
        for part in joined.components() {
            match part {
                Component::ParentDir => {
                    parts.pop_if(|part| matches!(part, Component::Normal(_)));
                }
                Component::CurDir => {}
                other => parts.push(other),
            }
        }
        let mut folded = OsString::with_capacity(joined.as_os_str().len());
        let mut separated = true;
        for part in parts {
            if !separated {
                folded.push("/");
            }
            folded.push(part);
            separated = part == Component::RootDir;
        }
        folded.into()
    }
}

/// Whether a path is certainly normalized. A fast check, also false for hidden
/// names such as `/a/.b`.
pub fn is_normalized(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    // No early exit, so the compiler can vectorize the loop.
    let is_plain = |plain: bool, (byte, next): (&u8, &u8)| {
        plain & ((*byte != b'/') | ((*next != b'/') & (*next != b'.')))
    };
    bytes.first() == Some(&b'/')
        && pairs.fold(true, is_plain)
        && (bytes.len() == 1 || bytes.last() != Some(&b'/'))
}

/// A progress report of a running tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// From 0 to 1, if known.
    pub fraction: Option<f64>,
    /// The current activity.
    pub message: String,
}

/// Receives the progress reports of a tool, from any thread.
pub type ProgressCallback = Arc<dyn Fn(&str, &ProgressUpdate) + Send + Sync>;

/// The services and limits of a running call.
#[derive(Clone)]
pub struct ToolContext {
    /// The id of this call.
    pub call_id: Arc<str>,
    /// The canonical name of the tool.
    pub tool: Arc<str>,
    /// The task that it belongs to; each sub-agent has a separate one.
    pub task_id: Arc<str>,
    /// The session's documents.
    pub session: Session,
    /// Where the call runs.
    pub working_dir: Arc<WorkingDir>,
    /// Cancelled when the call must stop.
    pub cancel: CancellationToken,
    /// The deadline of the call.
    pub deadline: Option<Instant>,
    /// What the call declared and may touch; enforced by the ports.
    pub grants: Arc<Grants>,
    /// The limits of its child processes.
    pub confinement: Option<Arc<Confinement>>,
    /// Services that it may use.
    pub ports: Arc<Ports>,
    /// Receives progress reports.
    pub progress: Option<ProgressCallback>,
    /// The engine that runs it.
    pub engine: Option<Arc<dyn EngineHandle>>,
    /// Whether another tool, such as a script, makes this call. The outer
    /// caller does not see the result.
    pub is_nested: bool,
}

impl ToolContext {
    /// Creates a context with only the working directory `cwd`, for tests and
    /// for programs that call a tool directly.
    pub fn bare(cwd: impl Into<PathBuf>) -> Self {
        Self {
            call_id: "call".into(),
            tool: "tool".into(),
            task_id: "default".into(),
            session: Session::in_memory(),
            working_dir: Arc::new(WorkingDir::new(cwd, None)),
            cancel: CancellationToken::new(),
            deadline: None,
            grants: Arc::new(Grants::allow_all()),
            confinement: None,
            ports: Arc::new(Ports::new()),
            progress: None,
            engine: None,
            is_nested: false,
        }
    }

    /// Returns an error unless the call declared this effect and was granted
    /// it; for effects without a port.
    pub fn check_grant(&self, scope: &Scope, resource: &Resource) -> Result<(), ToolError> {
        self.grants.check(scope, resource)
    }

    /// Reports progress to the caller.
    pub fn report_progress(&self, fraction: Option<f64>, message: impl Into<String>) {
        if let Some(report) = &self.progress {
            report(&self.tool, &ProgressUpdate { fraction, message: message.into() });
        }
    }

    /// Returns the time left until the deadline.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Returns an error if the call must stop; for loops that do not await.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::cancelled()) } else { Ok(()) }
    }

    /// Waits for `work`, or for the call to be cancelled.
    pub async fn run_until_cancelled<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ToolError> {
        self.cancel.run_until_cancelled(work).await.ok_or_else(ToolError::cancelled)
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call_id", &self.call_id)
            .field("tool", &self.tool)
            .field("task_id", &self.task_id)
            .field("session", &self.session)
            .field("workplace", &self.working_dir)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
