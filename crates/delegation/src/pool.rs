//! What sub-agents are made of, and how many there may be.

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

/// A sub-agent that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct SubagentSpec<'a> {
    /// Its id, which is that of its session as well.
    pub id: &'a str,
    /// The session of its parent.
    pub parent: &'a str,
    /// What it is to achieve.
    pub goal: &'a str,
    /// What its model is told before anything else.
    pub system: &'a str,
    /// Its model.
    pub model: &'a str,
    /// Where it works.
    pub cwd: &'a Path,
}

/// A model and how it is asked; or why there is none, in words.
pub type ModelLookup = Result<(Arc<dyn LanguageModel>, ModelParams), String>;

/// Where the program keeps what sub-agents need.
pub trait SubagentHost: Send + Sync {
    /// A model by its name in the configuration; without a name, the one that
    /// the configuration names first. An error is told as it is.
    fn model<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, ModelLookup>;

    /// Whether there is a model at all. It is asked often.
    fn availability(&self) -> Availability {
        Availability::Ready
    }

    /// Where the conversation of a sub-agent is written down.
    fn journal(&self, _child: &SubagentSpec<'_>) -> Result<Arc<dyn ConversationJournal>, String> {
        Ok(Arc::new(NullJournal))
    }

    /// Who is asked about what a sub-agent of this session may not do by
    /// itself. Nobody means that it is not done.
    fn approver(&self, _session: &str) -> Option<Arc<dyn Approver>> {
        None
    }

    /// What a sub-agent is told again once a part of its conversation is gone.
    fn reminder(&self) -> Option<SessionReminder> {
        None
    }

    /// What has happened meanwhile that a sub-agent should know, such as the
    /// end of a process that it has started.
    fn event_reminder(&self) -> Option<SessionReminder> {
        None
    }

    /// What the project says that it works in, as far as the gate lets it be read.
    fn guidance(&self, _cwd: &Path, _gate: ReadGate) -> ProjectGuidance {
        ProjectGuidance::default()
    }

    /// A sub-agent is through: its session is closed, and what it has left
    /// running can be ended.
    fn on_subagent_end<'a>(&'a self, _child: &'a str, _status: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// What sub-agents are made of.
pub struct SubagentPool {
    pub(crate) host: Arc<dyn SubagentHost>,
    pub(crate) settings: DelegationSettings,
    pub(crate) mixture: MixtureSettings,
    pub(crate) background: DelegationJobs,
    // The engine holds the tools and the tools hold the crew, so the crew must
    // not hold the engine.
    engine: Mutex<(Weak<Engine>, CancellationToken)>,
    slots: Mutex<HashMap<AgentKey, Weak<Semaphore>>>,
}

/// One agent: its session and its task.
type AgentKey = (String, String);

impl SubagentPool {
    /// A crew that cannot work before it serves an engine.
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

    /// From now on sub-agents make their calls by this engine, until what this
    /// gives back is dropped.
    #[must_use = "the crew stops working when this is dropped"]
    pub fn serve(self: &Arc<Self>, engine: Engine) -> PoolGuard {
        let engine = Arc::new(engine);
        let stop = CancellationToken::new();
        *self.engine.lock() = (Arc::downgrade(&engine), stop.clone());
        PoolGuard { _engine: engine, stop }
    }

    /// Stops what a session has in the background, and tells what that was: a
    /// handle each, with what it was to achieve.
    pub fn stop_session(&self, session: &str) -> Vec<(String, String)> {
        self.background.stop_session(session)
    }

    /// Whether a notice tells of a delegation that has ended.
    pub fn is_delegation_notice(notice: &hermes_core::ProcessNotice) -> bool {
        crate::background::is_handle(&notice.session_id)
    }

    /// Waits until what a session has in the background has ended.
    pub async fn wait_until_idle(&self, session: &str) {
        self.background.wait_until_idle(Some(session)).await;
    }

    /// Stops everything that is in the background, and waits until it has
    /// ended.
    pub async fn close(&self) {
        self.engine.lock().1.cancel();
        self.background.wait_until_idle(None).await;
    }

    /// The engine, and what stops everything that outlasts a call.
    pub(crate) fn engine(&self) -> Result<(Engine, CancellationToken), ToolError> {
        let (engine, stop) = self.engine.lock().clone();
        let engine = engine.upgrade().ok_or_else(|| {
            ToolError::unavailable("Sub-agents cannot be made here")
                .with_hint("Do the task yourself, step by step.")
        })?;
        Ok((Engine::clone(&engine), stop))
    }

    /// Where the sub-agents of one agent stand in line.
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
        f.debug_struct("Crew").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A crew at work. Dropping it stops what is in the background, and no more
/// sub-agents are made.
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
