//! What sub-agents need of this program: models, sessions, somebody to ask.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes::core::{Approver, Availability, BoxFuture, NoticeQueue};
use hermes_agent::{
    ConversationJournal, ProjectGuidance, ReadGate, SessionJournal, SessionReminder,
};
use hermes_config::HermesHome;
use hermes_delegation::{ModelLookup, SubagentHost, SubagentSpec};
use hermes_exec::JobRegistry;
use hermes_history::{HomeHistory, NewSession, ParentLink, SessionRelation};
use hermes_llm::discovery::SETUP_HINT;
use parking_lot::Mutex;

use crate::agent_session::{notice_reminder, todo_reminder};
use crate::models::ModelFinder;

/// How long a process of a sub-agent that is through may take to end.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// What sub-agents are given.
pub(crate) struct SubagentServices {
    models: ModelFinder,
    history: HomeHistory,
    jobs: OnceLock<Arc<JobRegistry>>,
    notices: Arc<NoticeQueue>,
    /// Whether an agent has found a model.
    has_model: AtomicBool,
    approvers: Mutex<HashMap<String, Arc<dyn Approver>>>,
}

impl SubagentServices {
    pub(crate) fn new(
        home: &HermesHome,
        models: ModelFinder,
        notices: &Arc<NoticeQueue>,
    ) -> Arc<Self> {
        Arc::new(Self {
            models,
            history: HomeHistory::for_home(home.root()),
            jobs: OnceLock::new(),
            notices: Arc::clone(notices),
            has_model: AtomicBool::new(false),
            approvers: Mutex::default(),
        })
    }

    /// Whose processes sub-agents leave behind.
    pub(crate) fn set_jobs(&self, jobs: Arc<JobRegistry>) {
        let _ = self.jobs.set(jobs);
    }

    /// An agent has begun: there is a model, and its session has this person.
    pub(crate) fn begin_session(&self, session: &str, approver: Option<Arc<dyn Approver>>) {
        self.has_model.store(true, Ordering::Relaxed);
        let mut approvers = self.approvers.lock();
        match approver {
            Some(approver) => approvers.insert(session.to_owned(), approver),
            None => approvers.remove(session),
        };
    }
}

impl SubagentHost for SubagentServices {
    fn model<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, ModelLookup> {
        Box::pin(async move {
            let chosen = self.models.find(name, Arc::new(|_| {})).await;
            let chosen = chosen.map_err(|fault| match fault.hint {
                Some(hint) => format!("{}. {hint}", fault.message),
                None => fault.message,
            })?;
            Ok((chosen.found.model, chosen.params))
        })
    }

    fn availability(&self) -> Availability {
        if self.has_model.load(Ordering::Relaxed) || self.models.is_configured() {
            return Availability::Ready;
        }
        Availability::missing("no model is set up", SETUP_HINT)
    }

    fn journal(&self, child: &SubagentSpec<'_>) -> Result<Arc<dyn ConversationJournal>, String> {
        let store = self.history.store().map_err(|error| error.to_string())?;
        let parent = store.reader().session(child.parent).ok().filter(|p| p.id == child.parent);
        let title: String = child.goal.chars().take(80).collect();
        let beginning = NewSession {
            id: Some(child.id.to_owned()),
            source: "subagent".to_owned(),
            title: Some(title),
            cwd: Some(child.cwd.display().to_string()),
            model: Some(child.model.to_owned()),
            system: Some(child.system.to_owned()),
            parent: parent
                .map(|parent| ParentLink { id: parent.id, relation: SessionRelation::Delegation }),
        };
        let id = store.begin(&beginning).map_err(|error| error.to_string())?;
        Ok(Arc::new(SessionJournal::new(store, id)))
    }

    fn approver(&self, session: &str) -> Option<Arc<dyn Approver>> {
        self.approvers.lock().get(session).cloned()
    }

    fn reminder(&self) -> Option<SessionReminder> {
        Some(todo_reminder())
    }

    fn event_reminder(&self) -> Option<SessionReminder> {
        Some(notice_reminder(&self.notices))
    }

    fn guidance(&self, cwd: &Path, gate: ReadGate) -> ProjectGuidance {
        ProjectGuidance::for_project(cwd, gate)
    }

    fn on_subagent_end<'a>(&'a self, child: &'a str, status: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(store) = self.history.store() {
                let _ = store.end(child, status);
            }
            for listed in self.jobs.get().map(|jobs| jobs.session_jobs(child)).unwrap_or_default() {
                if !listed.detached {
                    listed.job.terminate(KILL_GRACE).await;
                }
            }
            // Nobody is left whom it could be told to.
            self.notices.drain(child, usize::MAX);
        })
    }
}
