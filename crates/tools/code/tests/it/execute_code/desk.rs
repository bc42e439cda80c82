//! An engine with `execute_code` and a few tools to call.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hermes_core::{
    CallProposal, Confinement, DynTool, Effect, Policy, Ports, Ruling, Scope, ToolCall,
    ToolContext, ToolError, ToolOutput, Verdict,
};
use hermes_engine::{Caller, Engine};
use hermes_exec::{CommandSpec, ExecBackend, JobRegistry, LocalBackend, StdinSource, StdioMode};
use hermes_scripts::ScriptLimits;
use hermes_testkit::probe::ProbeTool;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Barrier;

/// How long anything is waited for before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Desk {
    dir: TempDir,
    jobs: TempDir,
    pub(super) engine: Engine,
    pub(super) caller: Caller,
    forever: Arc<AtomicUsize>,
}

/// What is unusual about a desk.
#[derive(Default)]
pub(super) struct Desired {
    pub(super) limits: ScriptLimits,
    pub(super) policy: Option<Arc<dyn Policy>>,
    pub(super) backend: Option<Arc<dyn ExecBackend>>,
    /// It has nothing to call.
    pub(super) is_bare: bool,
    /// It has the real tools for files.
    pub(super) has_files: bool,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self::with(Desired::default())
    }

    pub(super) fn bare() -> Self {
        Self::with(Desired { is_bare: true, ..Desired::default() })
    }

    pub(super) fn limited(limits: ScriptLimits) -> Self {
        Self::with(Desired { limits, ..Desired::default() })
    }

    pub(super) fn judged(
        judge: impl Fn(&CallProposal<'_>) -> Ruling + Send + Sync + 'static,
    ) -> Self {
        Self::with(Desired { policy: Some(Arc::new(Judge(judge))), ..Desired::default() })
    }

    pub(super) fn with(desired: Desired) -> Self {
        let (dir, jobs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let backend = desired.backend.unwrap_or_else(|| Arc::new(LocalBackend::default()));
        let forever = Arc::new(AtomicUsize::new(0));
        let ports = Ports::new()
            .with(Arc::new(JobRegistry::new(backend, jobs.path().join("jobs"))))
            .with(Arc::new(desired.limits));
        let mut tools: Vec<_> = hermes_tools_code::tools()
            .into_iter()
            .filter(|tool| tool.spec().name == "execute_code")
            .collect();
        if desired.has_files {
            tools.extend(hermes_tools_file::tools());
        } else if !desired.is_bare {
            tools.extend(callables(&forever));
        }
        let mut engine =
            Engine::builder().ports(ports).tools(tools).spill_to(jobs.path().join("spill"));
        if let Some(policy) = desired.policy {
            engine = engine.policy(policy);
        }
        let caller = Caller::new(dir.path());
        Self { engine: engine.build().unwrap(), caller, dir, jobs, forever }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.engine.call(ToolCall::new("1", tool, arguments), &self.caller).await;
        serde_json::from_str(&result.content).unwrap()
    }

    pub(super) async fn run(&self, code: &str) -> Value {
        self.call("execute_code", json!({ "code": code })).await
    }

    pub(super) async fn node(&self, code: &str) -> Value {
        self.call("execute_code", json!({ "code": code, "language": "javascript" })).await
    }

    /// How many calls wait for ever.
    pub(super) fn forever(&self) -> usize {
        self.forever.load(Ordering::SeqCst)
    }

    /// Creates a virtualenv in the directory.
    pub(super) fn virtualenv(&self) {
        let words = ["-m", "venv", "--without-pip", ".venv"];
        let made = Command::new("python3").args(words).current_dir(self.path()).status();
        assert!(made.unwrap().success());
    }

    /// Takes everything down, and sees that nothing is left behind.
    pub(super) async fn close(&self) {
        self.engine.shutdown().await;
        let output = self.jobs.path().join("jobs/output");
        let left = std::fs::read_dir(output).into_iter().flatten().count();
        assert_eq!(left, 0, "what scripts print does not lie about");
        assert_eq!(alive(self.path()), 0, "a process is left in {}", self.path().display());
    }
}

/// Tools with the names that scripts know, which do little.
fn callables(forever: &Arc<AtomicUsize>) -> Vec<Arc<dyn DynTool>> {
    let meeting = Arc::new(Barrier::new(4));
    let read = ProbeTool::new("read_file")
        .with_spec(|spec| spec.description("Reads.\nOr not."))
        .parameters(json!({
            "type": "object",
            "properties": {
                "limit": { "type": "integer", "default": 500, "description": "Lines." },
                "path": { "type": "string", "description": "Which." },
            },
            "required": ["path"],
        }))
        .declare_effects(|args, at| {
            let path = at.resolve(args["path"].as_str().unwrap_or_default());
            vec![Effect::path(Scope::FILE_READ, path)]
        })
        .on_run(move |args, cx| {
            let meeting = Arc::clone(&meeting);
            async move { read(&args, &cx, &meeting).await }
        });
    let write = ProbeTool::new("write_file")
        .parameters(object(&["path", "content"]))
        .declare_effects(|args, at| {
            let path = at.resolve(args["path"].as_str().unwrap_or_default());
            vec![Effect::path(Scope::FILE_WRITE, path)]
        })
        .on_run(|args, cx| async move {
            let content = args["content"].as_str().unwrap_or_default();
            let path = cx.working_dir.resolve(args["path"].as_str().unwrap_or_default());
            std::fs::write(path, content).unwrap();
            ToolOutput::json(&json!({ "bytes": content.len() }))
        });
    let open = Arc::clone(forever);
    let terminal = ProbeTool::new("terminal")
        .parameters(object(&["command", "background", "workdir"]))
        .on_run(move |args, cx| {
            let open = Arc::clone(&open);
            async move {
                if args["command"] == "forever" {
                    open.fetch_add(1, Ordering::SeqCst);
                    cx.cancel.cancelled().await;
                    open.fetch_sub(1, Ordering::SeqCst);
                    return Err(ToolError::cancelled());
                }
                if args["command"] == "sleep 605 &" {
                    leave_running(&cx).await;
                }
                ToolOutput::json(&args)
            }
        });
    vec![
        read.into_tool(),
        write.into_tool(),
        terminal.into_tool(),
        ProbeTool::new("extra").into_tool(),
    ]
}

/// What a command leaves, as the real tool lists it.
async fn leave_running(cx: &ToolContext) {
    let jobs = JobRegistry::from_context(cx);
    let spec = CommandSpec {
        program: "sleep".into(),
        arguments: vec!["605".into()],
        environment: std::env::vars_os().collect(),
        directory: cx.working_dir.cwd().to_path_buf(),
        input: StdinSource::Empty,
        output: StdioMode::Merged,
        confinement: None,
    };
    let job = jobs.start("sleep 605 &".to_owned(), spec).await.unwrap();
    let handle = jobs.register(job, cx.session.id(), cx.working_dir.cwd().to_path_buf());
    handle.set_parent_call(&cx.call_id);
}

fn object(names: &[&str]) -> Value {
    let properties = names.iter().map(|name| ((*name).to_owned(), json!({})));
    json!({ "type": "object", "properties": properties.collect::<serde_json::Map<_, _>>() })
}

async fn read(args: &Value, cx: &ToolContext, meeting: &Barrier) -> Result<ToolOutput, ToolError> {
    let name = args["path"].as_str().unwrap_or_default();
    if name == "meet" {
        meeting.wait().await;
        return ToolOutput::json(&json!({ "n": args["limit"] }));
    }
    match std::fs::read_to_string(cx.working_dir.resolve(name)) {
        Ok(content) => ToolOutput::json(&json!({ "content": content, "limit": args["limit"] })),
        Err(_) => Err(ToolError::not_found(format!("There is no {name}"))
            .with_hint("Look again.")
            .with("tried", "here")),
    }
}

struct Judge<F>(F);

impl<F: Fn(&CallProposal<'_>) -> Ruling + Send + Sync> Policy for Judge<F> {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        (self.0)(proposal)
    }
}

/// Allows everything, and holds scripts to a confinement.
pub(super) fn held(confinement: Confinement) -> Arc<dyn Policy> {
    let confinement = Arc::new(confinement);
    Arc::new(Judge(move |proposal: &CallProposal<'_>| {
        let mut ruling = Ruling::for_effects(Verdict::Allow, proposal.effects);
        ruling.confinement = Some(Arc::clone(&confinement));
        ruling
    }))
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until it is so, or fails.
pub(super) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The number of processes with this working directory.
pub(super) fn alive(dir: &Path) -> usize {
    let dir = dir.canonicalize().unwrap_or_default();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let places = entries.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    places.filter(|place| *place == dir).count()
}

/// Whether a program is installed; says so if it is not.
pub(super) fn has_node() -> bool {
    let found = Command::new("node").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: node is not installed");
    }
    found
}
