//! Programs of Node under its inspector.

use serde_json::{Value, json};

use super::{SHOP_JS, local, place};
use crate::checks::{Project, has};

#[tokio::test(flavor = "multi_thread")]
async fn node_stops_at_breakpoints_functions_and_exceptions() {
    if !has("node") {
        return;
    }
    for name in ["shop.cjs", "shop.mjs"] {
        let project = Project::of(&[(name, SHOP_JS)]);
        let debug = async |args: Value| project.call("code_debug", args).await;
        let line = json!({ "file": name, "line": 12, "condition": "price === 2" });
        let run = json!({ "program": name, "args": ["a b"], "breakpoints": [{ "function": "total" }, line] });
        let stop = debug(run).await;
        assert_eq!(stop["reason"], "function breakpoint", "{stop:#}");
        assert_eq!(place(&stop), (name, 10, "total"), "{stop:#}");
        assert_eq!(stop["output"], "hello [ 'a b' ]\n", "{stop:#}");
        let stop = debug(json!({ "action": "continue" })).await;
        assert_eq!(
            (place(&stop).1, local(&stop, "price"), local(&stop, "out")),
            (12, "2", "2"),
            "{stop:#}"
        );
        assert!(local(&stop, "basket").starts_with("Basket {"), "{stop:#}");
        let own: Vec<_> = stop["stack"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["library"].is_null())
            .collect();
        assert_eq!(own.len(), 2, "{stop:#}");
        let item = debug(json!({ "action": "variables", "path": "basket.items[2]" })).await;
        assert_eq!(item["value"]["value"], "3", "{item:#}");
        debug(json!({ "action": "evaluate", "expression": "rate = 10" })).await;
        let step = debug(json!({ "action": "step_over" })).await;
        assert_eq!((&step["reason"], local(&step, "out")), (&json!("step"), "22"), "{step:#}");
        let stop = debug(json!({ "action": "continue" })).await;
        assert_eq!(
            stop["exception"],
            json!({ "type": "RangeError", "message": "no change" }),
            "{stop:#}"
        );
        assert_eq!((place(&stop).1, &stop["output"]), (21, &json!("52\n")), "{stop:#}");
        let end = debug(json!({ "action": "continue" })).await;
        assert_eq!((&end["status"], &end["exit_code"]), (&json!("ended"), &json!(1)), "{end:#}");
        assert!(!end["output"].as_str().unwrap().contains("debugger"), "{end:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn node_counts_logs_moves_and_pauses() {
    if !has("node") {
        return;
    }
    let code = "let n = 0;\nfor (let i = 0; i < 5; i++) {\n  n += i;\n\n  // nothing\n}\nconsole.log('end', n);\nwhile (true) n++;\n";
    let project = Project::of(&[("a.js", code)]);
    let debug = async |args: Value| project.call("code_debug", args).await;
    let at = json!([{ "file": "a.js", "line": 3, "hit": 3 }, { "file": "a.js", "line": 4, "log": "n={n}" }]);
    let run = json!({ "program": "a.js", "breakpoints": at, "timeout": 60 });
    let stop = debug(run).await;
    assert_eq!((place(&stop).1, local(&stop, "i")), (3, "2"), "{stop:#}");
    let go = debug(json!({ "action": "continue", "timeout": 2 })).await;
    assert_eq!((&go["status"], &go["reason"]), (&json!("stopped"), &json!("pause")), "{go:#}");
    assert_eq!(place(&go).1, 8, "{go:#}");
    assert!(go["output"].as_str().unwrap().contains("end 10"), "{go:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_node_stops_at_its_failing_assertion() {
    if !has("node") {
        return;
    }
    let test = "const {test} = require('node:test');\nconst assert = require('node:assert');\ntest('fine', () => assert.ok(true));\ntest('bad', () => {\n  const got = 9;\n  assert.strictEqual(got, 8);\n});\n";
    let project = Project::of(&[("a.test.js", test)]);
    let stop = project.call("code_debug", json!({ "test": "a.test.js::bad" })).await;
    assert_eq!(stop["reason"], "exception", "{stop:#}");
    assert_eq!(
        (place(&stop).0, place(&stop).1, local(&stop, "got")),
        ("a.test.js", 6, "9"),
        "{stop:#}"
    );
    let end = project.call("code_debug", json!({ "action": "continue" })).await;
    assert_eq!((&end["status"], &end["exit_code"]), (&json!("ended"), &json!(1)), "{end:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_programs_are_debugged_at_once() {
    if !has("node") {
        return;
    }
    let project = Project::of(&[("a.js", "const name = process.argv[2];\nconsole.log(name);\n")]);
    let debug = async |args: Value| project.call("code_debug", args).await;
    let at = json!([{ "file": "a.js", "line": 2 }]);
    let run = |name: &str| json!({ "program": "a.js", "args": [name], "breakpoints": at });
    let (one, two) = tokio::join!(debug(run("one")), debug(run("two")));
    assert_ne!(one["session"], two["session"], "{one:#}");
    let list = debug(json!({ "action": "list" })).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 2, "{list:#}");
    for (stop, name) in [(&one, "\"one\""), (&two, "\"two\"")] {
        let ask = json!({ "action": "evaluate", "expression": "name", "session": stop["session"] });
        assert_eq!(debug(ask).await["value"]["value"], name);
    }
    let wrong = debug(json!({ "action": "stack", "session": "debug_99" })).await;
    assert_eq!(wrong["kind"], "not_found", "{wrong:#}");
    let stop = debug(json!({ "action": "stop", "session": one["session"] })).await;
    assert_eq!(stop["status"], "ended", "{stop:#}");
    let list = debug(json!({ "action": "list" })).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn much_output_and_large_values_are_bounded() {
    if !has("node") {
        return;
    }
    let code = "console.log('x'.repeat(5_000_000));\nconst list = Array.from({length: 100_000}, (_, i) => ({i}));\nconst text = 'y'.repeat(1_000_000);\nconst deep = {a: {b: {c: {d: 1}}}};\ndeep.self = deep; deep.map = new Map([['k', 1]]);\nconsole.log('end');\n";
    let project = Project::of(&[("a.js", code)]);
    let at = json!([{ "file": "a.js", "line": 6 }]);
    let run = json!({ "program": "a.js", "breakpoints": at });
    let stop = project.call("code_debug", run).await;
    assert_eq!(place(&stop).1, 6, "{}", stop.to_string().len());
    assert!(stop.to_string().len() < 60_000, "{}", stop.to_string().len());
    let list = stop["locals"].as_array().unwrap().iter().find(|one| one["name"] == "list").unwrap();
    let shown = list["fields"].as_array().unwrap().len() as u64;
    assert_eq!(shown + list["more"].as_u64().unwrap(), 100_000, "{list:#}");
    let map = json!({ "action": "variables", "path": "deep.map" });
    let map = project.call("code_debug", map).await;
    assert_eq!(map["value"]["value"], "Map(1) {k => 1}", "{map:#}");
    let one = json!({ "action": "variables", "path": "list[99999].i" });
    let one = project.call("code_debug", one).await;
    assert_eq!(one["value"]["value"], "99999", "{one:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_a_file_begins_with_is_met() {
    if !has("node") {
        return;
    }
    let code = "function one(x) { return x + 1; }\nconsole.log(one(1), one(2));\n";
    let project = Project::of(&[("a.js", code)]);
    for (condition, first) in [("true", "1"), ("x === 2", "2")] {
        let at = json!([{ "function": "one", "condition": condition }]);
        let stop =
            project.call("code_debug", json!({ "program": "a.js", "breakpoints": at })).await;
        assert_eq!(place(&stop), ("a.js", 1, "one"), "{stop:#}");
        assert_eq!(local(&stop, "x"), first, "{stop:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_of_node_is_not_in_a_function_that_is_declared_first() {
    if !has("node") {
        return;
    }
    let text = "function sum(a) {\n  return a + 1;\n}\n\nconst one = 1;\nconsole.log(sum(one));\n";
    let project = Project::of(&[("sum.js", text)]);
    let run = json!({ "program": "sum.js", "stop_on": ["entry"] });
    let stop = project.call("code_debug", run).await;
    assert_eq!((&stop["reason"], place(&stop).1), (&json!("entry"), 5), "{stop:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_within_a_suite_is_found_as_code_test_names_it() {
    if !has("node") {
        return;
    }
    let text = "const { describe, it } = require('node:test');\ndescribe('suite', () => {\n  it('good', () => {});\n  it('in (bad)', () => {\n    throw new Error('x');\n  });\n});\n";
    let project = Project::of(&[("a.test.js", text)]);
    let at = json!([{ "file": "a.test.js", "line": 5 }]);
    let run = json!({ "test": "a.test.js::suite > in (bad)", "breakpoints": at });
    let stop = project.call("code_debug", run).await;
    assert_eq!((&stop["status"], place(&stop).1), (&json!("stopped"), 5), "{stop:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_breakpoint_on_a_function_cannot_log() {
    let project = Project::of(&[("a.js", "function f() {}\nf();\n")]);
    let place = json!({ "function": "f", "log": "here" });
    let run = json!({ "program": "a.js", "breakpoints": [place] });
    let refused = project.call("code_debug", run).await;
    assert_eq!(refused["kind"], "invalid_arguments", "{refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_cannot_be_evaluated_is_not_silently_false() {
    if !has("node") {
        return;
    }
    let code = "function add(n) {\n  return n + 1;\n}\nconsole.log(add(1));\n";
    let project = Project::of(&[("add.js", code)]);
    let debug = async |point: Value| {
        project.call("code_debug", json!({ "program": "add.js", "breakpoints": [point] })).await
    };
    for place in [json!({ "file": "add.js", "line": 2 }), json!({ "function": "add" })] {
        let with = |condition: &str| {
            let mut point = place.clone();
            point["condition"] = condition.into();
            point
        };
        let unknown = debug(with("nonexistent > 1")).await;
        assert_eq!(unknown["status"], "stopped", "{unknown:#}");
        let said = unknown["output"].as_str().unwrap();
        assert!(said.contains("nonexistent is not defined"), "{unknown:#}");
        let unread = debug(with("n ===")).await;
        assert_eq!(unread["status"], "ended", "{unread:#}");
        assert_eq!(unread["breakpoints"][0]["verified"], false, "{unread:#}");
        assert!(unread["note"].as_str().unwrap().contains("cannot be parsed"), "{unread:#}");
        let right = debug(with("n === 1")).await;
        assert_eq!((&right["status"], local(&right, "n")), (&json!("stopped"), "1"), "{right:#}");
        let never = debug(with("n === 2")).await;
        assert_eq!(never["status"], "ended", "{never:#}");
    }
    let nosuch = debug(json!({ "function": "nosuch" })).await;
    assert_eq!(nosuch["breakpoints"][0]["verified"], false, "{nosuch:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_throws_after_a_pause_stops_where_it_throws() {
    if !has("node") {
        return;
    }
    let code = "const {test} = require('node:test');\n\ntest('throws', async () => {\n  await null;\n  throw new TypeError('boom');\n});\n";
    let project = Project::of(&[("a.test.js", code)]);
    let stop = project.call("code_debug", json!({ "test": "a.test.js::throws" })).await;
    assert_eq!(stop["status"], "stopped", "{stop:#}");
    assert_eq!((place(&stop).0, place(&stop).1), ("a.test.js", 5), "{stop:#}");
    assert_eq!(stop["exception"]["message"], "boom", "{stop:#}");
    let none = project.call("code_debug", json!({ "test": "a.test.js::nosuch" })).await;
    assert_eq!(none["status"], "ended", "{none:#}");
    assert!(none["note"].as_str().unwrap().contains("No test ran"), "{none:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_name_the_last_program_is_meant_even_if_it_has_ended() {
    if !has("node") {
        return;
    }
    let project = Project::of(&[("a.js", "let n = 1;\nn += 1;\n"), ("b.js", "let m = 1;\n")]);
    let debug = async |args: Value| project.call("code_debug", args).await;
    let at = json!([{ "file": "a.js", "line": 2 }]);
    let first = debug(json!({ "program": "a.js", "session": "first", "breakpoints": at })).await;
    assert_eq!(first["status"], "stopped", "{first:#}");
    let last = debug(json!({ "program": "b.js" })).await;
    assert_eq!(last["status"], "ended", "{last:#}");
    for action in ["continue", "step_over"] {
        let late = debug(json!({ "action": action })).await;
        assert_eq!(late["kind"], "conflict", "{late:#}");
    }
    let known = debug(json!({ "action": "evaluate", "expression": "n", "session": "first" })).await;
    assert_eq!(known["value"]["value"], "1", "nothing went on: {known:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_is_entered_at_its_first_line() {
    if !has("node") {
        return;
    }
    let module = "import os from \"node:os\";\nimport {\n  join,\n} from 'node:path';\nexport function g() {\n  return join('a', os.EOL);\n}\nexport default function () {\n  return import.meta.url;\n}\nconst x = g();\nexport { x };\n";
    let files = [("m.mjs", module), ("c.cjs", "function f() {\n  return 1;\n}\nf();\n")];
    let project = Project::of(&files);
    for (file, line) in [("m.mjs", 11), ("c.cjs", 4)] {
        let run = json!({ "program": file, "stop_on": ["entry"], "session": file });
        let stop = project.call("code_debug", run).await;
        assert_eq!(stop["reason"], "entry", "{stop:#}");
        assert_eq!(place(&stop).1, line, "{stop:#}");
    }
}
