//! An agent: a model, tools, and a conversation.

use std::sync::Arc;

use hermes_core::{Ports, Session, ToolCall};
use hermes_engine::{Caller, Engine};
use hermes_llm::{ChatMessage, ContentPart, LanguageModel, TokenUsage};
use serde_json::Value;

use crate::budget::AgentBudget;
use crate::conversation::Conversation;
use crate::guidance::ProjectGuidance;
use crate::history_repair::repair_history;
use crate::interrupt::InterruptHandle;
use crate::journal::{ConversationJournal, JournalError};
use crate::observer::AgentObserver;
use crate::parent_agent::ParentAgent;

/// Builds text about the session for the model; `None` if there is nothing to
/// add.
pub type SessionReminder = Arc<dyn Fn(&Session) -> Option<String> + Send + Sync>;

/// Components of an agent.
pub struct AgentParts {
    /// Engine that runs the tool calls.
    pub engine: Engine,
    /// Caller that the tool calls are made for.
    pub caller: Caller,
    /// Model that generates the replies.
    pub model: Arc<dyn LanguageModel>,
    /// Tool definitions sent to the model.
    pub tools: Arc<[Value]>,
    /// System prompt. It stays the same for the whole conversation to keep the
    /// server's prompt cache valid.
    pub system: String,
    /// Journal of the conversation.
    pub journal: Arc<dyn ConversationJournal>,
    /// Observer of the agent's events.
    pub observer: Arc<dyn AgentObserver>,
    /// Parameters of model requests.
    pub params: ModelParams,
    /// Text appended to a compaction summary, because the original messages are
    /// gone.
    pub reminder: Option<SessionReminder>,
    /// Notices for the model, queried after calls.
    pub news: Option<SessionReminder>,
    /// Guidance files of the project.
    pub guidance: ProjectGuidance,
    /// Number of ancestor agents.
    pub depth: u8,
}

impl std::fmt::Debug for AgentParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentParts")
            .field("model", &self.model)
            .field("tools", &self.tools.len())
            .field("manner", &self.params)
            .finish_non_exhaustive()
    }
}

/// Parameters of model requests.
#[derive(Debug, Clone)]
pub struct ModelParams {
    /// Model name as the server knows it.
    pub model: String,
    /// Maximum tokens of a reply.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// Fraction of the model's context window, from 0 to 1, above which the
    /// conversation is compacted.
    pub compaction_threshold: f64,
    /// Whether the model writes tool calls in its text because it has no native
    /// ones.
    pub text_tool_calls: bool,
}

impl Default for ModelParams {
    fn default() -> Self {
        Self {
            model: String::new(),
            max_tokens: None,
            temperature: None,
            effort: None,
            compaction_threshold: 0.75,
            text_tool_calls: false,
        }
    }
}

/// An agent with its conversation.
pub struct Agent {
    pub(crate) parts: AgentParts,
    pub(crate) conversation: Conversation,
    pub(crate) interrupt: InterruptHandle,
    /// Id of the current turn, for undo. Unique, since a resumed session starts
    /// with a new agent.
    pub(crate) turn: Arc<str>,
    /// Whether the unknown-price warning was shown.
    pub(crate) price_warning_shown: bool,
    /// User input queued in a turn that ended before the model received it.
    pub(crate) pending_input: Option<Vec<ContentPart>>,
}

impl Agent {
    /// Creates an agent that continues `history` after repairing it.
    pub fn new(mut makeup: AgentParts, history: Vec<ChatMessage>) -> Self {
        let (history, _) = repair_history(history);
        // Files of the project and notes are part of it.
        makeup.system = makeup.engine.redact_prompt(&makeup.system);
        Self {
            parts: makeup,
            conversation: Conversation::new(history),
            interrupt: InterruptHandle::default(),
            turn: hermes_core::ids::unique_id().into(),
            price_warning_shown: false,
            pending_input: None,
        }
    }

    /// Returns the conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the agent's components.
    pub fn parts(&self) -> &AgentParts {
        &self.parts
    }

    /// Returns the components mutably, to change model or tools between turns.
    pub fn parts_mut(&mut self) -> &mut AgentParts {
        &mut self.parts
    }

    /// Replaces the conversation with one that is already journaled.
    pub fn set_conversation(&mut self, history: Vec<ChatMessage>) {
        self.conversation = Conversation::new(repair_history(history).0);
        self.mark_context_replaced();
    }

    /// Returns a handle to stop or steer the agent.
    pub fn interrupt(&self) -> InterruptHandle {
        self.interrupt.clone()
    }

    /// Journals a message, then appends it to the conversation.
    pub(crate) fn append_message(&mut self, message: ChatMessage) -> Result<(), JournalError> {
        self.parts.journal.write(crate::JournalEntry::Message(&message))?;
        self.conversation.push(message);
        Ok(())
    }

    /// Journals token usage of a request that produced no message.
    pub(crate) fn journal_usage(&self, usage: &TokenUsage) -> Result<(), JournalError> {
        if *usage == TokenUsage::default() {
            return Ok(());
        }
        self.parts.journal.write(crate::JournalEntry::Spent(usage))
    }

    /// Returns the caller for this turn's calls.
    pub(crate) fn turn_caller(&self, budget: &AgentBudget) -> Caller {
        let mut caller = self.parts.caller.clone();
        caller.deadline = caller.deadline.into_iter().chain(budget.deadline()).min();
        // A sub-agent works in the turn of its parent.
        let turn = Arc::clone(caller.turn.get_or_insert_with(|| Arc::clone(&self.turn)));
        let session: Arc<str> = caller.session.id().into();
        let turn_session = Arc::clone(caller.turn_session.get_or_insert(session));
        let AgentParts { engine, model, params: manner, observer: watcher, journal, depth, .. } =
            &self.parts;
        let standing = ParentAgent {
            budget: budget.clone(),
            depth: *depth,
            model: Arc::clone(model),
            params: manner.clone(),
            observer: Arc::clone(watcher),
            journal: Arc::clone(journal),
            turn,
            turn_session,
        };
        let ports = caller.ports.as_ref().unwrap_or_else(|| engine.ports());
        caller.ports = Some(Arc::new(Ports::clone(ports).with(Arc::new(standing))));
        caller
    }
}

/// Converts a requested call to an engine call.
pub(crate) fn to_tool_call(asked: &hermes_llm::RequestedCall) -> ToolCall {
    let text = if asked.arguments.trim().is_empty() { "{}" } else { &asked.arguments };
    ToolCall::from_text(&asked.id, &asked.name, text)
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.parts.model)
            .field("messages", &self.conversation.messages().len())
            .finish_non_exhaustive()
    }
}
