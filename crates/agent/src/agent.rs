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

/// What a model must be told of its session.
pub type SessionReminder = Arc<dyn Fn(&Session) -> Option<String> + Send + Sync>;

/// What an agent is made of.
pub struct AgentParts {
    /// Runs its calls.
    pub engine: Engine,
    /// For whom they are made.
    pub caller: Caller,
    /// Answers it.
    pub model: Arc<dyn LanguageModel>,
    /// The tools that the model is told of.
    pub tools: Arc<[Value]>,
    /// What the model is told before anything else. It stays the same for the
    /// whole conversation, so that servers can keep what they read of it.
    pub system: String,
    /// Where what happens is written down.
    pub journal: Arc<dyn ConversationJournal>,
    /// Who wants to see it.
    pub observer: Arc<dyn AgentObserver>,
    /// How it goes about its work.
    pub params: ModelParams,
    /// What the model must be told again once a part of the conversation is
    /// gone.
    pub reminder: Option<SessionReminder>,
    /// What has happened meanwhile that the model should know; asked after
    /// calls.
    pub news: Option<SessionReminder>,
    /// What the project says that it works in.
    pub guidance: ProjectGuidance,
    /// How many agents are above it.
    pub depth: u8,
}

impl std::fmt::Debug for AgentParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Makeup")
            .field("model", &self.model)
            .field("tools", &self.tools.len())
            .field("manner", &self.params)
            .finish_non_exhaustive()
    }
}

/// How an agent goes about its work.
#[derive(Debug, Clone)]
pub struct ModelParams {
    /// The model, as its server names it.
    pub model: String,
    /// The most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// How hard it thinks.
    pub effort: Option<String>,
    /// The share of the model's window, from 0 to 1, above which a
    /// conversation is shortened.
    pub compaction_threshold: f64,
    /// Whether the model asks for tools in its text, having no other way.
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

/// An agent in a conversation.
pub struct Agent {
    pub(crate) parts: AgentParts,
    pub(crate) conversation: Conversation,
    pub(crate) interrupt: InterruptHandle,
    pub(crate) turns: u64,
    /// Whether it was told that the price is not known.
    pub(crate) price_warning_shown: bool,
    /// What was said to the model in a turn that ended before it could hear it.
    pub(crate) pending_input: Option<Vec<ContentPart>>,
}

impl Agent {
    /// An agent that goes on with this conversation; what is damaged in it is
    /// mended.
    pub fn new(makeup: AgentParts, history: Vec<ChatMessage>) -> Self {
        let (history, _) = repair_history(history);
        Self {
            parts: makeup,
            conversation: Conversation::new(history),
            interrupt: InterruptHandle::default(),
            turns: 0,
            price_warning_shown: false,
            pending_input: None,
        }
    }

    /// The conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What it is made of.
    pub fn parts(&self) -> &AgentParts {
        &self.parts
    }

    /// The same, to be changed between turns: another model, other tools.
    pub fn parts_mut(&mut self) -> &mut AgentParts {
        &mut self.parts
    }

    /// Goes on with another conversation, which is written down already.
    pub fn set_conversation(&mut self, history: Vec<ChatMessage>) {
        self.conversation = Conversation::new(repair_history(history).0);
        self.mark_context_replaced();
    }

    /// The handle to stop or steer it.
    pub fn interrupt(&self) -> InterruptHandle {
        self.interrupt.clone()
    }

    /// Adds a message, once it is written down.
    pub(crate) fn append_message(&mut self, message: ChatMessage) -> Result<(), JournalError> {
        self.parts.journal.write(crate::JournalEntry::Message(&message))?;
        self.conversation.push(message);
        Ok(())
    }

    /// The model took this for something that becomes no message.
    pub(crate) fn journal_usage(&self, usage: &TokenUsage) -> Result<(), JournalError> {
        if *usage == TokenUsage::default() {
            return Ok(());
        }
        self.parts.journal.write(crate::JournalEntry::Spent(usage))
    }

    /// The caller of this turn's calls.
    pub(crate) fn turn_caller(&self, budget: &AgentBudget) -> Caller {
        let mut caller = self.parts.caller.clone();
        caller.deadline = caller.deadline.into_iter().chain(budget.deadline()).min();
        caller.turn = Some(format!("{}-{}", caller.session.id(), self.turns).into());
        let AgentParts { engine, model, params: manner, observer: watcher, journal, depth, .. } =
            &self.parts;
        let standing = ParentAgent {
            budget: budget.clone(),
            depth: *depth,
            model: Arc::clone(model),
            params: manner.clone(),
            observer: Arc::clone(watcher),
            journal: Arc::clone(journal),
        };
        let ports = caller.ports.as_ref().unwrap_or_else(|| engine.ports());
        caller.ports = Some(Arc::new(Ports::clone(ports).with(Arc::new(standing))));
        caller
    }
}

/// A call as the engine takes it.
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
