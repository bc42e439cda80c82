//! How long a ruling takes: `bench_policy [METRIC]`, one line of JSON each.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use hermes_core::{
    CallProposal, Effect, Policy, Resource, Scope, Session, ToolAnnotations, WorkingDir,
};
use hermes_policy::{EnforcementSettings, PathVariables, PolicySources, SavedRules, TicketStore};
use serde_json::{Value, json};

/// Everyday work of about 500 characters.
const COMMAND: &str = "cd src && for f in $(git ls-files '*.rs' | head -n 20); do \
if grep -q 'fn main' \"$f\"; then echo \"$f has a main of $(wc -l < \"$f\") lines\"; fi; done; \
cargo build --release 2>&1 | tee build.log | grep -E '^(warning|error)' | sort | uniq -c | sort -rn | head -20; \
test -f Cargo.lock && cargo metadata --format-version 1 | jq -r '.packages[].name' | sort > names.txt; \
cp names.txt ../names.bak; find . -name '*.orig' -print0 | xargs -0 -r ls -la; git add -A && git commit -m 'update the list of names' && git status --short";

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let dir = std::env::temp_dir().join(format!("hermes-bench-{}", std::process::id()));
    let workspace = dir.join("ws/a/b/c");
    std::fs::create_dir_all(workspace.join("src")).unwrap();
    let places = PathVariables {
        workspace: Some(workspace.clone()),
        home: Some(dir.join("home")),
        hermes: dir.join("hermes"),
        temp: vec!["/var/tmp".into()],
    };
    let at = WorkingDir::new(workspace.clone(), places.home.clone());
    let sources = PolicySources::load(&dir.join("none.yaml"), None, places).unwrap();
    let saved = SavedRules::load(dir.join("approvals.json")).unwrap();
    let tickets = TicketStore::new(dir.join("tickets"));
    let rules =
        sources.permissions("default", EnforcementSettings::default(), saved, tickets).unwrap();
    let session = Session::in_memory();
    let measure = |metric: &str, rounds: usize, work: &dyn Fn()| {
        if !metric.contains(&only) {
            return;
        }
        // The first rounds fill caches and wake the processor up.
        (0..rounds / 5).for_each(|_| work());
        let mut times: Vec<f64> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let line = json!({ "metric": metric, "p50_us": times[rounds / 2], "min_us": times[0] });
        println!("{line}");
    };
    let judge = |effect: Effect| {
        let effects = [effect];
        let (rules, at, session) = (&rules, &at, &session);
        move || {
            black_box(rules.judge(&CallProposal {
                tool: "bench",
                toolset: "bench",
                arguments: &Value::Null,
                effects: &effects,
                code: None,
                annotations: ToolAnnotations::default(),
                working_dir: at,
                call_id: "1",
                session,
                task_id: "t",
                depth: 0,
            }));
        }
    };
    let file = workspace.join("src/lib.rs");
    let old = workspace.join("src/main.rs");
    std::fs::write(&old, "fn main() {}\n").unwrap();
    measure("policy.file_read", 50_000, &judge(Effect::path(Scope::FILE_READ, &old)));
    measure("policy.file_write", 50_000, &judge(Effect::path(Scope::FILE_WRITE, &old)));
    measure("policy.new_file", 50_000, &judge(Effect::path(Scope::FILE_WRITE, &file)));
    let resource = Resource::Command(COMMAND.to_owned());
    let command = Effect { scope: Scope::TERMINAL_EXECUTE, resource };
    measure("policy.command_500", 5_000, &judge(command));
    measure("shell.analyze_500", 5_000, &|| {
        black_box(hermes_shell::analyze(COMMAND, &at));
    });
    measure("files.find", 50_000, &|| {
        black_box(hermes_files::resolve_path(&old)).unwrap();
    });
    measure("files.find_new", 50_000, &|| {
        black_box(hermes_files::resolve_path(&file)).unwrap();
    });
    let _ = std::fs::remove_dir_all(&dir);
}
