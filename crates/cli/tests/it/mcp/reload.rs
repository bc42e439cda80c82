//! Settings that change while a server runs.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{hello, odd, request, settings};
use crate::context::TestContext;

/// A server over pipes.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Served {
    fn start(context: &TestContext, args: &[&str]) -> Self {
        let mut command = context.command(["mcp", "serve"].iter().chain(args));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut served = Self { child, input, lines };
        served.say(&hello());
        served.until(|message| message["id"] == "hello");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        served.say(&ready.to_string());
        served
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("its input"), "{line}").expect("it reads");
    }

    /// The first message that satisfies the predicate.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.next().expect("another line").expect("a line");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if is_it(&message) {
                return message;
            }
        }
    }

    fn tools(&mut self, id: usize) -> Vec<String> {
        self.say(&request(id, "tools/list", &json!({})));
        let listed = self.until(|message| message["id"] == id);
        let tools = listed["result"]["tools"].as_array().expect("tools").iter();
        tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn until_changed(&mut self) {
        self.until(|message| message["method"] == "notifications/tools/list_changed");
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

#[test]
fn toolsets_that_are_switched_off_meanwhile_are_no_longer_offered() {
    let context = TestContext::new();
    let mut served = Served::start(&context, &[]);
    let has = |tools: Vec<String>| tools.iter().any(|name| name == "terminal");
    assert!(has(served.tools(1)));
    context.settings("agent:\n  disabled_toolsets: [terminal]\n");
    served.until_changed();
    assert!(!has(served.tools(2)));
    served.say(&request(
        3,
        "tools/call",
        &json!({"name": "terminal", "arguments": {"command": "id"}}),
    ));
    let refused = served.until(|message| message["id"] == 3);
    assert!(refused["result"]["isError"] == true || refused["error"].is_object(), "{refused}");
    context.settings("agent:\n  disabled_toolsets: []\n");
    served.until_changed();
    assert!(has(served.tools(4)));
    served.end();
}

#[test]
fn servers_that_come_and_go_meanwhile_are_told_of() {
    let context = TestContext::new();
    settings(&context, &json!({"odd": odd("ok")}));
    let mut served = Served::start(&context, &["--toolsets", "mcp-odd,system"]);
    let has = |tools: Vec<String>| tools.iter().any(|name| name == "mcp__odd__echo");
    assert!(has(served.tools(1)));
    settings(&context, &json!({}));
    served.until_changed();
    assert!(!has(served.tools(2)));
    settings(&context, &json!({"odd": odd("ok")}));
    served.until_changed();
    assert!(has(served.tools(3)));
    served.end();
}
