//! What the file tools cost beside the work that nobody can avoid: reading,
//! counting line ends, writing and waiting for the disk. One line of JSON for
//! each metric, in microseconds; `reference_us` is the same work by hand.
//!
//! `bench_files FOLDER [METRIC]`: everything is made below FOLDER, which must
//! be on a real disk.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hermes::core::{Ports, ToolCall};
use hermes::engine::{Caller, Engine};
use hermes::policy::{
    EnforcementSettings, PathVariables, PermissionPolicy, PolicySources, SavedRules, TicketStore,
};
use hermes_checkpoints::{CheckpointLimits, CheckpointStore, FileCheckpointer};
use hermes_files::JournalDir;
use serde_json::{Value, json};

// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GIGABYTE: u64 = 1_000_000_000;
const LINE: &str = "the quick brown fox jumps over the lazy dog, and the line goes on to its end\n";

struct Bench {
    dir: PathBuf,
    only: String,
    rounds: usize,
    runtime: tokio::runtime::Runtime,
    /// What the last call took.
    took: Cell<Duration>,
}

impl Bench {
    fn engine(&self) -> Engine {
        // As the command has it: with rules, checkpoints and journals.
        let state = self.dir.join("state");
        let store =
            Arc::new(CheckpointStore::new(state.join("checkpoints"), CheckpointLimits::default()));
        let journals = Arc::new(JournalDir::new(state.join("changes")));
        let places = PathVariables {
            workspace: Some(self.dir.clone()),
            home: Some(state.join("home")),
            hermes: state.clone(),
            temp: Vec::new(),
        };
        let sources = PolicySources::load(&state.join("none.yaml"), None, places).unwrap();
        let saved = SavedRules::load(state.join("approvals.json")).unwrap();
        let tickets = TicketStore::new(state.join("tickets"));
        let permissions: PermissionPolicy =
            sources.permissions("default", EnforcementSettings::default(), saved, tickets).unwrap();
        Engine::builder()
            .analyzer(std::sync::Arc::new(hermes::policy::ShellAnalyzer))
            .tools(hermes_tools_file::tools())
            .policy(Arc::new(permissions))
            .ports(Ports::default().with(Arc::clone(&journals)))
            .checkpoints(Arc::new(
                FileCheckpointer::new(store, vec![state]).with_rollback(journals),
            ))
            .build()
            .unwrap()
    }

    fn call(&self, engine: &Engine, tool: &str, arguments: Value) -> Value {
        self.make(engine, ToolCall::new("call_1", tool, arguments))
    }

    fn make(&self, engine: &Engine, call: ToolCall) -> Value {
        let (engine, caller) = (engine.clone(), Caller::new(&self.dir));
        // Where the agent makes its calls: on a worker.
        let work = self.runtime.spawn(async move {
            let start = Instant::now();
            let result = engine.call(call, &caller).await;
            (result, start.elapsed())
        });
        let (result, took) = self.runtime.block_on(work).unwrap();
        self.took.set(took);
        serde_json::from_str(&result.content).unwrap()
    }

    /// The tool and the reference by turns, now the one first, now the other:
    /// each finds the machine as the one before has left it.
    fn compare(
        &self,
        metric: &str,
        rounds: usize,
        mut prepare: impl FnMut(),
        mut tool: impl FnMut(),
        mut reference: impl FnMut(),
    ) {
        if !metric.contains(&self.only) {
            return;
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        prepare();
        tool();
        prepare();
        reference();
        for round in 0..2 * rounds {
            prepare();
            // One of us, two of them, two of us, and so on.
            if round.div_ceil(2).is_multiple_of(2) {
                tool();
                ours.push(self.took.get());
            } else {
                let start = Instant::now();
                reference();
                theirs.push(start.elapsed());
            }
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let line = json!({
            "metric": metric, "p50_us": ours, "reference_us": theirs, "ratio": ours / theirs,
            "n": rounds,
        });
        println!("{line}");
    }
}

fn touch(path: &Path, step: u64) {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + step);
    File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

/// The line ends of a file, by the fastest means there is.
fn count_lines(path: &Path) -> usize {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut lines = 0;
    loop {
        let read = file.read(&mut buffer).unwrap();
        if read == 0 {
            return lines;
        }
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
}

fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    let mut file = File::create(&new).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    fs::rename(&new, path).unwrap();
}

fn reading(bench: &Bench) {
    if !"files.read_first_page files.read_deep_page".contains(&bench.only) {
        return;
    }
    let path = bench.dir.join("big.txt");
    let mut file = std::io::BufWriter::new(File::create(&path).unwrap());
    let block = LINE.repeat(10_000);
    for _ in 0..GIGABYTE / block.len() as u64 {
        file.write_all(block.as_bytes()).unwrap();
    }
    drop(file);
    let lines = count_lines(&path);
    let engine = bench.engine();
    let mut step = 0;
    let mut prepare = || {
        step += 1;
        touch(&path, step);
    };
    let read = |offset: usize| {
        let answer =
            bench.call(&engine, "read_file", json!({ "path": "big.txt", "offset": offset }));
        assert!(answer["content"].is_string(), "{answer}");
    };
    let first = || {
        let mut buffer = vec![0; 500 * LINE.len()];
        File::open(&path).unwrap().read_exact(&mut buffer).unwrap();
        black_box(buffer);
    };
    bench.compare("files.read_first_page", bench.rounds, &mut prepare, || read(1), first);
    let count = || {
        black_box(count_lines(&path));
    };
    let deep = || read(lines - 1000);
    bench.compare("files.read_deep_page", 5, prepare, deep, count);
    fs::remove_file(&path).unwrap();
}

fn writing(bench: &Bench) {
    let engine = bench.engine();
    let content = LINE.repeat(1_000_000 / LINE.len());
    let path = bench.dir.join("one.txt");
    let by_hand = bench.dir.join("two.txt");
    // The call comes from elsewhere, with its megabyte in it.
    let next = RefCell::new(None);
    let prepare = || {
        let arguments = json!({ "path": "one.txt", "content": content });
        next.replace(Some(ToolCall::new("call_1", "write_file", arguments)));
        replace(&path, b"what was there before\n");
        replace(&by_hand, b"what was there before\n");
    };
    let write = || {
        let call = next.take().unwrap();
        let answer = bench.make(&engine, call);
        assert!(answer["error"].is_null(), "{answer}");
    };
    let reference = || replace(&by_hand, content.as_bytes());
    bench.compare("files.write_1mb", bench.rounds, prepare, write, reference);

    let text: String =
        (0..10_000).map(|n| format!("line {n} says something of its own\n")).collect();
    let source = bench.dir.join("source.rs");
    let prepare = || fs::write(&source, &text).unwrap();
    let patch = || {
        let answer = bench.call(
            &engine,
            "patch",
            json!({ "path": "source.rs", "old_string": "line 7777 says something of its own",
                    "new_string": "line 7777 has been changed" }),
        );
        assert!(answer["error"].is_null(), "{answer}");
    };
    let reference = || {
        let old = fs::read_to_string(&source).unwrap();
        replace(&source, old.replacen("line 7777 says", "line 7777 has", 1).as_bytes());
    };
    bench.compare("files.patch_10k_lines", bench.rounds, prepare, patch, reference);
    let miss = || {
        let answer = bench.call(
            &engine,
            "patch",
            json!({ "path": "source.rs",
                    "old_string": "line 7777 says something of its owm\nline 7778 said something\n",
                    "new_string": "x" }),
        );
        assert!(answer["error"].is_string(), "{answer}");
    };
    let reference = || {
        black_box(fs::read_to_string(&source).unwrap());
    };
    bench.compare("files.patch_no_match", bench.rounds, prepare, miss, reference);
}

/// A tree of 50,000 files in 500 folders, a word in one of a hundred.
fn tree(root: &Path) {
    for dir in 0..500 {
        let below = root.join(format!("pkg{:02}/mod{dir:03}", dir % 50));
        fs::create_dir_all(&below).unwrap();
        for file in 0..100 {
            let mut text = LINE.repeat(5 + (dir * 7 + file * 13) % 40);
            if file == 42 {
                text.push_str("here is the needle_in_question\n");
            }
            fs::write(below.join(format!("file_{file}.rs")), text).unwrap();
        }
    }
}

fn searching(bench: &Bench) {
    let Some(rg) = std::env::var_os("RG").filter(|rg| Path::new(rg).is_file()) else {
        println!("{}", json!({ "skipped": "files.search", "why": "RG does not name ripgrep" }));
        return;
    };
    if !["files.search_content", "files.search_names", "files.search_first"]
        .iter()
        .any(|metric| metric.contains(&bench.only))
    {
        return;
    }
    let root = bench.dir.join("tree");
    tree(&root);
    let engine = bench.engine();
    let search = |arguments: Value| {
        let answer = bench.call(&engine, "search_files", arguments);
        assert!(answer["error"].is_null(), "{answer}");
        answer
    };
    let run = |arguments: &[&str]| {
        let output = Command::new(&rg).args(arguments).current_dir(&root).output().unwrap();
        assert!(output.status.success());
        black_box(output.stdout);
    };
    let content = json!({ "pattern": "needle_in_[a-z]+", "path": "tree", "limit": 1000 });
    assert_eq!(search(content.clone())["total_count"], 500);
    let ours = || drop(search(content.clone()));
    bench.compare("files.search_content", 15, || (), ours, || run(&["needle_in_[a-z]+"]));
    let names =
        json!({ "pattern": "file_42.rs", "target": "files", "path": "tree", "limit": 1000 });
    assert_eq!(search(names.clone())["total_count"], 500);
    let ours = || drop(search(names.clone()));
    let theirs = || run(&["--files", "-g", "file_42.rs"]);
    bench.compare("files.search_names", 15, || (), ours, theirs);
    let few = json!({ "pattern": "needle_in_[a-z]+", "path": "tree", "limit": 20 });
    let ours = || drop(search(few.clone()));
    bench.compare("files.search_first", 15, || (), ours, || run(&["needle_in_[a-z]+"]));
    fs::remove_dir_all(&root).unwrap();
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
    let quick = std::env::var_os("HERMES_BENCH_QUICK").is_some();
    let bench = Bench {
        dir: dir.clone(),
        only: arguments.next().unwrap_or_default(),
        rounds: if quick { 10 } else { 60 },
        runtime: runtime(),
        took: Cell::default(),
    };
    reading(&bench);
    writing(&bench);
    searching(&bench);
    let _ = fs::remove_dir_all(&dir);
}
