//! What `execute_code` costs beside the interpreter itself, and how many calls
//! of tools a script makes in a second. One line of JSON for each metric, in
//! microseconds; `reference_us` is the same work by hand.
//!
//! `bench_code FOLDER [METRIC]`; fewer repetitions with `HERMES_BENCH_QUICK`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes::core::{
    CallProposal, Confinement, Effect, JsonSchema, Policy, Ports, Ruling, Tool, ToolCall,
    ToolContext, ToolError, ToolSpec, Verdict, WorkingDir, erase,
};
use hermes::engine::{Caller, Engine};
use hermes_exec::JobRegistry;
use hermes_scripts::ScriptLimits;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Files that a script reads one after the other.
const FILES: usize = 40;

/// Allows everything, and holds scripts as a workspace does.
struct Held(Arc<Confinement>);

impl Policy for Held {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let mut ruling = Ruling::for_effects(Verdict::Allow, proposal.effects);
        ruling.confinement = Some(Arc::clone(&self.0));
        ruling
    }
}

/// A tool that does nothing.
struct Echo;

#[derive(Debug, Deserialize, JsonSchema)]
struct Number {
    /// Any.
    n: i64,
}

#[derive(Debug, Serialize)]
struct Same {
    n: i64,
}

impl Tool for Echo {
    type Args = Number;
    type Output = Same;

    fn spec() -> ToolSpec {
        ToolSpec::new("echo", "bench").description("Says it again.").read_only()
    }

    fn effects(&self, _: &Number, _: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: Number, _: &ToolContext) -> Result<Same, ToolError> {
        Ok(Same { n: args.n })
    }
}

struct Bench {
    dir: PathBuf,
    only: String,
    engine: Engine,
    runtime: tokio::runtime::Runtime,
    /// What the last script took.
    took: Cell<Duration>,
}

impl Bench {
    fn script(&self, code: &str) -> String {
        let call = ToolCall::new("1", "execute_code", json!({ "code": code }));
        let (engine, caller) = (self.engine.clone(), Caller::new(&self.dir));
        // Where the agent makes its calls: on a worker.
        let work = self.runtime.spawn(async move {
            let start = Instant::now();
            let result = engine.call(call, &caller).await;
            (result, start.elapsed())
        });
        let (result, took) = self.runtime.block_on(work).unwrap();
        self.took.set(took);
        let answer: Value = serde_json::from_str(&result.content).unwrap();
        assert_eq!(answer["status"], "success", "{answer}");
        answer["output"].as_str().unwrap_or_default().to_owned()
    }

    /// A script, and a bare interpreter with the same work, by turns.
    fn compare(&self, metric: &str, rounds: usize, script: &str, bare: &str) {
        if !metric.contains(&self.only) {
            return;
        }
        let ours = || drop(self.script(script));
        let theirs = || interpret(bare, &self.dir);
        ours();
        theirs();
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            ours();
            our_times.push(self.took.get());
            let start = Instant::now();
            theirs();
            their_times.push(start.elapsed());
        }
        let (ours, theirs) = (median(our_times), median(their_times));
        println!(
            "{}",
            json!({ "metric": metric, "p50_us": ours, "reference_us": theirs,
                    "ratio": ours / theirs, "n": rounds })
        );
    }

    /// Calls of a tool, one after the other, as the script itself counts them.
    fn rate(&self, metric: &str, calls: usize) {
        if !metric.contains(&self.only) {
            return;
        }
        let code = format!(
            "import time\nfrom hermes_tools import echo\necho(n=-1)\nbegin = time.perf_counter()\n\
             for n in range({calls}): echo(n=n)\nprint({calls} / (time.perf_counter() - begin))"
        );
        let rate: f64 = self.script(&code).trim().parse().unwrap();
        println!("{}", json!({ "metric": metric, "rate_per_s": rate, "n": calls }));
    }
}

fn interpret(code: &str, dir: &Path) {
    let mut python = Command::new("python3");
    python.args(["-c", code]).current_dir(dir);
    let output = python.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn engine(dir: &Path) -> Engine {
    let limits = ScriptLimits {
        tool_calls: u64::MAX,
        extra_tools: vec!["echo".into(), "read_file".into()],
        ..ScriptLimits::default()
    };
    let confinement = Confinement {
        read: vec!["/".into()],
        write: vec![dir.to_owned()],
        ..Confinement::default()
    };
    let jobs = JobRegistry::local(dir.join(".jobs"));
    let mut tools = hermes_tools_code::tools();
    tools.extend(hermes_tools_file::tools());
    tools.push(erase(Echo));
    Engine::builder()
        .analyzer(std::sync::Arc::new(hermes::policy::ShellAnalyzer))
        .tools(tools)
        .policy(Arc::new(Held(Arc::new(confinement))))
        .ports(Ports::new().with(Arc::new(jobs)).with(Arc::new(limits)))
        .build()
        .unwrap()
}

/// As the command has it.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().expect("a folder"));
    let dir = dir.join(format!("hermes-bench-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let dir = dir.canonicalize().unwrap();
    for number in 0..FILES {
        fs::write(dir.join(format!("{number}.txt")), "a line of its own\n".repeat(100)).unwrap();
    }
    let quick = std::env::var_os("HERMES_BENCH_QUICK").is_some();
    let (rounds, calls) = if quick { (7, 2_000) } else { (60, 20_000) };
    let bench = Bench {
        engine: engine(&dir),
        dir: dir.clone(),
        only: arguments.next().unwrap_or_default(),
        runtime: runtime(),
        took: Cell::default(),
    };
    bench.compare("code.empty_script", rounds, "pass", "pass");
    let script = format!(
        "from hermes_tools import read_file\nfor n in range({FILES}): read_file(path=f'{{n}}.txt')"
    );
    let bare = format!("for n in range({FILES}): open(f'{{n}}.txt').read()");
    bench.compare("code.read_files", rounds, &script, &bare);
    bench.rate("code.calls", calls);
    bench.runtime.block_on(bench.engine.shutdown());
    let _ = fs::remove_dir_all(&dir);
}
