//! What a tool is handed while it runs.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::{Confinement, EngineHandle, Grants, Ports, Resource, Scope, Session, ToolError};

/// Where a call happens: what relative paths are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDir {
    cwd: PathBuf,
    home: Option<PathBuf>,
}

impl WorkingDir {
    /// A workplace; `cwd` is absolute.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { cwd: cwd.into(), home }
    }

    /// The working folder.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The absolute form of a path as a caller wrote it: `~` expanded, joined
    /// to the working folder, `.` and `..` folded. Nothing is looked up.
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

    /// The absolute form of a path: joined to the working folder, `.` and `..`
    /// folded. Nothing is looked up.
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

/// Whether a path has no part that says nothing or climbs, at a glance.
pub fn is_normalized(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    // Every pair is looked at, which a processor does many at a time.
    let is_plain = |plain: bool, (byte, next): (&u8, &u8)| {
        plain & ((*byte != b'/') | ((*next != b'/') & (*next != b'.')))
    };
    bytes.first() == Some(&b'/')
        && pairs.fold(true, is_plain)
        && (bytes.len() == 1 || bytes.last() != Some(&b'/'))
}

/// A sign of life from a tool that takes its time.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// From 0 to 1, if known.
    pub fraction: Option<f64>,
    /// What it is doing.
    pub message: String,
}

/// Somebody who wants to see progress.
pub trait ProgressSink: Send + Sync {
    /// Called from any thread, as often as the tool likes.
    fn report(&self, tool: &str, progress: &ProgressUpdate);
}

/// Everything that a running call may use.
#[derive(Clone)]
pub struct ToolContext {
    /// The id of this call.
    pub call_id: Arc<str>,
    /// The canonical name of the tool.
    pub tool: Arc<str>,
    /// The task on whose behalf it runs; a sub-agent has its own.
    pub task_id: Arc<str>,
    /// The session's documents.
    pub session: Session,
    /// Where it happens.
    pub working_dir: Arc<WorkingDir>,
    /// Becomes set when the call must stop.
    pub cancel: CancellationToken,
    /// When its time is up.
    pub deadline: Option<Instant>,
    /// What it declared and was allowed to touch. Ports hold it to that.
    pub grants: Arc<Grants>,
    /// What its child processes must be held to.
    pub confinement: Option<Arc<Confinement>>,
    /// What else it may reach.
    pub ports: Arc<Ports>,
    /// Who wants to see progress.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// The engine that runs it.
    pub engine: Option<Arc<dyn EngineHandle>>,
    /// Whether another tool makes this call and gets the answer, such as a
    /// script. Whoever called that one does not see it.
    pub is_nested: bool,
}

impl ToolContext {
    /// A context for the working folder `cwd` and nothing else, for tests and
    /// for programs that call a tool by hand.
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

    /// An error unless the call declared this and was allowed to; for what has
    /// no port of its own.
    pub fn check_grant(&self, scope: &Scope, resource: &Resource) -> Result<(), ToolError> {
        self.grants.check(scope, resource)
    }

    /// Shows progress to whoever wants to see it.
    pub fn report_progress(&self, fraction: Option<f64>, message: impl Into<String>) {
        if let Some(sink) = &self.progress {
            sink.report(&self.tool, &ProgressUpdate { fraction, message: message.into() });
        }
    }

    /// How much time is left.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// An error if the call must stop; for loops that do not await.
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
