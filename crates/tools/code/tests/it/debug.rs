//! Programs under real debuggers: debugpy, Node's inspector, lldb.

mod native;
mod node;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hermes_core::{Confinement, DynTool, Ports, ToolCall, ToolContext, ToolError};
use hermes_engine::{Caller, Engine};
use hermes_exec::JobRegistry;
use hermes_testkit::backends::FakeRemoteBackend;
use serde_json::{Value, json};

use crate::checks::{Project, are_gone, has, pids};

const SHOP: &str = r#"import sys


class Basket:
    def __init__(self, items):
        self.items = items


def total(basket, rate):
    # The sum of all.

    out = 0
    for price in basket.items:
        out += price * rate
    return out


print("hello", sys.argv[1:])
basket = Basket([1, 2, 3])
result = total(basket, 2)
print(result)
raise ValueError("no change")
"#;

const SHOP_JS: &str = r"class Basket {
  constructor(items) {
    this.items = items;
  }
}

function total(basket, rate) {
  // The sum of all.

  let out = 0;
  for (const price of basket.items) {
    out += price * rate;
  }
  return out;
}

console.log('hello', process.argv.slice(2));
const basket = new Basket([1, 2, 3]);
const result = total(basket, 2);
console.log(result);
throw new RangeError('no change');
";

/// Writes its pids to a file and never exits.
const ENDLESS: &str = "import os\nwith open('pids.part', 'w') as file:\n    file.write(f'{os.getpid()} {os.getppid()}')\nos.rename('pids.part', 'pids')\nn = 0\nwhile True:\n    n += 1\n";

/// A project with debugpy. Without debugpy, prints the reason and returns `None`.
fn python(files: &[(&str, &str)]) -> Option<Project> {
    let project = Project::python(files)?;
    let found = project.path().join(".venv/bin/debugpy").exists();
    if !found {
        eprintln!("skipped: debugpy is not installed (scripts/components/code.sh)");
    }
    found.then_some(project)
}

/// The value of a variable.
fn local<'a>(answer: &'a Value, name: &str) -> &'a str {
    let locals = answer["locals"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let found = locals.iter().find(|one| one["name"] == name);
    found.and_then(|one| one["value"].as_str()).unwrap_or_else(|| panic!("{name}: {answer:#}"))
}

fn place(answer: &Value) -> (&str, u64, &str) {
    let at = &answer["location"];
    let text = |name: &str| at[name].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    (text("file"), at["line"].as_u64().unwrap(), text("function"))
}

#[tokio::test(flavor = "multi_thread")]
async fn python_stops_at_a_breakpoint_and_at_an_exception() {
    let Some(project) = python(&[("shop.py", SHOP)]) else { return };
    let at = json!([{ "file": "shop.py", "line": 14, "condition": "price == 2" }]);
    let run = json!({ "program": "shop.py", "args": ["a b"], "breakpoints": at });
    let stop = project.call("code_debug", run).await;
    assert_eq!(
        (&stop["status"], &stop["reason"]),
        (&json!("stopped"), &json!("breakpoint")),
        "{stop:#}"
    );
    assert_eq!(place(&stop), ("shop.py", 14, "total"));
    assert!(
        stop["location"]["source"].as_str().unwrap().contains(">   14         out += price"),
        "{stop:#}"
    );
    assert_eq!((local(&stop, "price"), local(&stop, "out")), ("2", "2"));
    let basket = stop["locals"].as_array().unwrap().iter().find(|one| one["name"] == "basket");
    assert_eq!(basket.unwrap()["fields"][0]["value"], "[1, 2, 3]", "{stop:#}");
    let frames: Vec<_> = stop["stack"].as_array().unwrap().iter().map(|one| &one["line"]).collect();
    assert_eq!(frames, [14, 20], "{stop:#}");
    assert_eq!(stop["output"], "hello ['a b']\n");
    assert_eq!(stop["hit_breakpoints"], json!([1]));

    let stop = project.call("code_debug", json!({ "action": "continue" })).await;
    assert_eq!(stop["reason"], "exception", "{stop:#}");
    assert_eq!(stop["exception"], json!({ "type": "ValueError", "message": "no change" }));
    assert_eq!(place(&stop), ("shop.py", 22, "<module>"));
    assert_eq!((local(&stop, "result"), &stop["output"]), ("12", &json!("12\n")));

    let end = project.call("code_debug", json!({ "action": "continue" })).await;
    assert_eq!((&end["status"], &end["exit_code"]), (&json!("ended"), &json!(1)), "{end:#}");
    assert!(end["output"].as_str().unwrap().contains("ValueError: no change"), "{end:#}");
    let late = project.call("code_debug", json!({ "action": "step_over" })).await;
    assert_eq!(late["kind"], "conflict", "{late:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn python_is_led_step_by_step_and_looked_into() {
    let Some(project) = python(&[("shop.py", SHOP)]) else { return };
    let act = async |action: &str| project.call("code_debug", json!({ "action": action })).await;
    let at = json!([{ "file": "shop.py", "line": 20 }]);
    let stop = project.call("code_debug", json!({ "program": "shop.py", "breakpoints": at })).await;
    assert_eq!(place(&stop), ("shop.py", 20, "<module>"), "{stop:#}");
    let stop = act("step_into").await;
    assert_eq!(
        (place(&stop), &stop["reason"]),
        (("shop.py", 12, "total"), &json!("step")),
        "{stop:#}"
    );
    assert_eq!(place(&act("step_over").await), ("shop.py", 13, "total"));

    let look = async |args: Value| project.call("code_debug", args).await;
    let one = look(json!({ "action": "variables", "path": "basket.items[2]" })).await;
    assert_eq!(
        (&one["value"]["value"], &one["value"]["type"]),
        (&json!("3"), &json!("int")),
        "{one:#}"
    );
    let outer = look(json!({ "action": "variables", "frame": 1 })).await;
    assert_eq!(
        (place(&outer).1, local(&outer, "basket").contains("Basket")),
        (20, true),
        "{outer:#}"
    );
    let open = look(json!({ "action": "variables", "path": "basket" })).await;
    assert_eq!(open["value"]["fields"][0]["name"], "items", "{open:#}");
    let sum = look(json!({ "action": "evaluate", "expression": "sum(basket.items) * rate" })).await;
    assert_eq!(sum["value"]["value"], "12", "{sum:#}");
    look(json!({ "action": "evaluate", "expression": "rate = 10" })).await;
    let bad = look(json!({ "action": "evaluate", "expression": "nonesuch" })).await;
    assert_eq!(bad["kind"], "invalid_arguments", "{bad:#}");
    assert!(bad["error"].as_str().unwrap().contains("NameError"), "{bad:#}");
    let far = look(json!({ "action": "variables", "frame": 99 })).await;
    assert_eq!(far["kind"], "invalid_arguments", "{far:#}");

    let stop = act("step_out").await;
    assert_eq!(place(&stop).2, "<module>", "{stop:#}");
    act("step_over").await;
    let value = look(json!({ "action": "evaluate", "expression": "result" })).await;
    assert_eq!(value["value"]["value"], "60", "the changed rate counts: {value:#}");
    let over = act("stop").await;
    assert_eq!(over["status"], "ended", "{over:#}");
    assert_eq!(act("stack").await["kind"], "conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_a_breakpoint_is_said() {
    let Some(project) = python(&[("shop.py", SHOP), ("other.py", "x = 1\n")]) else {
        return;
    };
    let debug = async |args: Value| project.call("code_debug", args).await;
    let at = json!([{ "file": "shop.py", "line": 10 }]);
    let moved = debug(json!({ "program": "shop.py", "breakpoints": at })).await;
    let point = &moved["breakpoints"][0];
    assert_eq!(point["asked_line"], 10, "{moved:#}");
    assert_ne!(point["line"], 10, "{moved:#}");
    assert!(moved["note"].as_str().unwrap().contains("line 10 has no code"), "{moved:#}");

    let gone =
        debug(json!({ "program": "shop.py", "breakpoints": [{ "file": "no.py", "line": 1 }] }))
            .await;
    assert_eq!(gone["kind"], "not_found", "{gone:#}");
    assert!(gone["error"].as_str().unwrap().contains("no.py"), "{gone:#}");
    assert_eq!(debug(json!({ "program": "nowhere.py" })).await["kind"], "not_found");
    assert_eq!(debug(json!({ "action": "run" })).await["kind"], "invalid_arguments");

    let run = json!({ "program": "other.py", "breakpoints": [{ "file": "shop.py", "line": 14 }] });
    let unmet = debug(run).await;
    assert_eq!((&unmet["status"], &unmet["exit_code"]), (&json!("ended"), &json!(0)), "{unmet:#}");
    assert!(unmet["note"].as_str().unwrap().contains("before it hit a breakpoint"), "{unmet:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_of_python_is_the_first_line_of_the_program() {
    let Some(project) = python(&[("first.py", "a = 1\nb = 2\n")]) else { return };
    let run = json!({ "program": "first.py", "stop_on": ["entry"] });
    let stop = project.call("code_debug", run).await;
    assert_eq!(place(&stop), ("first.py", 1, "<module>"), "{stop:#}");
    let next = project.call("code_debug", json!({ "action": "step_over" })).await;
    assert_eq!(place(&next).1, 2, "{next:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_the_name_that_it_was_given() {
    let Some(project) = python(&[("shop.py", SHOP)]) else { return };
    let debug = async |args: Value| project.call("code_debug", args).await;
    let run = |name: &str| json!({ "program": "shop.py", "stop_on": ["entry"], "session": name });
    let mine = debug(run("mine")).await;
    assert_eq!(
        (&mine["session"], &mine["status"]),
        (&json!("mine"), &json!("stopped")),
        "{mine:#}"
    );
    let twice = debug(run("mine")).await;
    assert_eq!(twice["kind"], "conflict", "{twice:#}");
    let value = json!({ "action": "evaluate", "expression": "1 + 1", "session": "mine" });
    assert!(debug(value).await.to_string().contains("\"2\""));
    debug(json!({ "action": "stop", "session": "mine" })).await;
    let again = debug(run("mine")).await;
    assert_eq!(again["session"], "mine", "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn breakpoints_are_changed_and_outlive_a_restart() {
    let Some(project) = python(&[("shop.py", SHOP)]) else { return };
    let debug = async |args: Value| project.call("code_debug", args).await;
    let log = json!({ "file": "shop.py", "line": 14, "log": "price is {price}" });
    let run = json!({ "program": "shop.py", "breakpoints": [{ "function": "total" }, log] });
    let first = debug(run).await;
    assert_eq!(place(&first).2, "total", "{first:#}");
    let more = json!([{ "file": "shop.py", "line": 15 }]);
    let set = debug(json!({ "action": "set_breakpoints", "breakpoints": more })).await;
    assert_eq!(set["breakpoints"].as_array().unwrap().len(), 3, "{set:#}");
    let no = json!([{ "file": "none.py", "line": 15 }]);
    let no = debug(json!({ "action": "set_breakpoints", "breakpoints": no })).await;
    assert_eq!(no["kind"], "not_found", "{no:#}");
    let stop = debug(json!({ "action": "continue" })).await;
    assert_eq!(place(&stop), ("shop.py", 15, "total"), "{stop:#}");

    let function = json!([{ "function": "total" }]);
    let clear = debug(json!({ "action": "clear_breakpoints", "breakpoints": function })).await;
    assert_eq!(clear["breakpoints"].as_array().unwrap().len(), 2, "{clear:#}");
    let again = debug(json!({ "action": "restart" })).await;
    assert_eq!(again["session"], first["session"], "{again:#}");
    assert_eq!(
        (place(&again), local(&again, "out")),
        (("shop.py", 15, "total"), "12"),
        "{again:#}"
    );
    debug(json!({ "action": "clear_breakpoints" })).await;
    let stop = debug(json!({ "action": "continue" })).await;
    assert_eq!(stop["reason"], "exception", "{stop:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_stop_is_paused_and_ended_with_the_engine() {
    let Some(project) = python(&[("loop.py", ENDLESS)]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let jobs = Arc::new(JobRegistry::local(dir.path().join("jobs")));
    let engine = Engine::builder()
        .ports(Ports::new().with(Arc::clone(&jobs)))
        .tools(hermes_tools_code::tools())
        .spill_to(dir.path().join("spill"))
        .build()
        .unwrap();
    let caller = Caller::new(project.path());
    let run = ToolCall::new("1", "code_debug", json!({ "program": "loop.py", "timeout": 3 }));
    let result = engine.call(run, &caller).await;
    let stop: Value = serde_json::from_str(&result.content).unwrap();
    assert_eq!(
        (&stop["status"], &stop["reason"]),
        (&json!("stopped"), &json!("pause")),
        "{stop:#}"
    );
    assert_eq!(place(&stop).0, "loop.py");
    assert!(local(&stop, "n").parse::<u64>().unwrap() > 0, "{stop:#}");
    assert!(stop["note"].as_str().unwrap().contains("so it was paused"), "{stop:#}");
    let pids = pids(project.path()).await;
    engine.shutdown().await;
    assert!(are_gone(&pids).await, "{pids:?}");
    assert!(jobs.records().unwrap().running().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_leaves_nothing() {
    let Some(project) = python(&[("loop.py", ENDLESS)]) else { return };
    let project = Arc::new(project);
    let other = Arc::clone(&project);
    let call =
        tokio::spawn(
            async move { other.call("code_debug", json!({ "program": "loop.py" })).await },
        );
    let pids = pids(project.path()).await;
    project.caller().cancel.cancel();
    let answer = call.await.unwrap();
    assert_eq!(answer["kind"], "cancelled", "{answer:#}");
    assert!(are_gone(&pids).await, "{pids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_debugger_that_breaks_down_says_so_and_takes_the_program_along() {
    let Some(project) = python(&[("loop.py", ENDLESS)]) else { return };
    let project = Arc::new(project);
    let other = Arc::clone(&project);
    let call =
        tokio::spawn(
            async move { other.call("code_debug", json!({ "program": "loop.py" })).await },
        );
    let pids = pids(project.path()).await;
    let killed = Command::new("kill").args(["-9", &pids[1].to_string()]).status().unwrap();
    assert!(killed.success());
    let answer = call.await.unwrap();
    assert_eq!(answer["kind"], "unavailable", "{answer:#}");
    assert!(answer["error"].as_str().unwrap().contains("crashed"), "{answer:#}");
    assert!(are_gone(&pids).await, "{pids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_pytest_stops_at_its_failing_assertion() {
    let test = "import pytest\n\n\ndef double(n):\n    return n + n + 1\n\n\ndef test_fine():\n    assert True\n\n\ndef test_double():\n    with pytest.raises(KeyError):\n        {}['x']\n    got = double(4)\n    assert got == 8\n";
    let Some(project) = python(&[("tests/test_double.py", test)]) else { return };
    let run = json!({ "test": "tests/test_double.py::test_double" });
    let stop = project.call("code_debug", run).await;
    assert_eq!(stop["reason"], "exception", "{stop:#}");
    assert_eq!(stop["exception"]["type"], "AssertionError", "{stop:#}");
    assert_eq!(place(&stop), ("tests/test_double.py", 16, "test_double"), "{stop:#}");
    assert_eq!(local(&stop, "got"), "9");
    let end = project.call("code_debug", json!({ "action": "continue" })).await;
    assert_eq!((&end["status"], &end["exit_code"]), (&json!("ended"), &json!(1)), "{end:#}");
    assert!(end["output"].as_str().unwrap().contains("1 failed"), "{end:#}");
    let fine =
        project.call("code_debug", json!({ "test": "tests/test_double.py::test_fine" })).await;
    assert_eq!((&fine["status"], &fine["exit_code"]), (&json!("ended"), &json!(0)), "{fine:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chosen_exceptions_stop_even_if_they_are_caught() {
    let code = "try:\n    {}['a']\nexcept KeyError:\n    pass\ntry:\n    int('x')\nexcept ValueError:\n    pass\n";
    let Some(project) = python(&[("a.py", code)]) else { return };
    let stop =
        project.call("code_debug", json!({ "program": "a.py", "stop_on": ["ValueError"] })).await;
    assert_eq!((&stop["exception"]["type"], place(&stop).1), (&json!("ValueError"), 6), "{stop:#}");
    let none = project.call("code_debug", json!({ "program": "a.py" })).await;
    assert_eq!((&none["status"], &none["exit_code"]), (&json!("ended"), &json!(0)), "{none:#}");
    project.write("b.py", "import sys\nsys.exit(3)\n");
    let exit = project.call("code_debug", json!({ "program": "b.py" })).await;
    assert_eq!((&exit["status"], &exit["exit_code"]), (&json!("ended"), &json!(3)), "{exit:#}");
    let module =
        project.call("code_debug", json!({ "program": "-m a", "stop_on": ["raised"] })).await;
    assert_eq!(
        (&module["exception"]["type"], place(&module).1),
        (&json!("KeyError"), 2),
        "{module:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_debugger_is_named_with_the_command_that_installs_it() {
    if !has("python3") {
        return;
    }
    let project = Project::of(&[("a.py", "x = 1\n")]);
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(project.path())
        .status()
        .unwrap();
    assert!(made.success());
    let answer = project.call("code_debug", json!({ "program": "a.py" })).await;
    assert_eq!(answer["kind"], "unavailable", "{answer:#}");
    let install = answer["install"].as_str().unwrap();
    assert!(install.ends_with(".venv/bin/python -m pip install debugpy"), "{answer:#}");
    project.write("uv.lock", "");
    let answer = project.call("code_debug", json!({ "program": "a.py" })).await;
    assert_eq!(answer["install"], "uv add --dev debugpy", "{answer:#}");
}

/// A tool that is called directly, whose programs have no network.
struct Held {
    tool: Arc<dyn DynTool>,
    cx: ToolContext,
    _jobs: tempfile::TempDir,
}

impl Held {
    fn at(project: &Project) -> Self {
        let tools = hermes_tools_code::tools();
        let tool = tools.into_iter().find(|one| one.spec().name == "code_debug").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut cx = ToolContext::bare(project.path());
        cx.ports =
            Arc::new(Ports::new().with(Arc::new(JobRegistry::local(dir.path().join("jobs")))));
        cx.confinement = Some(Arc::new(Confinement {
            read: vec!["/".into()],
            write: vec![project.path().into()],
            ..Confinement::default()
        }));
        Self { tool, cx, _jobs: dir }
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        let bound = Arc::clone(&self.tool).bind(&args).unwrap();
        let output = bound.run(self.cx.clone()).await?;
        Ok(serde_json::from_str(output.content()).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn within_walls_and_without_a_network_programs_are_debugged_all_the_same() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("out").display().to_string();
    let code = format!(
        "try:\n    open('{target}', 'w')\nexcept OSError as e:\n    why = str(e)\nprint(1)\n"
    );
    let node = format!(
        "let why;\ntry {{\n  require('fs').writeFileSync('{target}', '');\n}} catch (e) {{ why = e.code; }}\nconsole.log(1);\n"
    );
    let Some(project) = python(&[("a.py", &code), ("a.js", &node)]) else { return };
    let held = Held::at(&project);
    for file in ["a.py", "a.js"] {
        let at = json!([{ "file": file, "line": 5 }]);
        let stop = match held.call(json!({ "program": file, "breakpoints": at })).await {
            Err(error) if error.message().contains("Landlock") => {
                eprintln!("skipped: {error}");
                return;
            }
            stop => stop.unwrap(),
        };
        assert_eq!((&stop["reason"], place(&stop).1), (&json!("breakpoint"), 5), "{stop:#}");
        let why = local(&stop, "why");
        let refusals = ["EACCES", "denied", "EROFS", "Read-only"];
        assert!(refusals.iter().any(|refusal| why.contains(refusal)), "{stop:#}");
        assert_eq!(held.call(json!({ "action": "continue" })).await.unwrap()["exit_code"], 0);
    }
    assert!(!Path::new(&target).exists());
    held.tool.teardown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_elsewhere_are_debugged_there() {
    if !has("node") {
        return;
    }
    let project = Project::on(Arc::new(FakeRemoteBackend::default()), &[("shop 'a'.js", SHOP_JS)]);
    let at = json!([{ "file": "shop 'a'.js", "line": 12, "hit": 2 }]);
    let run = json!({ "program": "shop 'a'.js", "breakpoints": at });
    let stop = project.call("code_debug", run).await;
    assert_eq!((place(&stop).1, local(&stop, "price")), (12, "2"), "{stop:#}");
    assert!(stop["location"]["source"].as_str().unwrap().contains(">   12"), "{stop:#}");
    let gone = project.call("code_debug", json!({ "program": "nowhere.js" })).await;
    assert_eq!(gone["kind"], "not_found", "{gone:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_only_waits_is_shown_where_it_waits() {
    let code = "import time\n\n\ndef nap():\n    time.sleep(600)\n\n\nnap()\n";
    let Some(project) = python(&[("nap.py", code)]) else { return };
    // So it is about to wait, regardless of how long it took to start.
    let run = json!({ "program": "nap.py", "breakpoints": [{ "file": "nap.py", "line": 5 }] });
    let begun = project.call("code_debug", run).await;
    assert_eq!(begun["status"], "stopped", "{begun:#}");
    let waits = project.call("code_debug", json!({ "action": "continue", "timeout": 2 })).await;
    assert_eq!(waits["status"], "running", "{waits:#}");
    assert!(waits["note"].as_str().unwrap().contains("cannot be paused at once"), "{waits:#}");
    let early = project.call("code_debug", json!({ "action": "variables" })).await;
    assert_eq!(early["kind"], "conflict", "{early:#}");
    let stop = project.call("code_debug", json!({ "action": "stop" })).await;
    assert_eq!(stop["status"], "ended", "{stop:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_debugged_is_refused() {
    let project = Project::of(&[("a.sh", "#!/bin/sh\necho\n"), ("note", "text")]);
    for program in ["a.sh", "note"] {
        let answer = project.call("code_debug", json!({ "program": program })).await;
        assert_eq!(answer["kind"], "invalid_arguments", "{answer:#}");
    }
    let answer = project.call("code_debug", json!({ "action": "continue" })).await;
    assert_eq!(answer["kind"], "conflict", "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_cannot_be_evaluated_stops_and_says_why() {
    let code = "def add(n):\n    return n + 1\n\n\nprint(add(1))\n";
    let Some(project) = python(&[("add.py", code)]) else { return };
    let cases =
        [("nonexistent > 1", "NameError", true), ("syntax error here", "SyntaxError", false)];
    for (condition, why, is_read) in cases {
        let point = json!({ "file": "add.py", "line": 2, "condition": condition });
        let run = json!({ "program": "add.py", "breakpoints": [point] });
        let answer = project.call("code_debug", run).await;
        assert_eq!(answer["status"], "stopped", "{answer:#}");
        assert!(answer["output"].as_str().unwrap().contains(why), "{answer:#}");
        let listed = project.call("code_debug", json!({ "action": "stack" })).await;
        for answer in [&answer, &listed] {
            let point = &answer["breakpoints"][0];
            if point.is_object() {
                assert_eq!(point["verified"], is_read, "{condition}: {answer:#}");
            }
        }
        assert_eq!(answer["breakpoints"][0]["verified"], is_read, "{condition}: {answer:#}");
    }
    let run = json!({ "program": "add.py", "breakpoints": [{ "function": "nosuch" }] });
    let answer = project.call("code_debug", run).await;
    assert_eq!(answer["breakpoints"][0]["verified"], false, "{answer:#}");
    let note = answer["note"].as_str().unwrap();
    assert!(note.contains("no function of this name was called"), "{answer:#}");
}
