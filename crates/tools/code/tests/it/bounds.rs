//! Programs of checks are held, ended and found elsewhere like all others.

use std::sync::Arc;

use hermes_core::{Confinement, Ports, ToolContext, ToolError};
use hermes_exec::JobRegistry;
use hermes_testkit::backends::FakeRemoteBackend;
use serde_json::{Value, json};

use crate::checks::{Project, are_gone, brief, has, pids};

/// A test that says who it is and then does not end.
const ENDLESS: &str = "import os, subprocess, time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_long(self):\n        child = subprocess.Popen(['sleep', '600'])\n        with open('pids.part', 'w') as file:\n            file.write(f'{os.getpid()} {child.pid}')\n        os.rename('pids.part', 'pids')\n        time.sleep(600)\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_all_that_it_started() {
    let project = Arc::new(Project::of(&[("test_a.py", ENDLESS)]));
    let other = Arc::clone(&project);
    let call =
        tokio::spawn(async move { other.call("code_test", json!({ "tool": "unittest" })).await });
    let pids = pids(project.path()).await;
    project.caller().cancel.cancel();
    let answer = call.await.unwrap();
    assert_eq!(answer["kind"], "cancelled", "{answer}");
    assert!(are_gone(&pids).await, "{pids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_time_is_up_ends_all_that_it_started() {
    let project = Arc::new(Project::of(&[("test_a.py", ENDLESS)]));
    let other = Arc::clone(&project);
    let call = tokio::spawn(async move {
        other.call("code_test", json!({ "tool": "unittest", "timeout": 15 })).await
    });
    let pids = pids(project.path()).await;
    let answer = call.await.unwrap();
    assert_eq!(answer["status"], "timeout", "{answer}");
    assert!(are_gone(&pids).await, "{pids:?}");
}

async fn held(tool: &str, arguments: Value, project: &Project) -> Result<Value, ToolError> {
    let tools = hermes_tools_code::tools();
    let tool = tools.into_iter().find(|one| one.spec().name == tool).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut cx = ToolContext::bare(project.path());
    cx.ports = Arc::new(Ports::new().with(Arc::new(JobRegistry::local(dir.path().join("jobs")))));
    cx.confinement = Some(Arc::new(Confinement {
        read: vec!["/".into()],
        write: vec![project.path().into()],
        ..Confinement::default()
    }));
    let output = tool.bind(&arguments).unwrap().run(cx).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_run_within_walls_and_their_report_gets_out() {
    if !has("node") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("out");
    let text = format!(
        "const {{test}} = require('node:test');\nconst fs = require('node:fs');\ntest('in', () => fs.writeFileSync('in', 'x'));\ntest('out', () => fs.writeFileSync('{}', 'x'));\n",
        target.display()
    );
    let project = Project::of(&[("package.json", "{}"), ("a.test.js", &text)]);
    let answer = held("code_test", json!({ "tool": "node" }), &project).await;
    let answer = match answer {
        Err(error) if error.message().contains("Landlock") => {
            eprintln!("skipped: {error}");
            return;
        }
        answer => answer.unwrap(),
    };
    assert_eq!((&answer["passed"], &answer["failed"]), (&json!(1), &json!(1)), "{answer:#}");
    assert_eq!(answer["failures"][0]["name"], "out", "{answer:#}");
    assert!(project.path().join("in").exists() && !target.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_elsewhere_are_checked_there() {
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let code = "pub fn f( ) -> i32 {\n    return 1;\n}\n\n#[test]\nfn bad() {\n    assert_eq!(f(), 2);\n}\n";
    let files = [("Cargo.toml", manifest), ("src/lib.rs", code)];
    let project = Project::on(Arc::new(FakeRemoteBackend::default()), &files);
    let lint = project.call("code_lint", json!({})).await;
    assert_eq!(brief(&lint), ["src/lib.rs:2:5 warning clippy::needless_return"], "{lint:#}");
    let format = project.call("code_format", json!({})).await;
    assert_eq!(format["files_changed"][0]["lines_added"], 1, "{format:#}");
    assert!(project.read("src/lib.rs").starts_with("pub fn f() -> i32 {\n"));
    let test = project.call("code_test", json!({})).await;
    assert_eq!((&test["failed"], &test["failures"][0]["line"]), (&json!(1), &json!(7)), "{test:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_are_no_obstacle() {
    let project = Project::of(&[
        ("-x.rs", "fn main( ) {}\n"),
        ("a 'b' \"c\".rs", "fn main( ) {}\n"),
        ("line\nbreak/ü.rs", "fn main( ) {}\n"),
    ]);
    let answer = project.call("code_format", json!({})).await;
    let files = answer["files_changed"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    for name in ["-x.rs", "a 'b' \"c\".rs", "line\nbreak/ü.rs"] {
        assert!(files.iter().any(|file| file["file"] == name), "{name}: {answer:#}");
        assert_eq!(project.read(name), "fn main() {}\n");
    }
    project.write("line\nbreak/ü.rs", "fn main( ) {}\n");
    let one = project.call("code_format", json!({ "path": "line\nbreak/ü.rs" })).await;
    assert_eq!(project.read("line\nbreak/ü.rs"), "fn main() {}\n", "{one:#}");
}
