//! What sub-agents share: host services, settings, the engine and concurrency
//! slots.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};

use hermes_agent::{
    ConversationJournal, ModelParams, NullJournal, ProjectGuidance, ReadGate, SessionReminder,
};
use hermes_core::{Approver, Availability, BoxFuture, CancellationToken, ToolError};
use hermes_engine::Engine;
use hermes_llm::LanguageModel;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::background::DelegationJobs;
use crate::settings::{DelegationSettings, MixtureSettings};

/// A sub-agent about to start.
#[derive(Debug, Clone, Copy)]
pub struct SubagentSpec<'a> {
    /// Its id, which is also its session id.
    pub id: &'a str,
    /// The parent's session.
    pub parent: &'a str,
    /// Its goal.
    pub goal: &'a str,
    /// Its system prompt.
    pub system: &'a str,
    /// Name of its model.
    pub model: &'a str,
    /// Its working directory.
    pub cwd: &'a Path,
}

/// A model and its parameters, or why it cannot be used.
pub type ModelLookup = Result<(Arc<dyn LanguageModel>, ModelParams), String>;

/// Services that the program provides to sub-agents.
pub trait SubagentHost: Send + Sync {
    /// Resolves a model by its configured name; without a name, the first
    /// configured one. The error text is shown to the model unchanged.
    fn model<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, ModelLookup>;

    /// Whether a model is configured. Called often, so it must be cheap.
    fn availability(&self) -> Availability {
        Availability::Ready
    }

    /// Opens the journal of a sub-agent's conversation.
    fn journal(&self, _child: &SubagentSpec<'_>) -> Result<Arc<dyn ConversationJournal>, String> {
        Ok(Arc::new(NullJournal))
    }

    /// The approver for calls of sub-agents of this session. Without one, such
    /// calls are denied.
    fn approver(&self, _session: &str) -> Option<Arc<dyn Approver>> {
        None
    }

    /// Reminder repeated after a part of a sub-agent's conversation was
    /// dropped.
    fn reminder(&self) -> Option<SessionReminder> {
        None
    }

    /// Reminder of events since the last round, such as the end of a process
    /// that the sub-agent started.
    fn event_reminder(&self) -> Option<SessionReminder> {
        None
    }

    /// Guidance files of the project, as far as the gate allows reading them.
    fn guidance(&self, _cwd: &Path, _gate: ReadGate) -> ProjectGuidance {
        ProjectGuidance::default()
    }

    /// Called when a sub-agent has ended and its session is closed, to clean up
    /// what it left running.
    fn on_subagent_end<'a>(&'a self, _child: &'a str, _status: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// Shared state of all sub-agents.
pub struct SubagentPool {
    pub(crate) host: Arc<dyn SubagentHost>,
    pub(crate) settings: DelegationSettings,
    pub(crate) mixture: MixtureSettings,
    pub(crate) background: DelegationJobs,
    // Weak: the engine holds the tools and the tools hold the pool.
    engine: Mutex<(Weak<Engine>, CancellationToken)>,
    slots: Mutex<HashMap<AgentKey, Weak<Semaphore>>>,
}

/// An agent: session id and task id.
type AgentKey = (String, String);

impl SubagentPool {
    /// Creates a pool; it runs no sub-agents before [`Self::serve`].
    pub fn new(
        supply: Arc<dyn SubagentHost>,
        settings: DelegationSettings,
        mixture: MixtureSettings,
    ) -> Arc<Self> {
        let background = DelegationJobs::new(settings.max_background);
        let engine = Mutex::new((Weak::new(), CancellationToken::new()));
        Arc::new(Self {
            host: supply,
            settings,
            mixture,
            background,
            engine,
            slots: Mutex::default(),
        })
    }

    /// Runs sub-agents' calls on this engine until the returned guard is
    /// dropped.
    #[must_use = "the pool stops working when this is dropped"]
    pub fn serve(self: &Arc<Self>, engine: Engine) -> PoolGuard {
        let engine = Arc::new(engine);
        let stop = CancellationToken::new();
        *self.engine.lock() = (Arc::downgrade(&engine), stop.clone());
        PoolGuard { _engine: engine, stop }
    }

    /// Cancels the background delegations of a session; returns their handles
    /// and goals.
    pub fn stop_session(&self, session: &str) -> Vec<(String, String)> {
        self.background.stop_session(session)
    }

    /// Describes the running background delegations of a session, one text
    /// each.
    pub fn describe_running(&self, session: &str) -> Vec<String> {
        self.background.running(session).iter().map(|job| job.status_line()).collect()
    }

    /// Cancels a background delegation (`deleg_1`) or one task of it
    /// (`deleg_1/0`).
    pub fn stop_task(&self, session: &str, handle: &str) -> Result<(), ToolError> {
        let (job, task) = self.background.find_task(session, handle)?;
        job.stop(task);
        Ok(())
    }

    /// Sends a message to the sub-agents of a background delegation, or to one
    /// of them. Returns how many get it.
    pub fn steer_task(
        &self,
        session: &str,
        handle: &str,
        message: &str,
    ) -> Result<usize, ToolError> {
        let (job, task) = self.background.find_task(session, handle)?;
        job.steer(task, message)
    }

    /// Whether a notice reports the end of a delegation.
    pub fn is_delegation_notice(notice: &hermes_core::ProcessNotice) -> bool {
        crate::background::is_handle(&notice.session_id)
    }

    /// Waits until the session's background delegations have ended.
    pub async fn wait_until_idle(&self, session: &str) {
        self.background.wait_until_idle(Some(session)).await;
    }

    /// Cancels all background delegations and waits until they have ended.
    pub async fn close(&self) {
        self.engine.lock().1.cancel();
        self.background.wait_until_idle(None).await;
    }

    /// Returns the engine and the token that cancels background delegations.
    pub(crate) fn engine(&self) -> Result<(Engine, CancellationToken), ToolError> {
        let (engine, stop) = self.engine.lock().clone();
        let engine = engine.upgrade().ok_or_else(|| {
            ToolError::unavailable("Sub-agents are not available here")
                .with_hint("Do the task yourself, step by step.")
        })?;
        Ok((Engine::clone(&engine), stop))
    }

    /// Returns the concurrency slots for one agent's sub-agents.
    pub(crate) fn slots_for(&self, session: &str, task: &str) -> Arc<Semaphore> {
        let mut lanes = self.slots.lock();
        let key = (session.to_owned(), task.to_owned());
        if let Some(lane) = lanes.get(&key).and_then(Weak::upgrade) {
            return lane;
        }
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let lane = Arc::new(Semaphore::new(self.settings.max_parallel.max(1)));
        lanes.insert(key, Arc::downgrade(&lane));
        lane
    }
}

impl fmt::Debug for SubagentPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubagentPool").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Keeps a pool running. Dropping it cancels background delegations and
/// prevents new sub-agents.
#[derive(Debug)]
pub struct PoolGuard {
    _engine: Arc<Engine>,
    stop: CancellationToken,
}

impl Drop for PoolGuard {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
