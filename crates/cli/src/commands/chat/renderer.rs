//! Renders agent events on the chat screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hermes::core::Session;
use hermes::engine::{CallEvent, Engine};
use hermes_agent::{AgentBudget, AgentEvent, AgentObserver};
use hermes_chat::{ChatScreen, StatusLine, TodoLine, TodoState};
use hermes_llm::{RetryAction, TokenUsage};
use parking_lot::Mutex;

use crate::call_summary;
use crate::mode::AgentMode;

/// Agent observer that draws events on the screen.
pub(crate) struct EventRenderer {
    screen: ChatScreen,
    engine: Engine,
    session: Session,
    context_used: AtomicU64,
    /// Token usage of the session before this process resumed it.
    earlier_usage: Mutex<TokenUsage>,
    /// Budgets of the turns so far; sub-agents and summaries are charged to
    /// them too.
    budgets: Mutex<Vec<AgentBudget>>,
    /// Status line as last shown.
    status: Mutex<StatusLine>,
}

impl EventRenderer {
    pub(crate) fn new(screen: ChatScreen, engine: Engine, session: Session) -> Arc<Self> {
        Arc::new(Self {
            screen,
            engine,
            session,
            context_used: AtomicU64::new(0),
            earlier_usage: Mutex::default(),
            budgets: Mutex::default(),
            status: Mutex::default(),
        })
    }

    /// Sets the usage that the session had when it was resumed.
    pub(crate) fn resume_from(&self, before: TokenUsage) {
        *self.earlier_usage.lock() = before;
    }

    /// Returns the token usage before this process resumed the session.
    pub(crate) fn earlier_usage(&self) -> TokenUsage {
        *self.earlier_usage.lock()
    }

    /// Returns the session's total token usage.
    pub(crate) fn total_usage(&self) -> TokenUsage {
        let budgets = self.budgets.lock();
        let mut sum = self.earlier_usage();
        budgets.iter().for_each(|budget| sum += budget.spent().usage);
        sum
    }

    /// Includes the spending of this budget in the total usage.
    pub(crate) fn track_budget(&self, budget: &AgentBudget) {
        let mut budgets = self.budgets.lock();
        budgets.push(budget.clone());
    }

    /// Returns the context size of the last reply, as counted by the server.
    pub(crate) fn context_used(&self) -> u64 {
        self.context_used.load(Ordering::Relaxed)
    }

    /// Updates the status line.
    pub(crate) fn update_status(
        &self,
        model: &str,
        used: u64,
        window: Option<u64>,
        mode: AgentMode,
    ) {
        let status = StatusLine {
            model: model.to_owned(),
            context_used: used,
            context_total: window.unwrap_or_default(),
            cost: self.total_usage().cost,
            extra: vec![mode.label()],
        };
        *self.status.lock() = status.clone();
        self.screen.status(status);
    }

    /// Redraws the status line with another mode.
    pub(crate) fn show_mode(&self, mode: AgentMode) {
        let mut status = self.status.lock();
        status.extra = vec![mode.label()];
        self.screen.status(status.clone());
    }

    /// Shows the current plan; returns whether one exists.
    pub(crate) fn show_plan(&self) -> bool {
        let lines = crate::agent_session::todo_lines(&self.session);
        let plan: Vec<TodoLine> = lines.iter().filter_map(|line| parse_todo(line)).collect();
        self.screen.todo(&plan);
        !plan.is_empty()
    }
}

impl AgentObserver for EventRenderer {
    fn can_retract(&self) -> bool {
        false
    }

    fn on_event(&self, notice: &AgentEvent<'_>) {
        let screen = &self.screen;
        match notice {
            AgentEvent::RoundStarted { .. } => screen.working(Some("thinking")),
            AgentEvent::Text(text) => screen.text(text),
            AgentEvent::Thought(text) => screen.thought(text),
            AgentEvent::Answered { usage, .. } => {
                screen.working(None);
                screen.end_text();
                self.context_used.store(usage.input + usage.output, Ordering::Relaxed);
            }
            AgentEvent::AnswerDiscarded { why } => screen.warn(&format!("Retrying: {why}")),
            AgentEvent::Call(CallEvent::Started(begun)) if begun.parent.is_none() => {
                let snapshot = self.engine.snapshot();
                let emoji = snapshot.find(begun.tool).map(|entry| entry.spec().emoji.to_string());
                let emoji = emoji.unwrap_or_else(|| "⚡".to_owned());
                screen.call_began(
                    begun.call,
                    &emoji,
                    begun.tool,
                    &call_summary::summarize_arguments(begun.arguments),
                );
            }
            AgentEvent::Call(CallEvent::Progress { call, progress, .. }) => {
                screen.call_progress(call, &progress.message, progress.fraction);
            }
            AgentEvent::Call(CallEvent::Ended { result, parent: None }) => {
                let note = call_summary::result_note(result);
                let (id, is_good) = (&result.tool_call_id, call_summary::is_success(result));
                screen.call_ended(id, is_good, result.duration, &note);
                if result.name == "todo" && result.is_success() {
                    self.show_plan();
                }
            }
            AgentEvent::Compressed { before, after } => {
                screen.note(&format!("Compacted the conversation from {before} to {after} tokens."))
            }
            AgentEvent::Retry(setback) => {
                let remedy = match &setback.action {
                    RetryAction::Wait(pause) => {
                        format!("retrying in {}", call_summary::format_duration(*pause))
                    }
                    RetryAction::NextKey => "retrying with the next key".to_owned(),
                    RetryAction::NextModel(model) => format!("falling back to {model}"),
                };
                screen.warn(&format!("{}: {}; {remedy}", setback.model, setback.error));
            }
            AgentEvent::Warning(text) => screen.warn(text),
            AgentEvent::Call(_) => {}
        }
    }
}

/// Parses a line of the plan: `[x] text`.
fn parse_todo(line: &str) -> Option<TodoLine> {
    let (mark, text) = line.split_at_checked(4)?;
    let state = match mark {
        "[x] " => TodoState::Done,
        "[>] " => TodoState::Doing,
        "[-] " => TodoState::Dropped,
        _ => TodoState::Open,
    };
    Some(TodoLine { state, text: text.to_owned() })
}
