//! Builds an agent from a model, the selected tools, a system prompt, and a
//! recorded session.

use std::path::Path;
use std::sync::Arc;

use hermes::core::{NoticeQueue, Session};
use hermes::engine::{Caller, ResultSizeLimits, ToolDefinitions};
use hermes_agent::{
    Agent, AgentBudget, AgentEvent, AgentObserver, AgentParts, BudgetLimits, ProjectGuidance,
    SessionJournal, SessionReminder, SystemPrompt, policy_read_gate,
};
use hermes_history::{HistoryStore, HomeHistory, NewSession, Timestamp, format_local};
use hermes_llm::{ChatMessage, OnRetry, RetryEvent};
use hermes_memory::MemoryStore;
use hermes_store::regular_file;
use serde_json::Value;

use crate::app::AppServices;
use crate::args::ToolsetFilter;
use crate::command_error::CommandError;
use crate::commands::sessions;
use crate::mode::AgentMode;
use crate::models::SelectedModel;

/// Maximum number of notices passed to the model at once.
pub(crate) const MAX_NOTICES: usize = 20;

/// Options for starting an agent.
pub(crate) struct AgentOptions<'a> {
    /// Origin of the session: `chat`, `run`, …
    pub(crate) source: &'a str,
    /// The model; `None` for the default.
    pub(crate) model: Option<&'a str>,
    /// The selected tools.
    pub(crate) choice: &'a ToolsetFilter,
    /// Whether no user is available to answer questions.
    pub(crate) is_unattended: bool,
    /// How much the agent may do without asking.
    pub(crate) mode: AgentMode,
    /// Title of the session.
    pub(crate) title: Option<&'a str>,
    /// The session to resume.
    pub(crate) resume: Option<&'a str>,
    /// Whether the prompt includes the memory and the project guidance.
    pub(crate) has_local_context: bool,
    /// Observer of the agent's events.
    pub(crate) observer: Arc<dyn AgentObserver>,
}

/// An agent with its session.
pub(crate) struct AgentSession {
    pub(crate) agent: Agent,
    pub(crate) session: String,
    pub(crate) store: Arc<HistoryStore>,
    pub(crate) definitions: Arc<ToolDefinitions>,
    /// How the model was selected.
    pub(crate) model_origin: String,
    /// Warnings to show before the first turn.
    pub(crate) warnings: Vec<String>,
}

/// The conversation before a session is resumed.
#[derive(Default)]
struct PriorConversation {
    history: Vec<ChatMessage>,
    /// Id of the last stored message at the time of reading.
    last_message_id: i64,
    system: Option<String>,
    warning: Option<String>,
}

impl AppServices {
    /// Builds an agent, and starts or resumes its session.
    pub(crate) async fn start_agent(
        &self,
        caller: Caller,
        terms: AgentOptions<'_>,
    ) -> Result<AgentSession, CommandError> {
        let SelectedModel { found, params: manner } =
            self.models.find(terms.model, retry_callback(&terms.observer)).await?;
        self.subagent_services.begin_session(caller.session.id(), caller.approver.clone());
        let window = found.model.window();
        let (definitions, tools) = self.tool_definitions(terms.choice, window).await?;
        let mut caller = caller;
        caller.scope = Some(Arc::clone(&definitions.scope));
        caller.limits = window.map(|window| ResultSizeLimits::for_window(Some(window)));
        let store = self.open_history()?;
        let mut guidance = match terms.has_local_context {
            true => {
                let gate = policy_read_gate(self.engine(), &caller.session, &caller.cwd);
                ProjectGuidance::for_project(&caller.cwd, gate)
            }
            false => ProjectGuidance::default(),
        };
        let project = guidance.initial_text();
        let mut warnings = guidance.take_refused();
        let session = caller.session.id().to_owned();
        let PriorConversation { history, last_message_id: last, system, warning } =
            match terms.resume {
                Some(_) => load_prior(&store, &session, &caller.cwd)?,
                None => PriorConversation::default(),
            };
        warnings.extend(warning);
        let mut system = match system {
            Some(system) => system,
            None => {
                self.build_prompt(&caller, &definitions, project, &terms, &mut warnings).render()
            }
        };
        warnings.extend(full_context_warning(window, system.len() + definitions.json.len()));
        if terms.resume.is_none() {
            let beginning = NewSession {
                id: Some(session.clone()),
                source: terms.source.to_owned(),
                title: terms.title.map(str::to_owned),
                cwd: Some(caller.cwd.display().to_string()),
                model: Some(manner.model.clone()),
                system: Some(system.clone()),
                parent: None,
            };
            store.begin(&beginning)?;
        }
        // Not stored: the session may be resumed in another mode.
        terms.mode.instruct(&mut system);
        let journal = SessionJournal::resume_after(Arc::clone(&store), session.clone(), last);
        let makeup = AgentParts {
            engine: self.engine().clone(),
            caller,
            model: found.model,
            tools,
            system,
            journal: Arc::new(journal),
            observer: terms.observer,
            params: manner,
            reminder: todo_reminder(),
            news: Some(notice_reminder(self.notices())),
            guidance,
            depth: 0,
        };
        let agent = Agent::new(makeup, history);
        Ok(AgentSession {
            agent,
            session,
            store,
            definitions,
            model_origin: found.source,
            warnings,
        })
    }

    /// Resolves a session id, a prefix of one, or `last`. Imports a conversation
    /// of Hermes Agent.
    pub(crate) fn find_session(&self, id: &str) -> Result<String, CommandError> {
        let history = HomeHistory::for_home(self.home().root());
        Ok(sessions::find_session(&history, id)?.id)
    }

    /// Opens the conversation history.
    pub(crate) fn open_history(&self) -> Result<Arc<HistoryStore>, CommandError> {
        Ok(HomeHistory::for_home(self.home().root()).store()?)
    }

    /// Returns the definitions of the selected tools for the model.
    pub(crate) async fn tool_definitions(
        &self,
        choice: &ToolsetFilter,
        window: Option<u64>,
    ) -> Result<(Arc<ToolDefinitions>, Arc<[Value]>), CommandError> {
        let selection = self.agent_selection(choice);
        let definitions = self.engine().definitions(&selection, self.deferral(window)).await;
        let definitions = definitions.map_err(|error| self.unknown_toolset_error(error))?;
        let tools: Vec<Value> = serde_json::from_str(&definitions.json).unwrap_or_default();
        Ok((definitions, tools.into()))
    }

    fn build_prompt(
        &self,
        caller: &Caller,
        definitions: &ToolDefinitions,
        project: Option<String>,
        terms: &AgentOptions<'_>,
        warnings: &mut Vec<String>,
    ) -> SystemPrompt {
        let place = &self.config.settings.terminal.backend;
        let mut surroundings = vec![format!("Working directory: {}", caller.cwd.display())];
        match place.as_str() {
            "local" => surroundings.push(format!(
                "System: {} {}",
                std::env::consts::OS,
                std::env::consts::ARCH
            )),
            elsewhere => surroundings.push(format!(
                "Backend for commands and files (not the user's machine): {elsewhere}"
            )),
        }
        let now = Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX);
        surroundings.push(format!("Today: {}", &format_local(now)[..10]));
        let remembers = definitions.scope.contains("memory") && terms.has_local_context;
        let memory = self.engine().ports().get::<MemoryStore>().filter(|_| remembers);
        let memory = memory.map(|memory| memory.snapshot());
        warnings.extend(memory.iter().flat_map(|memory| memory.warnings.iter().cloned()));
        SystemPrompt {
            identity: self.persona(warnings),
            environment: surroundings,
            has_tools: !definitions.visible.is_empty(),
            has_hidden_tools: !definitions.deferred.is_empty(),
            is_unattended: terms.is_unattended,
            project,
            memory: memory.map(|memory| memory.text()),
            extra: None,
        }
    }

    /// Reads the user's description of the agent from `SOUL.md`.
    fn persona(&self, warnings: &mut Vec<String>) -> Option<String> {
        let path = self.home().root().join("SOUL.md");
        match regular_file::read(&path) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned())
                .filter(|text| !text.trim().is_empty()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                warnings.push(format!("{} cannot be read: {error}.", path.display()));
                None
            }
        }
    }

    /// Returns the budget of a task.
    pub(crate) fn budget(&self, turns: Option<u32>, cost: Option<f64>) -> AgentBudget {
        let said = u32::try_from(self.config.settings.agent.max_turns).ok();
        AgentBudget::new(BudgetLimits { rounds: turns.or(said), cost, ..BudgetLimits::default() })
    }
}

/// Returns a warning if the prompt takes more than half of the context window.
fn full_context_warning(window: Option<u64>, length: usize) -> Option<String> {
    let (window, taken) = (window?, length as u64 / 4);
    (taken > window / 2).then(|| {
        format!(
            "Instructions and tools take about {taken} of the {window} tokens of the model's \
             context window. Select fewer tools with --toolsets, or use a larger context \
             window."
        )
    })
}

/// Returns a reminder with pending notices, such as finished processes.
pub(crate) fn notice_reminder(notices: &Arc<NoticeQueue>) -> SessionReminder {
    let notices = Arc::clone(notices);
    Arc::new(move |session: &Session| notices_text(&notices.drain(session.id(), MAX_NOTICES)))
}

/// Formats notices for the model; `None` if there are none.
pub(crate) fn notices_text(news: &[hermes::core::ProcessNotice]) -> Option<String> {
    let shown = serde_json::to_string(news).ok()?;
    (!news.is_empty()).then(|| format!("[Meanwhile: {shown}]"))
}

/// Summarizes stopped background sub-agents in one line; `None` if there are
/// none.
pub(crate) fn stopped_text(stopped: &[(String, String)]) -> Option<String> {
    let what = match stopped.len() {
        0 => return None,
        1 => "Stopped a sub-agent that was running in the background".to_owned(),
        count => format!("Stopped {count} sub-agents that were running in the background"),
    };
    let one = |(handle, goal): &(String, String)| {
        format!("{handle}: {}", hermes::core::text::excerpt(goal, 60))
    };
    Some(format!("{what} ({}).", stopped.iter().map(one).collect::<Vec<_>>().join("; ")))
}

/// Returns a reminder with the open todo items.
pub(crate) fn todo_reminder() -> Option<SessionReminder> {
    #[cfg(feature = "agent")]
    return Some(Arc::new(|session: &Session| {
        hermes_tools_agent::todo_reminder(session).ok().flatten()
    }));
    #[cfg(not(feature = "agent"))]
    None
}

/// The lines of the task list.
pub(crate) fn todo_lines(session: &Session) -> Vec<String> {
    #[cfg(feature = "agent")]
    return hermes_tools_agent::todo_lines(session).unwrap_or_default();
    #[cfg(not(feature = "agent"))]
    {
        let _ = session;
        Vec::new()
    }
}

/// Returns a callback that reports model retries to the observer.
pub(crate) fn retry_callback(watcher: &Arc<dyn AgentObserver>) -> OnRetry {
    let watcher = Arc::clone(watcher);
    Arc::new(move |setback: &RetryEvent<'_>| watcher.on_event(&AgentEvent::Retry(setback)))
}

/// Loads the conversation of a session and its system prompt.
fn load_prior(
    store: &HistoryStore,
    session: &str,
    cwd: &Path,
) -> Result<PriorConversation, CommandError> {
    let reader = store.reader();
    let info = reader.session(session)?;
    let last = reader.last_message()?;
    let history = reader.conversation(&info)?;
    let mut system = reader.system_prompt(&info)?;
    store.reopen(session)?;
    let mut warning = None;
    let before = info.cwd.filter(|before| Path::new(before) != cwd);
    if let (Some(before), Some(system)) = (before, &mut system) {
        let now = cwd.display();
        warning = Some(format!("This session was started in {before}; it continues in {now}."));
        system.push_str(&format!("\n\nThe working directory has changed: {now}"));
    }
    Ok(PriorConversation { history, last_message_id: last, system, warning })
}
