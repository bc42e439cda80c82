//! Many sub-agents at once in one process: how long it takes beside the time
//! that their model takes, and how much memory.
//!
//! `cargo run --release -p hermes-delegation --example bench_delegation -- 100`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use hermes_agent::{ConversationJournal, ModelParams, NullJournal};
use hermes_core::{BoxFuture, ToolCall};
use hermes_delegation::{
    DelegationSettings, MixtureSettings, ModelLookup, SubagentHost, SubagentPool, SubagentSpec,
    tools,
};
use hermes_engine::{Caller, Engine};
use hermes_llm::{ApiDialect, HttpClients, HttpModel, LanguageModel, ModelEndpoint};
use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use serde_json::{Value, json};

/// So long the model takes for each answer, in milliseconds.
const THINKS: u64 = 500;

struct Stock {
    model: Arc<dyn LanguageModel>,
    working: AtomicUsize,
    peak: AtomicUsize,
}

impl SubagentHost for Stock {
    fn model<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, ModelLookup> {
        Box::pin(async { Ok((Arc::clone(&self.model), ModelParams::default())) })
    }

    fn journal(&self, _: &SubagentSpec<'_>) -> Result<Arc<dyn ConversationJournal>, String> {
        let now = self.working.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
        Ok(Arc::new(NullJournal))
    }

    fn on_subagent_end<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, ()> {
        self.working.fetch_sub(1, Ordering::SeqCst);
        Box::pin(async {})
    }
}

#[tokio::main]
async fn main() {
    let wanted: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100);
    let dir = tempfile::tempdir().unwrap();
    let server = ModelServer::start(script(wanted));
    let endpoint = Arc::new(ModelEndpoint::new(ApiDialect::Chat, server.url(), "scripted"));
    let model: Arc<dyn LanguageModel> =
        Arc::new(HttpModel::new(Arc::new(HttpClients::default()), endpoint, None));
    let services =
        Arc::new(Stock { model, working: AtomicUsize::new(0), peak: AtomicUsize::new(0) });
    let settings = DelegationSettings { max_parallel: wanted, ..DelegationSettings::default() };
    let pool = SubagentPool::new(
        Arc::clone(&services) as Arc<dyn SubagentHost>,
        settings,
        MixtureSettings::default(),
    );
    let engine = Engine::builder()
        .tools(hermes_tools_file::tools())
        .tools(tools(&pool))
        .spill_to(dir.path().join(".spill"))
        .build()
        .unwrap();
    let _serving = pool.serve(engine.clone());
    let caller = Caller::new(dir.path());
    // One first, so that what is made once is there.
    delegate(&engine, &caller, &["warm up".to_owned()]).await;
    let before = memory("VmRSS");

    let goals: Vec<String> = (0..wanted).map(|at| format!("number {at}.")).collect();
    let began = Instant::now();
    let answer = delegate(&engine, &caller, &goals).await;
    let took = began.elapsed();
    let results = answer["results"].as_array().unwrap();
    let done = results.iter().filter(|report| report["status"] == "completed").count();
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    let model = 2 * THINKS;
    println!(
        "{done} of {wanted} sub-agents completed, {} at once",
        services.peak.load(Ordering::SeqCst)
    );
    println!("{} answers of the model, {} calls, {files} files", 2 * done, done);
    println!("took {} ms, of which the model {model} ms", took.as_millis());
    let most = memory("VmHWM");
    println!("memory: {before} kB before, {most} kB at most");
    println!(
        "{}",
        json!({ "metric": "agent.children", "n": done, "took_ms": took.as_secs_f64() * 1e3,
                "model_ms": model, "growth_bytes": (most - before) * 1024 })
    );
}

/// Each writes a file, and says so.
fn script(wanted: usize) -> Vec<ScriptedReply> {
    let mut scenes = vec![ScriptedReply::says("Warm.").when("Your task: warm up")];
    for at in 0..wanted {
        let goal = format!("Your task: number {at}.");
        let write = json!({"path": format!("{at}.txt"), "content": "done\n"}).to_string();
        let call = ReplyStep::call("write_file", &write);
        scenes.push(ScriptedReply::from_steps([ReplyStep::Wait(THINKS), call]).when(&goal));
        scenes.push(
            ScriptedReply::from_steps([ReplyStep::Wait(THINKS), ReplyStep::Text("Done.".into())])
                .when(&goal),
        );
    }
    scenes
}

async fn delegate(engine: &Engine, caller: &Caller, goals: &[String]) -> Value {
    let tasks: Vec<Value> =
        goals.iter().map(|goal| json!({"goal": goal, "toolsets": ["file"]})).collect();
    let call = ToolCall::new("call", "delegate_task", json!({"tasks": tasks}));
    let result = engine.call(call, caller).await;
    assert!(result.is_success(), "{}", result.content);
    // Long answers go to a file, but for their ends.
    let whole = result.spill_path.map(|path| std::fs::read_to_string(path).unwrap());
    serde_json::from_str(&whole.unwrap_or(result.content)).unwrap()
}

/// A figure of this process, in kB.
fn memory(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
