//! An engine with sub-agents, and models that follow scripts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_agent::{
    AgentBudget, BudgetLimits, ConversationJournal, JournalEntry, JournalError, ModelParams,
    NullJournal, NullObserver, ParentAgent,
};
use hermes_core::{
    Approver, Availability, BoundCall, BoxFuture, CallStatus, DynTool, Effect, ErrorKind,
    NoticeQueue, NoticeSink, Ports, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec, WorkingDir,
};
use hermes_delegation::{
    DelegationSettings, MixtureSettings, ModelLookup, PoolGuard, SubagentHost, SubagentPool,
    SubagentSpec, tools,
};
use hermes_engine::{Caller, Engine, EngineBuilder};
use hermes_llm::{ApiDialect, ChatMessage, HttpClients, HttpModel, LanguageModel, ModelEndpoint};
use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply, ServerScript};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A model at an address.
pub(crate) fn model_at(url: &str, name: &str) -> Arc<dyn LanguageModel> {
    let mut endpoint = ModelEndpoint::new(ApiDialect::Chat, url, name);
    endpoint.prices =
        Some(hermes_llm::TokenPrices { input: 1_000.0, output: 1_000.0, ..Default::default() });
    Arc::new(HttpModel::new(Arc::new(HttpClients::default()), Arc::new(endpoint), None))
}

/// What sub-agents have written down: their parent, and what was said.
#[derive(Default)]
pub(crate) struct Books(pub(crate) Mutex<BTreeMap<String, (String, Vec<ChatMessage>)>>);

struct Page(Arc<Books>, String);

impl ConversationJournal for Page {
    fn write(&self, entry: JournalEntry<'_>) -> Result<(), JournalError> {
        let mut books = self.0.0.lock();
        let (_, messages) = books.get_mut(&self.1).unwrap();
        match entry {
            JournalEntry::Message(message) => messages.push(message.clone()),
            JournalEntry::Revised(ChatMessage::Tool(new)) => {
                let is_old = |m: &ChatMessage| matches!(m, ChatMessage::Tool(old) if old.call_id == new.call_id);
                messages.retain(|message| !is_old(message));
                messages.push(ChatMessage::Tool(new.clone()));
            }
            _ => {}
        }
        Ok(())
    }
}

/// What the program would supply.
#[derive(Default)]
pub(crate) struct Stock {
    pub(crate) models: BTreeMap<String, Arc<dyn LanguageModel>>,
    pub(crate) books: Arc<Books>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// The one session whose approver it is; none is all.
    pub(crate) person_of: Mutex<Option<String>>,
    /// At work now, and at most.
    pub(crate) working: AtomicUsize,
    pub(crate) peak: AtomicUsize,
    pub(crate) farewells: Mutex<Vec<String>>,
}

impl SubagentHost for Stock {
    fn model<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, ModelLookup> {
        Box::pin(async move {
            let name = name.unwrap_or("first");
            let model =
                self.models.get(name).ok_or_else(|| format!("no model is called {name}"))?;
            Ok((
                Arc::clone(model),
                ModelParams { model: name.to_owned(), ..ModelParams::default() },
            ))
        })
    }

    fn journal(&self, child: &SubagentSpec<'_>) -> Result<Arc<dyn ConversationJournal>, String> {
        let now = self.working.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
        assert!(!child.goal.contains("panic"), "as the task wants");
        let page = (child.parent.to_owned(), Vec::new());
        self.books.0.lock().insert(child.id.to_owned(), page);
        Ok(Arc::new(Page(Arc::clone(&self.books), child.id.to_owned())))
    }

    fn approver(&self, session: &str) -> Option<Arc<dyn Approver>> {
        let person_of = self.person_of.lock();
        self.approver.clone().filter(|_| person_of.as_deref().is_none_or(|own| own == session))
    }

    fn on_subagent_end<'a>(&'a self, _: &'a str, status: &'a str) -> BoxFuture<'a, ()> {
        self.working.fetch_sub(1, Ordering::SeqCst);
        self.farewells.lock().push(status.to_owned());
        Box::pin(async {})
    }
}

/// A tool of any name that does nothing, or brings in what a stranger wrote.
pub(crate) struct Prop {
    spec: ToolSpec,
    says: &'static str,
}

impl Prop {
    pub(crate) fn named(name: &'static str) -> Arc<dyn DynTool> {
        Arc::new(Self { spec: ToolSpec::new(name, name).read_only(), says: "nothing" })
    }

    pub(crate) fn stranger(name: &'static str, says: &'static str) -> Arc<dyn DynTool> {
        let spec = ToolSpec::new(name, name).read_only().open_world();
        Arc::new(Self { spec, says })
    }
}

impl DynTool for Prop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn bind(self: Arc<Self>, _: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        struct Bound(&'static str);
        impl BoundCall for Bound {
            fn effects(&self, _: &WorkingDir) -> Vec<Effect> {
                Vec::new()
            }

            fn run(
                self: Box<Self>,
                _: ToolContext,
            ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
                Box::pin(async move { ToolOutput::json(&json!({"text": self.0})) })
            }
        }
        Ok(Box::new(Bound(self.says)))
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        Box::pin(async { Availability::Ready })
    }
}

/// What a test changes of the usual.
pub(crate) struct Plan {
    pub(crate) settings: DelegationSettings,
    pub(crate) mixture: MixtureSettings,
    pub(crate) services: Stock,
    pub(crate) builder: EngineBuilder,
    pub(crate) allowance: BudgetLimits,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            settings: DelegationSettings::default(),
            mixture: MixtureSettings::default(),
            services: Stock::default(),
            builder: Engine::builder(),
            allowance: BudgetLimits::default(),
        }
    }
}

/// An agent that can have sub-agents, as far as its calls know.
pub(crate) struct Stage {
    pub(crate) dir: TempDir,
    pub(crate) server: ModelServer,
    pub(crate) services: Arc<Stock>,
    pub(crate) pool: Arc<SubagentPool>,
    pub(crate) engine: Engine,
    pub(crate) caller: Caller,
    pub(crate) budget: AgentBudget,
    pub(crate) notices: Arc<NoticeQueue>,
    pub(crate) serving: Option<PoolGuard>,
}

impl Stage {
    pub(crate) fn new(script: impl Into<ServerScript>) -> Self {
        Self::with(script, Plan::default())
    }

    pub(crate) fn with(script: impl Into<ServerScript>, plan: Plan) -> Self {
        let server = ModelServer::start(script);
        let url = server.url();
        Self::at(server, &url, plan)
    }

    /// With models somewhere else than at the server that plays the script.
    pub(crate) fn at(server: ModelServer, url: &str, plan: Plan) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut services = plan.services;
        let model = model_at(url, "first");
        services.models.entry("first".to_owned()).or_insert_with(|| Arc::clone(&model));
        let services = Arc::new(services);
        let supply = Arc::clone(&services) as Arc<dyn SubagentHost>;
        let pool = SubagentPool::new(supply, plan.settings, plan.mixture);
        let notices = Arc::new(NoticeQueue::new());
        let port = Arc::clone(&notices) as Arc<dyn NoticeSink>;
        let engine = plan
            .builder
            .tools(hermes_tools_file::tools())
            .tools(tools(&pool))
            .ports(Ports::new().with(port))
            .spill_to(dir.path().join(".spill"))
            .build()
            .unwrap();
        let serving = Some(pool.serve(engine.clone()));
        let budget = AgentBudget::new(plan.allowance);
        let mut caller = Caller::new(dir.path());
        let standing = ParentAgent {
            budget: budget.clone(),
            depth: 0,
            model,
            params: ModelParams::default(),
            observer: Arc::new(NullObserver),
            journal: Arc::new(NullJournal),
            turn: "turn".into(),
            turn_session: "session".into(),
        };
        caller.ports = Some(with_standing(&engine, standing));
        Self { dir, server, services, pool, engine, caller, budget, notices, serving }
    }

    /// A call by an agent with so many above it.
    pub(crate) fn at_depth(&self, depth: u8) -> Caller {
        let mut caller = self.caller.clone();
        let standing = caller.ports.as_ref().unwrap().get::<ParentAgent>().unwrap();
        let standing = ParentAgent { depth, ..ParentAgent::clone(&standing) };
        caller.ports = Some(with_standing(&self.engine, standing));
        caller
    }

    pub(crate) async fn result(&self, arguments: Value) -> ToolResult {
        self.result_of(arguments, &self.caller).await
    }

    pub(crate) async fn result_of(&self, arguments: Value, caller: &Caller) -> ToolResult {
        let call = ToolCall::new("call_1", "delegate_task", arguments);
        self.engine.call(call, caller).await
    }

    /// What is answered to a call that goes well.
    pub(crate) async fn delegate(&self, arguments: Value) -> Value {
        let result = self.result(arguments).await;
        assert!(result.is_success(), "{}", result.content);
        json(&result)
    }

    /// What is answered to a call that is stopped.
    pub(crate) async fn stopped(&self, arguments: Value) -> Value {
        let result = self.result(arguments).await;
        assert_eq!(result.status, CallStatus::Error(ErrorKind::Cancelled), "{}", result.content);
        json(&result)
    }

    /// What is answered to a call that does not.
    pub(crate) async fn refusal(&self, arguments: Value) -> Value {
        let result = self.result(arguments).await;
        assert!(!result.is_success(), "{}", result.content);
        json(&result)
    }

    /// The names of the tools that the model was told of, for the requests
    /// that contain this.
    pub(crate) fn offered(&self, part: &str) -> Vec<String> {
        let asked = self.server.model_requests();
        let request = asked.iter().find(|body| body.to_string().contains(part)).unwrap();
        let tools = request["tools"].as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }
}

fn with_standing(engine: &Engine, standing: ParentAgent) -> Arc<Ports> {
    Arc::new(Ports::clone(engine.ports()).with(Arc::new(standing)))
}

pub(crate) fn json(result: &ToolResult) -> Value {
    serde_json::from_str(&result.content).unwrap()
}

/// What the sub-agent with this goal says, after so many tokens.
pub(crate) fn says(goal: &str, text: &str, tokens: u64) -> ScriptedReply {
    let usage = ReplyStep::Usage { input: tokens, output: 10, cached: 0, cost: None };
    ScriptedReply::from_steps([ReplyStep::Text(text.to_owned()), usage])
        .when(format!("Your task: {goal}"))
}

/// What the sub-agent with this goal calls.
pub(crate) fn calls(goal: &str, tool: &str, arguments: &Value) -> ScriptedReply {
    ScriptedReply::calls(tool, &arguments.to_string()).when(format!("Your task: {goal}"))
}

/// A model server that begins to answer and never ends. It tells when a
/// request has come, and when a connection was closed on it.
pub(crate) async fn endless() -> (String, mpsc::UnboundedReceiver<&'static str>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (tell, shown) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut bytes = [0; 65_536];
                let mut seen = String::new();
                while !seen.contains("\"messages\"") {
                    let count = stream.read(&mut bytes).await.unwrap_or(0);
                    if count == 0 {
                        return;
                    }
                    seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                let word = json!({"choices": [{"index": 0, "delta": {"content": "Well"}}]});
                let _ = stream.write_all(format!("{head}data: {word}\n\n").as_bytes()).await;
                let _ = tell.send("asked");
                while stream.read(&mut bytes).await.unwrap_or(0) > 0 {}
                let _ = tell.send("closed");
            });
        }
    });
    (url, shown)
}
