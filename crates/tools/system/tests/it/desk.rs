//! An engine with the system tools, and what a test wants to know about it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    BoxFuture, CallProposal, Confinement, NoticeQueue, NoticeSink, PasswordPrompter, Policy, Ports,
    Ruling, ToolCall, Verdict,
};
use hermes_engine::{Caller, Engine};
use hermes_exec::{ExecBackend, JobRegistry, LocalBackend};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything is waited for before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Desk {
    pub(crate) dir: TempDir,
    pub(crate) engine: Engine,
    pub(crate) caller: Caller,
    pub(crate) notices: Arc<NoticeQueue>,
}

/// What is unusual about a desk.
#[derive(Default)]
pub(crate) struct Desired {
    pub(crate) password: Option<Arc<dyn PasswordPrompter>>,
    pub(crate) confinement: Option<Confinement>,
    /// Where jobs write, instead of a directory of the desk.
    pub(crate) jobs: Option<std::path::PathBuf>,
    /// Where they run, instead of here.
    pub(crate) backend: Option<Arc<dyn ExecBackend>>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with(Desired::default())
    }

    pub(crate) fn with(desired: Desired) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = desired.jobs.unwrap_or_else(|| dir.path().join(".jobs"));
        let backend = desired.backend.unwrap_or_else(|| Arc::new(LocalBackend::default()));
        let jobs = Arc::new(JobRegistry::new(backend, place));
        let notices = Arc::new(NoticeQueue::new());
        let heard = Arc::clone(&notices) as Arc<dyn NoticeSink>;
        let mut ports = Ports::new().with(jobs).with::<dyn NoticeSink>(heard);
        if let Some(password) = desired.password {
            ports = ports.with::<dyn PasswordPrompter>(password);
        }
        let mut engine = Engine::builder()
            .analyzer(Arc::new(hermes_policy::ShellAnalyzer))
            .ports(ports)
            .tools(hermes_tools_system::tools())
            .spill_to(dir.path().join(".spill"));
        if let Some(confinement) = desired.confinement {
            engine = engine.policy(Arc::new(Held(Arc::new(confinement))));
        }
        let caller = Caller::new(dir.path());
        Self { engine: engine.build().unwrap(), caller, notices, dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.engine.call(ToolCall::new("1", tool, arguments), &self.caller).await;
        serde_json::from_str(&result.content).unwrap()
    }

    pub(crate) async fn run(&self, command: &str) -> Value {
        self.call("terminal", json!({ "command": command })).await
    }

    /// What a command has written.
    pub(crate) async fn output(&self, command: &str) -> String {
        let answer = self.run(command).await;
        answer["output"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Starts a command in the background; its id.
    pub(crate) async fn start(&self, command: &str) -> Value {
        let arguments = json!({ "command": command, "background": true, "open_stdin": true });
        let answer = self.call("terminal", arguments).await;
        assert_eq!(answer["status"], "running", "{answer}");
        answer["session_id"].clone()
    }

    pub(crate) async fn process(&self, action: &str, id: &Value) -> Value {
        self.call("process", json!({ "action": action, "session_id": id })).await
    }

    /// The session goes on as if nothing had been.
    pub(crate) async fn assert_goes_on(&self) {
        let answer = self.run("echo still here").await;
        assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("still here\n"), &json!(0)));
    }

    /// Takes notices until there are so many.
    pub(crate) async fn told(&self, count: usize) -> Vec<Value> {
        let mut shown = Vec::new();
        let begin = Instant::now();
        while shown.len() < count && begin.elapsed() < PATIENCE {
            let session = self.caller.session.id();
            shown.extend(self.notices.drain(session, 99).into_iter().map(|it| json!(it)));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        shown
    }
}

/// Waits until it is so, or fails.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How many processes carry the mark of this job.
pub(crate) fn processes_of(id: &Value) -> usize {
    let id = id.as_str().expect("an id").as_bytes();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter(|entry| {
        entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
    });
    let environments = numbers.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments.filter(|bytes| bytes.windows(id.len()).any(|window| window == id)).count()
}

/// How many files this process has open.
pub(crate) fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Allows everything, and holds commands to a confinement.
struct Held(Arc<Confinement>);

impl Policy for Held {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let mut ruling = Ruling::for_effects(Verdict::Allow, proposal.effects);
        ruling.confinement = Some(Arc::clone(&self.0));
        ruling
    }
}

/// A user who types these passwords, one after the other.
pub(crate) struct Typist(pub(crate) parking_lot::Mutex<Vec<&'static str>>);

impl Typist {
    pub(crate) fn new(words: &[&'static str]) -> Arc<Self> {
        Arc::new(Self(parking_lot::Mutex::new(words.to_vec())))
    }

    pub(crate) fn left(&self) -> usize {
        self.0.lock().len()
    }
}

impl PasswordPrompter for Typist {
    fn preset_password(&self, _name: &str) -> Option<String> {
        None
    }

    fn ask<'a>(&'a self, _question: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async {
            let mut words = self.0.lock();
            (!words.is_empty()).then(|| words.remove(0).to_owned())
        })
    }
}
