//! What the terminal tool costs beside a bare shell. One line of JSON for each
//! metric, in microseconds; `reference_us` is the same work by hand.
//!
//! `bench_terminal FOLDER [METRIC]`; fewer repetitions with `HERMES_BENCH_QUICK`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes::core::{Ports, ToolCall};
use hermes::engine::{Caller, Engine};
use hermes::policy::{EnforcementSettings, PathVariables, PolicySources, SavedRules, TicketStore};
use hermes_exec::JobRegistry;
use serde_json::{Value, json};

// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GIGABYTE: &str = "head -c 1000000000 /dev/zero | tr '\\0' x | fold -w 100";

struct Bench {
    /// One session, as an agent has it.
    caller: Caller,
    only: String,
    engine: Engine,
    runtime: tokio::runtime::Runtime,
    /// What the last calls took.
    took: Cell<Duration>,
}

impl Bench {
    fn calls(&self, commands: &[&str]) -> Vec<Value> {
        let call = |(at, command): (usize, &&str)| {
            ToolCall::new(at.to_string(), "terminal", json!({ "command": command, "timeout": 600 }))
        };
        let calls: Vec<_> = commands.iter().enumerate().map(call).collect();
        let (engine, caller) = (self.engine.clone(), self.caller.clone());
        // Where the agent makes its calls: on a worker.
        let work = self.runtime.spawn(async move {
            let start = Instant::now();
            let results = engine.dispatch(calls, &caller).await;
            (results, start.elapsed())
        });
        let (results, took) = self.runtime.block_on(work).unwrap();
        self.took.set(took);
        results.iter().map(|result| serde_json::from_str(&result.content).unwrap()).collect()
    }

    fn compare(
        &self,
        metric: &str,
        rounds: usize,
        mut tool: impl FnMut(),
        mut reference: impl FnMut(),
    ) {
        if !metric.contains(&self.only) {
            return;
        }
        tool();
        reference();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            tool();
            ours.push(self.took.get());
            let start = Instant::now();
            reference();
            theirs.push(start.elapsed());
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        println!(
            "{}",
            json!({ "metric": metric, "p50_us": ours, "reference_us": theirs,
                    "ratio": ours / theirs, "n": rounds })
        );
    }
}

fn bare(command: &str) -> usize {
    let mut child =
        Command::new("bash").args(["-c", command]).stdout(Stdio::piped()).spawn().unwrap();
    let mut buffer = vec![0; 1 << 18];
    let mut output = child.stdout.take().unwrap();
    let mut total = 0;
    loop {
        match output.read(&mut buffer).unwrap() {
            0 => break,
            read => total += read,
        }
    }
    child.wait().unwrap();
    total
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
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
    let state = dir.join("state");
    let places = PathVariables {
        workspace: Some(dir.clone()),
        home: Some(state.join("home")),
        hermes: state.clone(),
        temp: vec![std::env::temp_dir()],
    };
    let sources = PolicySources::load(&state.join("none.yaml"), None, places).unwrap();
    let saved = SavedRules::load(state.join("approvals.json")).unwrap();
    let tickets = TicketStore::new(state.join("tickets"));
    let permissions =
        sources.permissions("default", EnforcementSettings::default(), saved, tickets).unwrap();
    let jobs = Arc::new(JobRegistry::local(state.join("jobs")));
    let engine = Engine::builder()
        .analyzer(std::sync::Arc::new(hermes::policy::ShellAnalyzer))
        .tools(hermes_tools_system::tools())
        .policy(Arc::new(permissions))
        .ports(Ports::new().with(jobs))
        .build()
        .unwrap();
    let bench = Bench {
        caller: Caller::new(&dir),
        only: arguments.next().unwrap_or_default(),
        engine,
        runtime: runtime(),
        took: Cell::default(),
    };
    let run = |commands: &[&str]| {
        for answer in bench.calls(commands) {
            assert_eq!(answer["exit_code"], 0, "{answer}");
        }
    };
    let (few, many) =
        if std::env::var_os("HERMES_BENCH_QUICK").is_some() { (1, 30) } else { (3, 300) };
    bench.compare("terminal.true", many, || run(&["true"]), || assert_eq!(bare("true"), 0));
    // What takes a shell.
    let several = "true; true";
    bench.compare("terminal.shell", many, || run(&[several]), || assert_eq!(bare(several), 0));
    let eight = ["sleep 0.5"; 8];
    bench.compare(
        "terminal.eight_sleeps",
        few,
        || run(&eight),
        || assert_eq!(bare("sleep 0.5"), 0),
    );
    let before = peak();
    let reference = || assert!(bare(GIGABYTE) > 1_000_000_000);
    bench.compare("terminal.gigabyte", few, || run(&[GIGABYTE]), reference);
    let growth = peak().saturating_sub(before);
    println!("{}", json!({ "metric": "terminal.memory", "growth_bytes": growth }));
    bench.runtime.block_on(bench.engine.shutdown());
    let _ = fs::remove_dir_all(&dir);
}
