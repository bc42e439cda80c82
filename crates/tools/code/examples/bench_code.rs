//! What `execute_code` costs: an empty script beside the bare interpreter, and
//! calls of a trivial tool one after the other.
//!
//! `cargo run --profile profiling -p hermes-tools-code --example bench_code`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ChildLimits, Confinement, Policy, Ports, Proposal, Ruling, ToolCall, Verdict};
use hermes_engine::{Caller, Engine};
use hermes_exec::Jobs;
use hermes_scripts::Limits;
use hermes_testkit::probe::Probe;
use serde_json::{Value, json};

const ROUNDS: usize = 41;
const CALLS: u64 = 20_000;

/// Allows everything, and holds scripts as a workspace does.
struct Held(Arc<Confinement>);

impl Policy for Held {
    fn judge(&self, proposal: &Proposal<'_>) -> Ruling {
        let mut ruling = Ruling::plain(Verdict::Allow, proposal.effects);
        ruling.confinement = Some(Arc::clone(&self.0));
        ruling
    }
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let confinement = Confinement {
        read: vec!["/".into()],
        write: vec![folder.path().canonicalize().unwrap()],
        read_only: Vec::new(),
        hidden: Vec::new(),
        network: false,
        limits: ChildLimits::default(),
        bubblewrap: false,
    };
    let limits = Limits { tool_calls: u64::MAX, tools: vec!["echo".into()], ..Limits::default() };
    let build = |held: bool| {
        let jobs = Jobs::local(folder.path().join(".jobs"));
        let ports = Ports::new().with(Arc::new(jobs)).with(Arc::new(limits.clone()));
        let mut tools = hermes_tools_code::tools();
        tools.push(Probe::new("echo").tool());
        let mut engine = Engine::builder().ports(ports).tools(tools);
        if held {
            engine = engine.policy(Arc::new(Held(Arc::new(confinement.clone()))));
        }
        engine.build().unwrap()
    };
    let (open, held) = (build(false), build(true));
    let caller = Caller::new(folder.path());
    run(&open, &caller, "pass").await;
    run(&held, &caller, "pass").await;
    // Turn about, so that what else happens here falls on all alike.
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(bare());
        for (at, engine) in [(1, &open), (2, &held)] {
            let begin = Instant::now();
            run(engine, &caller, "pass").await;
            times[at].push(begin.elapsed());
        }
    }
    let [bare, free, confined] = times.map(middle);
    println!("python3 -c pass        {bare:>8.2} ms");
    println!("empty script           {free:>8.2} ms  {:.2} x", free / bare);
    println!("empty script, confined {confined:>8.2} ms  {:.2} x", confined / bare);

    let code = format!(
        "import time\nfrom hermes_tools import echo\necho(n=-1)\nbegin = time.perf_counter()\n\
         for n in range({CALLS}): echo(n=n)\nprint({CALLS} / (time.perf_counter() - begin))"
    );
    for (name, engine) in [("calls/s", &open), ("calls/s, confined", &held)] {
        let answer = run(engine, &caller, &code).await;
        println!("{name:<22} {:>8.0}", answer.trim().parse::<f64>().unwrap());
    }
    open.shutdown().await;
    held.shutdown().await;
}

fn bare() -> Duration {
    let begin = Instant::now();
    let ended = Command::new("python3").args(["-c", "pass"]).stdin(Stdio::null()).status();
    assert!(ended.unwrap().success());
    begin.elapsed()
}

async fn run(engine: &Engine, caller: &Caller, code: &str) -> String {
    let call = ToolCall::new("1", "execute_code", json!({ "code": code }));
    let result = engine.call(call, caller).await;
    let answer: Value = serde_json::from_str(&result.content).unwrap();
    assert_eq!(answer["status"], "success", "{answer}");
    answer["output"].as_str().unwrap_or_default().to_owned()
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}
