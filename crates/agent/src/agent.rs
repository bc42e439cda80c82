//! An agent: a model, tools, and a conversation.

use std::sync::Arc;

use hermes_core::{Ports, Session, ToolCall};
use hermes_engine::{Caller, Engine};
use hermes_llm::{ChatMessage, LanguageModel, ContentPart, TokenUsage};
use serde_json::Value;

use crate::budget::Budget;
use crate::conversation::Conversation;
use crate::guidance::Guidance;
use crate::interrupt::Interrupt;
use crate::journal::{Journal, JournalError};
use crate::mend::mend;
use crate::standing::Standing;
use crate::watcher::Watcher;

/// What a model must be told of its session.
pub type Reminder = Arc<dyn Fn(&Session) -> Option<String> + Send + Sync>;

/// What an agent is made of.
pub struct Makeup {
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
    pub journal: Arc<dyn Journal>,
    /// Who wants to see it.
    pub watcher: Arc<dyn Watcher>,
    /// How it goes about its work.
    pub manner: Manner,
    /// What the model must be told again once a part of the conversation is
    /// gone.
    pub reminder: Option<Reminder>,
    /// What has happened meanwhile that the model should know; asked after
    /// calls.
    pub news: Option<Reminder>,
    /// What the project says that it works in.
    pub guidance: Guidance,
    /// How many agents are above it.
    pub depth: u8,
}

impl std::fmt::Debug for Makeup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Makeup")
            .field("model", &self.model)
            .field("tools", &self.tools.len())
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}

/// How an agent goes about its work.
#[derive(Debug, Clone)]
pub struct Manner {
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
    pub full: f64,
    /// Whether the model asks for tools in its text, having no other way.
    pub speaks_calls: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            model: String::new(),
            max_tokens: None,
            temperature: None,
            effort: None,
            full: 0.75,
            speaks_calls: false,
        }
    }
}

/// An agent in a conversation.
pub struct Agent {
    pub(crate) makeup: Makeup,
    pub(crate) conversation: Conversation,
    pub(crate) interrupt: Interrupt,
    pub(crate) turns: u64,
    /// Whether it was told that the price is not known.
    pub(crate) is_warned: bool,
    /// What was said to the model in a turn that ended before it could hear it.
    pub(crate) unheard: Option<Vec<ContentPart>>,
}

impl Agent {
    /// An agent that goes on with this conversation; what is damaged in it is
    /// mended.
    pub fn new(makeup: Makeup, history: Vec<ChatMessage>) -> Self {
        let (history, _) = mend(history);
        Self {
            makeup,
            conversation: Conversation::new(history),
            interrupt: Interrupt::default(),
            turns: 0,
            is_warned: false,
            unheard: None,
        }
    }

    /// The conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What it is made of.
    pub fn makeup(&self) -> &Makeup {
        &self.makeup
    }

    /// The same, to be changed between turns: another model, other tools.
    pub fn makeup_mut(&mut self) -> &mut Makeup {
        &mut self.makeup
    }

    /// Goes on with another conversation, which is written down already.
    pub fn set_conversation(&mut self, history: Vec<ChatMessage>) {
        self.conversation = Conversation::new(mend(history).0);
        self.has_left_context();
    }

    /// The handle to stop or steer it.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Adds a message, once it is written down.
    pub(crate) fn add(&mut self, message: ChatMessage) -> Result<(), JournalError> {
        self.makeup.journal.write(crate::Entry::Message(&message))?;
        self.conversation.push(message);
        Ok(())
    }

    /// The model took this for something that becomes no message.
    pub(crate) fn spent(&self, usage: &TokenUsage) -> Result<(), JournalError> {
        if *usage == TokenUsage::default() {
            return Ok(());
        }
        self.makeup.journal.write(crate::Entry::Spent(usage))
    }

    /// The caller of this turn's calls.
    pub(crate) fn caller(&self, budget: &Budget) -> Caller {
        let mut caller = self.makeup.caller.clone();
        caller.deadline = caller.deadline.into_iter().chain(budget.deadline()).min();
        caller.turn = Some(format!("{}-{}", caller.session.id(), self.turns).into());
        let Makeup { engine, model, manner, watcher, journal, depth, .. } = &self.makeup;
        let standing = Standing {
            budget: budget.clone(),
            depth: *depth,
            model: Arc::clone(model),
            manner: manner.clone(),
            watcher: Arc::clone(watcher),
            journal: Arc::clone(journal),
        };
        let ports = caller.ports.as_ref().unwrap_or_else(|| engine.ports());
        caller.ports = Some(Arc::new(Ports::clone(ports).with(Arc::new(standing))));
        caller
    }
}

/// A call as the engine takes it.
pub(crate) fn call_of(asked: &hermes_llm::RequestedCall) -> ToolCall {
    let text = if asked.arguments.trim().is_empty() { "{}" } else { &asked.arguments };
    ToolCall::from_text(&asked.id, &asked.name, text)
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.makeup.model)
            .field("messages", &self.conversation.messages().len())
            .finish_non_exhaustive()
    }
}
