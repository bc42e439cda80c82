//! Services for sub-agents: models, sessions, approvers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes::Hermes;
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

/// Grace period for a finished sub-agent's processes to exit.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// Implements the host of sub-agents.
pub(crate) struct SubagentServices {
    models: ModelFinder,
    history: HomeHistory,
    /// Jobs and notices of the session, once they exist.
    attached: OnceLock<(Arc<JobRegistry>, Arc<NoticeQueue>)>,
    /// Whether an agent has found a model.
    has_model: AtomicBool,
    approvers: Mutex<HashMap<String, Arc<dyn Approver>>>,
}

impl SubagentServices {
    pub(crate) fn new(home: &HermesHome, models: ModelFinder) -> Arc<Self> {
        Arc::new(Self {
            models,
            history: HomeHistory::for_home(home.root()),
            attached: OnceLock::new(),
            has_model: AtomicBool::new(false),
            approvers: Mutex::default(),
        })
    }

    /// Sets the jobs and notices that sub-agents share with the session.
    pub(crate) fn attach(&self, hermes: &Hermes) {
        let _ = self.attached.set((Arc::clone(hermes.jobs()), Arc::clone(hermes.notices())));
    }

    /// Registers the approver of an agent's session, and that a model is
    /// available.
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
        Availability::missing("no model is configured", SETUP_HINT)
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
        todo_reminder()
    }

    fn event_reminder(&self) -> Option<SessionReminder> {
        self.attached.get().map(|(_, notices)| notice_reminder(notices))
    }

    fn guidance(&self, cwd: &Path, gate: ReadGate) -> ProjectGuidance {
        ProjectGuidance::for_project(cwd, gate)
    }

    fn on_subagent_end<'a>(&'a self, child: &'a str, status: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(store) = self.history.store() {
                let _ = store.end(child, status);
            }
            let Some((jobs, notices)) = self.attached.get() else { return };
            for listed in jobs.session_jobs(child) {
                if !listed.detached {
                    listed.job.terminate(KILL_GRACE).await;
                }
            }
            // The sub-agent is gone, so no one reads its notices.
            notices.drain(child, usize::MAX);
        })
    }
}
