//! In-process measurements for `bench/`: one JSON line a metric. Every call
//! goes through all stages, with a policy, the loop guard and the audit log.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes::audit::AuditLog;
use hermes::core::{
    CallProposal, DynTool, Effect, JsonSchema, Policy, Resource, Scope, Session, Tool,
    ToolAnnotations, ToolCall, ToolContext, ToolError, ToolSpec, WorkingDir, erase,
};
use hermes::engine::toolsets::ToolSelection;
use hermes::engine::{Caller, DeferralSettings, Engine};
use hermes::policy::{
    EnforcementSettings, PathVariables, PermissionPolicy, PolicySources, SavedRules, TicketStore,
};
use hermes::schema::{Schema, coerce_arguments};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

struct Echo(ToolSpec);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only reading them is measured")]
struct EchoArgs {
    /// Text.
    text: String,
    /// Count.
    count: Option<i64>,
    /// Flag.
    flag: Option<bool>,
    /// Tags.
    tags: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Done {
    ok: bool,
}

impl Tool for Echo {
    type Args = EchoArgs;
    type Output = Done;

    fn spec() -> ToolSpec {
        ToolSpec::new("bench_echo", "bench").description("Answers.")
    }

    fn effects(&self, _: &EchoArgs, _: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: EchoArgs, _: &ToolContext) -> Result<Done, ToolError> {
        black_box((args, &self.0));
        Ok(Done { ok: true })
    }
}

struct Noop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

impl Tool for Noop {
    type Args = NoArgs;
    type Output = Done;

    fn spec() -> ToolSpec {
        ToolSpec::new("bench_noop", "bench").description("Answers.")
    }

    fn effects(&self, _: &NoArgs, _: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, _: NoArgs, _: &ToolContext) -> Result<Done, ToolError> {
        Ok(Done { ok: true })
    }
}

/// A tool of another name, to fill the registry.
struct Filler(ToolSpec, Arc<dyn DynTool>);

impl DynTool for Filler {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn parameters(&self) -> Value {
        self.1.parameters()
    }
    fn bind(
        self: Arc<Self>,
        arguments: &Value,
    ) -> Result<Box<dyn hermes::core::BoundCall>, ToolError> {
        Arc::clone(&self.1).bind(arguments)
    }
    fn check(&self) -> hermes::core::BoxFuture<'_, hermes::core::Availability> {
        self.1.check()
    }
}

fn native() -> Value {
    json!({ "text": "hello", "count": 3, "flag": true, "tags": ["a", "b"] })
}

fn strings() -> Value {
    json!({ "text": "hello", "count": "3", "flag": "true", "tags": "[\"a\",\"b\"]" })
}

fn engine(extra: usize, log: &std::path::Path) -> Engine {
    let echo = erase(Echo(Echo::spec()));
    let mut tools = vec![Arc::clone(&echo), erase(Noop)];
    for i in 0..extra {
        let spec =
            ToolSpec::new(format!("filler_{i}"), "filler").description("Fills the registry.");
        tools.push(Arc::new(Filler(spec, Arc::clone(&echo))));
    }
    Engine::builder()
        .analyzer(std::sync::Arc::new(hermes::policy::ShellAnalyzer))
        .tools(tools)
        .tools(
            [hermes_tools_agent::tools(), hermes_tools_file::tools(), hermes_tools_system::tools()]
                .concat(),
        )
        .policy(Arc::new(permissions(log)))
        .observer(Arc::new(hermes::AuditRecorder::new(AuditLog::open(log.join("audit")))))
        .build()
        .unwrap()
}

/// The default profile, in a workspace of its own.
fn permissions(dir: &std::path::Path) -> PermissionPolicy {
    let places = PathVariables {
        workspace: Some(dir.join("ws/a/b/c")),
        home: Some(dir.join("home")),
        hermes: dir.join("hermes"),
        temp: vec!["/var/tmp".into()],
    };
    std::fs::create_dir_all(dir.join("ws/a/b/c/src")).unwrap();
    let sources = PolicySources::load(&dir.join("none.yaml"), None, places).unwrap();
    let saved = SavedRules::load(dir.join("approvals.json")).unwrap();
    let tickets = TicketStore::new(dir.join("tickets"));
    sources.permissions("default", EnforcementSettings::default(), saved, tickets).unwrap()
}

// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Everyday work of about 500 characters.
const COMMAND: &str = "cd src && for f in $(git ls-files '*.rs' | head -n 20); do \
if grep -q 'fn main' \"$f\"; then echo \"$f has a main of $(wc -l < \"$f\") lines\"; fi; done; \
cargo build --release 2>&1 | tee build.log | grep -E '^(warning|error)' | sort | uniq -c | sort -rn | head -20; \
test -f Cargo.lock && cargo metadata --format-version 1 | jq -r '.packages[].name' | sort > names.txt; \
cp names.txt ../names.bak; find . -name '*.orig' -print0 | xargs -0 -r ls -la; git add -A && git commit -m 'update the list of names' && git status --short";

struct Bench {
    rounds: usize,
    /// Measure only metrics whose name holds this.
    only: String,
}

impl Bench {
    fn report(metric: &str, mut times: Vec<Duration>, rate: f64) {
        times.sort_unstable();
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        let line = json!({
            "metric": metric,
            "p50_us": us(times[times.len() / 2]),
            "min_us": us(times[0]),
            "p99_us": us(times[times.len() * 99 / 100]),
            "rate_per_s": rate,
            "n": times.len(),
        });
        println!("{line}");
    }

    fn sync<T>(&self, metric: &str, input: impl Fn() -> T, work: impl Fn(T)) {
        if !metric.contains(&self.only) {
            return;
        }
        // The first rounds fill caches and wake the processor up.
        (0..self.rounds / 5).for_each(|_| work(input()));
        let times = (0..self.rounds)
            .map(|_| {
                let input = input();
                let start = Instant::now();
                work(input);
                start.elapsed()
            })
            .collect();
        let inputs: Vec<T> = (0..self.rounds).map(|_| input()).collect();
        let start = Instant::now();
        inputs.into_iter().for_each(work);
        Self::report(metric, times, self.rounds as f64 / start.elapsed().as_secs_f64());
    }

    async fn calls(&self, metric: &str, engine: &Engine, tool: &str, arguments: Value) {
        if !metric.contains(&self.only) {
            return;
        }
        let caller = Caller::new("/");
        let call = || ToolCall::new("call_1", tool, arguments.clone());
        let first = engine.call(call(), &caller).await;
        assert_eq!(first.content, r#"{"ok":true}"#, "{metric} does not measure an error");
        let mut times = Vec::with_capacity(self.rounds);
        for _ in 0..self.rounds {
            let call = call();
            let start = Instant::now();
            black_box(engine.call(call, &caller).await);
            times.push(start.elapsed());
        }
        let batch: Vec<ToolCall> = (0..self.rounds).map(|_| call()).collect();
        let start = Instant::now();
        for call in batch {
            black_box(engine.call(call, &caller).await);
        }
        Self::report(metric, times, self.rounds as f64 / start.elapsed().as_secs_f64());
    }

    /// The policy's own time for one effect.
    fn policy(&self, metric: &str, permissions: &PermissionPolicy, effect: Effect) {
        let root = permissions.path_variables().workspace.clone().unwrap();
        let at = WorkingDir::new(root, permissions.path_variables().home.clone());
        let session = Session::in_memory();
        let effects = [effect];
        self.sync(
            metric,
            || (),
            |()| {
                black_box(permissions.judge(&CallProposal {
                    tool: "bench",
                    toolset: "bench",
                    arguments: &Value::Null,
                    effects: &effects,
                    code: None,
                    annotations: ToolAnnotations::default(),
                    working_dir: &at,
                    call_id: "1",
                    session: &session,
                    task_id: "t",
                    depth: 0,
                }));
            },
        );
    }

    async fn definitions(&self, log: &std::path::Path) {
        if !"definitions".contains(&self.only) {
            return;
        }
        let all = ToolSelection { enabled: None, disabled: Vec::new() };
        let mut times = Vec::new();
        for _ in 0..20 {
            let engine = engine(0, log);
            let start = Instant::now();
            black_box(engine.definitions(&all, DeferralSettings::default()).await.unwrap());
            times.push(start.elapsed());
        }
        let total: Duration = times.iter().sum();
        let count = times.len() as f64;
        Self::report("definitions.cold", times, count / total.as_secs_f64());
        let engine = engine(0, log);
        let mut times = Vec::with_capacity(self.rounds);
        engine.definitions(&all, DeferralSettings::default()).await.unwrap();
        let begin = Instant::now();
        for _ in 0..self.rounds {
            let start = Instant::now();
            black_box(engine.definitions(&all, DeferralSettings::default()).await.unwrap());
            times.push(start.elapsed());
        }
        Self::report("definitions.warm", times, self.rounds as f64 / begin.elapsed().as_secs_f64());
    }
}

fn main() {
    let quick = std::env::var_os("HERMES_BENCH_QUICK").is_some();
    let only = std::env::args().nth(1).unwrap_or_default();
    let rounds = if quick { 2_000 } else { 20_000 };
    let bench = Bench { rounds, only };
    let log = std::env::temp_dir().join(format!("hermes-bench-{}", std::process::id()));
    std::fs::create_dir_all(&log).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let path = log.clone();
    let all = async move {
        bench.definitions(&path).await;
        let few = engine(0, &path);
        bench.calls("pipeline.no_args", &few, "bench_noop", json!({})).await;
        bench.calls("pipeline.native_args", &few, "bench_echo", native()).await;
        bench.calls("pipeline.string_args", &few, "bench_echo", strings()).await;
        bench.calls("pipeline.100_tools", &engine(100, &path), "bench_echo", native()).await;
        bench.calls("pipeline.10000_tools", &engine(10_000, &path), "bench_echo", native()).await;
        let schema =
            Schema::new(hermes::schema::tidy_schema(erase(Echo(Echo::spec())).parameters()));
        bench.sync("coerce.native", native, |args| {
            black_box(coerce_arguments(&schema, args, &[]));
        });
        bench.sync("coerce.strings", strings, |args| {
            black_box(coerce_arguments(&schema, args, &[]));
        });
        let rules = permissions(&path);
        let source = rules.path_variables().workspace.clone().unwrap().join("src");
        let (old, new) = (source.join("main.rs"), source.join("lib.rs"));
        std::fs::write(&old, "fn main() {}\n").unwrap();
        bench.policy("policy.file_read", &rules, Effect::path(Scope::FILE_READ, &old));
        bench.policy("policy.file_write", &rules, Effect::path(Scope::FILE_WRITE, &new));
        assert!((450..650).contains(&COMMAND.len()), "{}", COMMAND.len());
        let resource = Resource::Command(COMMAND.to_owned());
        let command = Effect { scope: Scope::TERMINAL_EXECUTE, resource };
        bench.policy("policy.command_500", &rules, command);
        let record = || json!({ "name": "bench_echo", "arguments": native() });
        bench.sync("json_dumps_reference", record, |value| {
            black_box(serde_json::to_string(&value).unwrap());
        });
    };
    runtime.block_on(async { tokio::spawn(all).await.unwrap() });
    let _ = std::fs::remove_dir_all(&log);
}
