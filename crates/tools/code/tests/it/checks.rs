//! A small project of its own for each test, and the tools that check it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use hermes_core::{Ports, ToolCall};
use hermes_engine::{Caller, Engine};
use hermes_exec::{ExecBackend, JobRegistry, LocalBackend};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Project {
    dir: TempDir,
    jobs: TempDir,
    engine: Engine,
    caller: Caller,
}

impl Project {
    /// One with these files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(LocalBackend::default()), files)
    }

    /// One whose programs run there.
    pub(crate) fn on(backend: Arc<dyn ExecBackend>, files: &[(&str, &str)]) -> Self {
        let (dir, jobs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let port = Arc::new(JobRegistry::new(backend, jobs.path().join("jobs")));
        let engine = Engine::builder()
            .ports(Ports::new().with(port))
            .tools(hermes_tools_code::tools())
            .spill_to(jobs.path().join("spill"))
            .build()
            .unwrap();
        let caller = Caller::new(dir.path());
        let project = Self { dir, jobs, engine, caller };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    /// One with these files and the Python tools; none, and the reason
    /// printed, if they are not installed.
    pub(crate) fn python(files: &[(&str, &str)]) -> Option<Self> {
        let tools = component("HERMES_TEST_CODE_PYTHON")?;
        let project = Self::of(files);
        std::os::unix::fs::symlink(tools, project.path().join(".venv")).unwrap();
        Some(project)
    }

    /// The same with the Node tools.
    pub(crate) fn node(files: &[(&str, &str)]) -> Option<Self> {
        let tools = component("HERMES_TEST_CODE_NODE")?;
        let project = Self::of(files);
        std::os::unix::fs::symlink(tools, project.path().join("node_modules")).unwrap();
        Some(project)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The caller of its tools.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.engine.call(ToolCall::new("1", tool, arguments), &self.caller).await;
        serde_json::from_str(&result.content).unwrap()
    }

    pub(crate) fn git(&self, words: &[&str]) {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let done = Command::new("git")
            .args(settings)
            .args(words)
            .current_dir(self.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Whether a run has left a file among those of jobs.
    pub(crate) fn left_over(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.jobs.path().join("jobs/output"));
        entries.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }
}

fn component(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_dir());
    if found.is_none() {
        eprintln!("skipped: {variable} is not set (scripts/components/code.sh)");
    }
    found
}

/// Whether a program is installed; says so if it is not.
pub(crate) fn has(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// The rules, lines and files of findings.
pub(crate) fn brief(answer: &Value) -> Vec<String> {
    let findings = answer["findings"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings
        .iter()
        .map(|one| {
            let place = [&one["line"], &one["column"]].map(ToString::to_string).join(":");
            format!(
                "{}:{place} {} {}",
                text(&one["file"]),
                text(&one["severity"]),
                text(&one["rule"])
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_not_there_is_not_found() {
    let project = Project::of(&[]);
    for tool in ["code_lint", "code_format", "code_test"] {
        let answer = project.call(tool, json!({ "path": "nowhere" })).await;
        assert_eq!(answer["kind"], "not_found", "{tool}: {answer}");
        let answer = project.call(tool, json!({ "tool": "nonesuch" })).await;
        assert_eq!(answer["kind"], "invalid_arguments", "{tool}: {answer}");
        let answer = project.call(tool, json!({})).await;
        assert_eq!(answer["kind"], "not_found", "{tool}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_missing_is_named_with_the_command_that_installs_it() {
    let project = Project::of(&[
        ("package.json", r#"{"devDependencies":{"prettier":"3","vitest":"*"}}"#),
        ("pnpm-lock.yaml", ""),
        ("biome.json", "{}"),
        ("a.js", "let a = 1\n"),
    ]);
    let lint = project.call("code_lint", json!({})).await;
    assert_eq!(lint["kind"], "unavailable", "{lint}");
    assert_eq!(lint["install"], "pnpm add --save-dev @biomejs/biome", "{lint}");
    let test = project.call("code_test", json!({})).await;
    assert_eq!(
        (&test["kind"], &test["install"]),
        (&json!("unavailable"), &json!("pnpm install")),
        "{test}"
    );
    let format = project.call("code_format", json!({ "tool": "taplo" })).await;
    if !has("taplo") {
        assert_eq!(format["install"], "cargo install taplo-cli --locked", "{format}");
    }
}

/// The ids that a program has written into the file `pids`, once it has.
pub(crate) async fn pids(dir: &Path) -> Vec<u32> {
    let begin = Instant::now();
    while !dir.join("pids").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the program does not begin");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let text = fs::read_to_string(dir.join("pids")).unwrap();
    text.split(' ').map(|pid| pid.parse().unwrap()).collect()
}

/// Whether these processes have exited; zombies count as exited.
pub(crate) async fn are_gone(pids: &[u32]) -> bool {
    let is_gone = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if pids.iter().all(is_gone) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
