//! The caller of tools, and its limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hermes_core::{Approver, CancellationToken, Ports, Session, WorkingDir};

use crate::definitions::ToolScope;
use crate::observer::CallObserver;
use crate::registry::RegistrySnapshot;
use crate::spill::ResultSizeLimits;

/// The originator of calls: a user, a model's turn, a script or another agent.
#[derive(Clone)]
pub struct Caller {
    /// State shared by the calls.
    pub session: Session,
    /// The task id; a sub-agent has its own.
    pub task_id: Arc<str>,
    /// The working directory, unless the session has set one.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Replaces `cwd` and `home` once set, for a caller whose location is not
    /// known at creation.
    pub late_working_dir: Option<Arc<OnceLock<WorkingDir>>>,
    /// Cancels all running calls.
    pub cancel: CancellationToken,
    /// Deadline of the whole batch.
    pub deadline: Option<Instant>,
    /// Observer of the calls.
    pub observer: Option<Arc<dyn CallObserver>>,
    /// The approver. Without one, calls that need approval are denied.
    pub approver: Option<Arc<dyn Approver>>,
    /// Tools that may be called; `None` means all.
    pub scope: Option<Arc<ToolScope>>,
    /// Limits on result sizes; `None` means the engine's.
    pub limits: Option<ResultSizeLimits>,
    /// Runs every stage except the call itself, and reports what would happen.
    pub dry_run: bool,
    /// Whether untrusted text is wrapped in a label for the model; otherwise it
    /// is only flagged.
    pub label_untrusted: bool,
    /// Ports for its tools, instead of the engine's.
    pub ports: Option<Arc<Ports>>,
    /// Kind of caller for the audit log: `cli`, `exec`, `mcp`, `agent`, …
    pub who: Arc<str>,
    /// The turn of the calls, which is the unit of undo. `None` makes each
    /// dispatch a separate turn.
    pub turn: Option<Arc<str>>,
    /// The session of that turn, if it is not the caller's: a sub-agent works
    /// in a turn of the main agent.
    pub turn_session: Option<Arc<str>>,
    /// The enclosing call.
    pub(crate) parent: Option<Arc<str>>,
    /// Nesting depth of the calls.
    pub(crate) depth: u8,
    /// The registry snapshot of the outermost call.
    pub(crate) snapshot: Option<Arc<RegistrySnapshot>>,
}

impl Caller {
    /// Creates a caller in `cwd` with an in-memory session and no approver.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            session: Session::in_memory(),
            task_id: "default".into(),
            cwd: cwd.into(),
            home: None,
            late_working_dir: None,
            cancel: CancellationToken::new(),
            deadline: None,
            observer: None,
            approver: None,
            scope: None,
            limits: None,
            dry_run: false,
            label_untrusted: true,
            ports: None,
            who: "library".into(),
            turn: None,
            turn_session: None,
            parent: None,
            depth: 0,
            snapshot: None,
        }
    }

    pub(crate) fn working_dir(&self) -> WorkingDir {
        // Tools that need the session report a damaged one; fall back to the
        // caller's directory.
        let chosen = self.session.cwd().ok().flatten();
        let (cwd, home) = match self.late_working_dir.as_ref().and_then(|late| late.get()) {
            Some(late) => (late.cwd(), late.home()),
            None => (self.cwd.as_path(), self.home.as_deref()),
        };
        WorkingDir::new(chosen.unwrap_or_else(|| cwd.into()), home.map(Into::into))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("session", &self.session)
            .field("task_id", &self.task_id)
            .field("cwd", &self.cwd)
            .field("deadline", &self.deadline)
            .field("can_ask", &self.approver.is_some())
            .field("scope", &self.scope.as_ref().map(|s| s.entries().len()))
            .finish_non_exhaustive()
    }
}
