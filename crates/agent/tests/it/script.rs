//! A model that follows a script, and an agent that talks to it.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream;
use hermes_agent::{
    Agent, AgentEvent, AgentObserver, AgentParts, ConversationJournal, JournalEntry, JournalError,
    ModelParams, ProjectGuidance,
};
use hermes_core::{BoxFuture, DynTool};
use hermes_engine::{CallEvent, Caller, Engine};
use hermes_llm::{
    ChatMessage, FinishReason, LanguageModel, ModelError, ModelRequest, ReplyEvent, ReplyStream,
    TokenUsage,
};
use parking_lot::Mutex;
use tempfile::TempDir;

/// What the model does when it is asked.
pub(crate) enum Act {
    /// It answers with these, and says how it ended.
    Says(Vec<ReplyEvent>),
    /// The stream ends like this.
    Breaks(Vec<ReplyEvent>, Option<ModelError>),
    /// It does not answer at all.
    Fails(ModelError),
    /// It begins, and goes on for ever.
    Hangs(Vec<ReplyEvent>),
}

#[derive(Default)]
pub(crate) struct Scripted {
    acts: Mutex<VecDeque<Act>>,
    pub(crate) asked: Mutex<Vec<ModelRequest>>,
    pub(crate) window: Option<u64>,
    /// Whether another model stands behind it.
    pub(crate) others: bool,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn window(&self) -> Option<u64> {
        self.window
    }

    fn has_fallback(&self) -> bool {
        self.others
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>> {
        Box::pin(async move {
            self.asked.lock().push(request.clone());
            let act = self.acts.lock().pop_front().expect("a request too many");
            let events = |events: Vec<ReplyEvent>| stream::iter(events.into_iter().map(Ok));
            Ok(match act {
                Act::Says(said) => events(said).boxed(),
                Act::Breaks(said, fault) => {
                    events(said).chain(stream::iter(fault.map(Err))).boxed()
                }
                Act::Fails(fault) => return Err(fault),
                Act::Hangs(said) => events(said).chain(stream::pending()).boxed(),
            })
        })
    }
}

/// Everything that was written down: messages, and what was spent beside them.
#[derive(Default)]
pub(crate) struct Book(pub(crate) Mutex<Vec<ChatMessage>>, pub(crate) Mutex<TokenUsage>);

impl Book {
    /// The calls whose results are in it.
    pub(crate) fn results(&self) -> Vec<String> {
        let book = self.0.lock();
        book.iter().filter_map(call_id).map(str::to_owned).collect()
    }
}

impl ConversationJournal for Book {
    fn write(&self, entry: JournalEntry<'_>) -> Result<(), JournalError> {
        match entry {
            JournalEntry::Message(message) => self.0.lock().push(message.clone()),
            JournalEntry::Revised(message) => {
                let mut book = self.0.lock();
                book.retain(|kept| call_id(kept).is_none() || call_id(kept) != call_id(message));
                book.push(message.clone());
            }
            JournalEntry::Compressed(all) => *self.0.lock() = all.to_vec(),
            JournalEntry::Spent(usage) => *self.1.lock() += *usage,
        }
        Ok(())
    }
}

fn call_id(message: &ChatMessage) -> Option<&str> {
    match message {
        ChatMessage::Tool(answer) => Some(&answer.call_id),
        _ => None,
    }
}

/// Everything that was shown, in words.
#[derive(Default)]
pub(crate) struct Eyes(pub(crate) Mutex<Vec<String>>);

impl AgentObserver for Eyes {
    fn on_event(&self, notice: &AgentEvent<'_>) {
        let words = match notice {
            AgentEvent::Text(text) => format!("text {text}"),
            AgentEvent::Call(CallEvent::Started(begun)) => format!("call {}", begun.tool),
            AgentEvent::Call(CallEvent::Ended { result, .. }) => {
                format!("result {}", result.is_success())
            }
            AgentEvent::AnswerDiscarded { .. } => "again".to_owned(),
            AgentEvent::Compressed { .. } => "compressed".to_owned(),
            AgentEvent::Warning(text) => format!("warning {text}"),
            _ => return,
        };
        self.0.lock().push(words);
    }
}

pub(crate) struct Scene {
    pub(crate) dir: TempDir,
    pub(crate) model: Arc<Scripted>,
    pub(crate) book: Arc<Book>,
    pub(crate) eyes: Arc<Eyes>,
    pub(crate) agent: Agent,
}

impl Scene {
    pub(crate) fn new(acts: Vec<Act>) -> Self {
        Self::with(Scripted { acts: Mutex::new(acts.into()), ..Scripted::default() }, Vec::new())
    }

    pub(crate) fn with(model: Scripted, history: Vec<ChatMessage>) -> Self {
        Self::fitted(model, history, Arc::default(), Vec::new())
    }

    /// With an agent made of other parts.
    pub(crate) fn with_parts(self, change: impl FnOnce(&mut AgentParts)) -> Self {
        let Self { dir, model, book, eyes, agent } = self;
        let caller = Caller::new(dir.path());
        let mut makeup = AgentParts {
            engine: agent.parts().engine.clone(),
            caller,
            model: Arc::clone(&model) as Arc<dyn LanguageModel>,
            tools: Arc::new([]),
            system: String::new(),
            journal: Arc::clone(&book) as Arc<dyn ConversationJournal>,
            observer: Arc::clone(&eyes) as Arc<dyn AgentObserver>,
            params: ModelParams::default(),
            reminder: None,
            news: None,
            guidance: ProjectGuidance::default(),
            depth: 0,
        };
        change(&mut makeup);
        let agent = Agent::new(makeup, Vec::new());
        Self { dir, model, book, eyes, agent }
    }

    /// With these tools beside those for files.
    pub(crate) fn fitted(
        model: Scripted,
        history: Vec<ChatMessage>,
        book: Arc<Book>,
        tools: Vec<Arc<dyn DynTool>>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::builder()
            .tools([hermes_tools_file::tools(), tools].concat())
            .spill_to(dir.path().join(".spill"))
            .build()
            .unwrap();
        let (model, eyes) = (Arc::new(model), Arc::<Eyes>::default());
        let makeup = AgentParts {
            engine,
            caller: Caller::new(dir.path()),
            model: Arc::clone(&model) as Arc<dyn LanguageModel>,
            tools: Arc::new([]),
            system: "You have hands.".to_owned(),
            journal: Arc::clone(&book) as Arc<dyn ConversationJournal>,
            observer: Arc::clone(&eyes) as Arc<dyn AgentObserver>,
            params: ModelParams::default(),
            reminder: None,
            news: None,
            guidance: ProjectGuidance::default(),
            depth: 0,
        };
        let agent = Agent::new(makeup, history);
        Self { dir, model, book, eyes, agent }
    }
}

pub(crate) fn acts(acts: Vec<Act>) -> Mutex<VecDeque<Act>> {
    Mutex::new(acts.into())
}

impl Scripted {
    pub(crate) fn following(list: Vec<Act>, window: Option<u64>) -> Self {
        Self { acts: acts(list), window, ..Self::default() }
    }
}

pub(crate) fn text(text: &str) -> Vec<ReplyEvent> {
    vec![
        ReplyEvent::Text(text.to_owned()),
        ReplyEvent::Usage(TokenUsage { input: 100, output: 10, ..TokenUsage::default() }),
        ReplyEvent::Finish(FinishReason::Stop),
    ]
}

/// The events of an answer that asks for tools: id, name, arguments.
pub(crate) fn calls(list: &[(&str, &str, &str)]) -> Vec<ReplyEvent> {
    let mut events = Vec::new();
    for (index, (id, name, arguments)) in list.iter().enumerate() {
        let (id, name) = (Some((*id).to_owned()), (*name).to_owned());
        events.push(ReplyEvent::Call { index, id, name });
        let (a, b) = arguments.split_at(arguments.len() / 2);
        events.push(ReplyEvent::Arguments { index, text: a.to_owned() });
        events.push(ReplyEvent::Arguments { index, text: b.to_owned() });
    }
    events.push(ReplyEvent::Finish(FinishReason::Calls));
    events
}
