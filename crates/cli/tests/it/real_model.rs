//! A real, small model behind a llama.cpp server calls a tool, end to end.

use std::time::Duration;

use crate::context::TestContext;

/// A model on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(280);

#[test]
fn a_real_model_writes_a_file() {
    let Ok(url) = std::env::var("HERMES_TEST_MODEL_URL") else {
        println!("skipped: there is no model (make test-slow starts one)");
        return;
    };
    let context = TestContext::new();
    // Even a small model calls a tool if it is the only possible reply.
    let grammar = r#"root ::= "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"" [a-z]{1,8} ".txt\", \"content\": \"" [a-zA-Z ]{1,40} "\"}}\n</tool_call>""#;
    context.settings(format!(
        "model:\n  default: smol\n  provider: here\n  context_length: 2048\n  max_tokens: 200\n  \
         tool_calls: text\nproviders:\n  here:\n    base_url: {url}\n    extra_body:\n      \
         grammar: '{grammar}'\ntool_search:\n  enabled: \"off\"\n"
    ));
    context.run(["toolsets", "create", "pen", "--tools", "write_file"]).succeeds();
    let command = context.command([
        "--json",
        "run",
        "--toolset",
        "pen",
        "--max-turns",
        "1",
        "Write the text hello to the file out.txt",
    ]);
    let run = context.finish_within(PATIENCE, command, b"");
    let call = run.stdout.lines().find(|line| line.contains(r#""type":"call_result""#));
    let call = call.unwrap_or_else(|| panic!("no call:\n{}\n{}", run.stdout, run.stderr));
    let call: serde_json::Value = serde_json::from_str(call).expect("JSON");
    assert_eq!(call["tool"], "write_file", "{call}");
    assert_eq!(call["status"], "success", "{call}");
    let content: serde_json::Value =
        serde_json::from_str(call["content"].as_str().expect("text")).expect("JSON");
    let path = content["resolved_path"].as_str().expect("a path");
    let written = std::fs::read_to_string(path).expect("the file that the tool wrote");
    assert!(!written.is_empty());
}
