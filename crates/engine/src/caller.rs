//! On whose behalf calls are made, and within which bounds.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hermes_core::{Approver, CancellationToken, Ports, Session, WorkingDir};

use crate::definitions::ToolScope;
use crate::observer::CallObserver;
use crate::registry::RegistrySnapshot;
use crate::spill::ResultSizeLimits;

/// Whoever makes calls: a person, a model's turn, a script, another agent.
#[derive(Clone)]
pub struct Caller {
    /// What outlives the calls.
    pub session: Session,
    /// The task; a sub-agent has its own.
    pub task_id: Arc<str>,
    /// The working folder, unless the session has chosen one.
    pub cwd: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Where it is after all, if that was not known when it was made: in place
    /// of `cwd` and `home`, once it is known.
    pub late_workplace: Option<Arc<OnceLock<WorkingDir>>>,
    /// Stops everything that is under way.
    pub cancel: CancellationToken,
    /// When the time of the whole batch is up.
    pub deadline: Option<Instant>,
    /// Who wants to see the calls while they are made.
    pub observer: Option<Arc<dyn CallObserver>>,
    /// Who can be asked. Nobody means that what must be asked is not done.
    pub approver: Option<Arc<dyn Approver>>,
    /// What may be called; none means every tool.
    pub scope: Option<Arc<ToolScope>>,
    /// How much of results reaches the model; none means as much as the engine says.
    pub limits: Option<ResultSizeLimits>,
    /// Go through every stage but the run, and tell what would happen.
    pub dry_run: bool,
    /// Whether text from strangers is wrapped in a label that a model can see;
    /// without it, it is only marked.
    pub label_untrusted: bool,
    /// What its tools may reach, in place of the engine's own ports.
    pub ports: Option<Arc<Ports>>,
    /// Who makes the calls, for the record: `cli`, `exec`, `mcp`, `agent`, …
    pub who: Arc<str>,
    /// The turn that the calls are part of: what is undone as one. None means
    /// that each dispatch is a turn of its own.
    pub turn: Option<Arc<str>>,
    /// The call inside which these are made.
    pub(crate) parent: Option<Arc<str>>,
    /// How deep inside other calls these calls are.
    pub(crate) depth: u8,
    /// The registry that the outermost call saw.
    pub(crate) snapshot: Option<Arc<RegistrySnapshot>>,
}

impl Caller {
    /// A caller in that folder, with a session of its own and nobody to ask.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            session: Session::in_memory(),
            task_id: "default".into(),
            cwd: cwd.into(),
            home: None,
            late_workplace: None,
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
            parent: None,
            depth: 0,
            snapshot: None,
        }
    }

    pub(crate) fn workplace(&self) -> WorkingDir {
        // A damaged session is reported by the tools that need it; where it
        // was is then where the caller is.
        let chosen = self.session.cwd().ok().flatten();
        let (cwd, home) = match self.late_workplace.as_ref().and_then(|late| late.get()) {
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
