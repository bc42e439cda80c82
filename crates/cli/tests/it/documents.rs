//! Every command in the documents works as it is written.

use std::path::Path;
use std::process::Command;

use hermes_testkit::models::{ModelServer, ScriptedReply};

use crate::context::TestContext;

const DOCUMENTS: [&str; 14] = [
    "README.md",
    "docs/agent.md",
    "docs/batch.md",
    "docs/checkpoints.md",
    "docs/cron.md",
    "docs/files.md",
    "docs/mcp.md",
    "docs/memory.md",
    "docs/permissions.md",
    "docs/sandbox.md",
    "docs/sessions.md",
    "docs/skills.md",
    "docs/terminal.md",
    "docs/writing-a-tool.md",
];

#[test]
fn every_command_in_the_documents_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let binary = Path::new(env!("CARGO_BIN_EXE_hermes")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.").again()]);
    let mut ran = 0;
    for name in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(name)).expect("a document");
        let context = TestContext::new();
        std::fs::write(context.work().join("README.md"), &text).expect("a file to read");
        for line in shell_lines(&text) {
            let output = Command::new("bash")
                .args(["-c", line])
                .current_dir(context.work())
                .env("PATH", &path)
                .env("HERMES_HOME", context.home())
                .env("OPENAI_BASE_URL", server.url())
                .env("OPENAI_API_KEY", "none")
                .env("HERMES_MODEL", "gpt-scripted")
                .output()
                .expect("bash runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{name}: `{line}` failed: {said}");
            ran += 1;
        }
    }
    assert!(ran > 10, "only {ran} commands were found");
}

/// The lines of the `sh` blocks of a document.
fn shell_lines(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside && !line.trim().is_empty() => lines.push(line),
            _ => {}
        }
    }
    lines
}
