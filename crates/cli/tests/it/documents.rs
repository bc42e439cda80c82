//! Every command in the documentation works as written.

use std::path::Path;
use std::process::Command;

use hermes_testkit::models::{ModelServer, ScriptedReply};

use crate::context::TestContext;

/// Generated from the examples of the tools, which are tested with their files.
const GENERATED: &str = "docs/tools.md";

/// The pages for users, relative to `root`.
fn documents(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root.join("docs")).expect("the pages").flatten();
    let names = entries.map(|entry| format!("docs/{}", entry.file_name().to_string_lossy()));
    let pages = names.filter(|name| name.ends_with(".md") && name != GENERATED);
    let mut all: Vec<String> = pages.chain(["README.md".to_owned()]).collect();
    all.sort();
    all
}

#[test]
fn every_command_in_the_documents_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let binary = Path::new(env!("CARGO_BIN_EXE_hermes")).parent().expect("a directory");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.").again()]);
    let mut ran = 0;
    for name in documents(&root) {
        let text = std::fs::read_to_string(root.join(&name)).expect("a document");
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
            let shown = [output.stdout, output.stderr].concat();
            let shown = String::from_utf8_lossy(&shown);
            assert!(output.status.success(), "{name}: `{line}` failed: {shown}");
            ran += 1;
        }
    }
    assert!(ran > 50, "only {ran} commands were found");
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
