//! The composed system.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_checkpoints::FileCheckpointer;
use hermes_config::HermesHome;
use hermes_core::{MemorySessionStore, NoticeQueue, Session, SessionStore, ToolCall, ToolResult};
use hermes_engine::{Caller, Engine};
use hermes_exec::JobRegistry;
use hermes_files::RecoveredChange;
use hermes_store::FileSessionStore;
use serde_json::Value;

use crate::{AuditRecorder, HermesBuilder, RedactingStore, SecretsProvider};

/// How long [`Hermes::close`] waits for the audit log.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// An engine with tools, policy, sandboxed commands, checkpoints and an audit
/// log.
pub struct Hermes {
    pub(crate) home: HermesHome,
    pub(crate) workspace: PathBuf,
    pub(crate) engine: Engine,
    pub(crate) secrets: Arc<SecretsProvider>,
    pub(crate) jobs: Arc<JobRegistry>,
    pub(crate) notices: Arc<NoticeQueue>,
    pub(crate) records: Arc<AuditRecorder>,
    pub(crate) checkpoints: Option<Arc<FileCheckpointer>>,
    pub(crate) sessions: FileSessionStore,
    pub(crate) recovered: Vec<RecoveredChange>,
}

impl Hermes {
    /// Starts building one.
    pub fn builder() -> HermesBuilder {
        HermesBuilder::default()
    }

    /// A caller in the workspace, with a session in memory and no approver:
    /// calls that need approval answer `approval_required`.
    pub fn caller(&self) -> Caller {
        let mut caller = Caller::new(&self.workspace);
        caller.home = std::env::home_dir().filter(|home| home.is_absolute());
        caller.session = self.session(None);
        caller
    }

    /// A session. One with an id is on disk and shared with other processes; one
    /// without is in memory.
    pub fn session(&self, id: Option<&str>) -> Session {
        let (id, store): (Arc<str>, Box<dyn SessionStore>) = match id {
            Some(id) => (id.into(), Box::new(self.sessions.clone())),
            None => {
                let id = Session::in_memory().id().into();
                (id, Box::new(MemorySessionStore::default()))
            }
        };
        Session::new(id, Arc::new(RedactingStore::new(store, Arc::clone(&self.secrets))))
    }

    /// Calls one tool.
    pub async fn call(&self, tool: &str, arguments: Value, caller: &Caller) -> ToolResult {
        self.engine.call(ToolCall::new("call", tool, arguments), caller).await
    }

    /// Runs a batch. The results are in the order of the calls.
    pub async fn dispatch(&self, calls: Vec<ToolCall>, caller: &Caller) -> Vec<ToolResult> {
        self.engine.dispatch(calls, caller).await
    }

    /// Terminates background jobs, disconnects from the backend and waits for the
    /// audit log.
    pub async fn close(&self) -> Result<(), hermes_audit::LogError> {
        self.jobs.close().await;
        self.jobs.backend().cleanup().await;
        self.records.flush(FLUSH_TIMEOUT)
    }

    /// The engine: registry, definitions, hooks.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The directory of settings and state.
    pub fn home(&self) -> &HermesHome {
        &self.home
    }

    /// The directory that calls work in.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The user's secrets.
    pub fn secrets(&self) -> &Arc<SecretsProvider> {
        &self.secrets
    }

    /// Running commands.
    pub fn jobs(&self) -> &Arc<JobRegistry> {
        &self.jobs
    }

    /// Messages about background jobs.
    pub fn notices(&self) -> &Arc<NoticeQueue> {
        &self.notices
    }

    /// The audit log.
    pub fn records(&self) -> &AuditRecorder {
        &self.records
    }

    /// What makes checkpoints, unless they are off.
    pub fn checkpoints(&self) -> Option<&FileCheckpointer> {
        self.checkpoints.as_deref()
    }

    /// The sessions on disk.
    pub fn sessions(&self) -> &FileSessionStore {
        &self.sessions
    }

    /// File changes that a crash had interrupted, and that were rolled back.
    pub fn recovered_changes(&self) -> &[RecoveredChange] {
        &self.recovered
    }
}

impl fmt::Debug for Hermes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hermes")
            .field("home", &self.home)
            .field("workspace", &self.workspace)
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}
