//! Common MCP servers through the command, and one that receives notices of its
//! calls.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::python;
use crate::context::TestContext;

/// Allows calls of every server without approval.
const TRUSTING: &str = "profiles:
  default:
    allow: [\"mcp:*\"]
";

/// A context with these servers and without the package check. The servers are
/// required, so a slow machine waits for them.
fn with_servers(servers: impl FnOnce(&TestContext) -> Value) -> TestContext {
    let context = TestContext::new();
    let mut servers = servers(&context);
    for server in servers.as_object_mut().into_iter().flat_map(|it| it.values_mut()) {
        server["required"] = true.into();
    }
    std::fs::write(context.home().join("hermes_permissions.yaml"), TRUSTING).expect("profiles");
    context.settings(json!({"mcp": {"osv_url": ""}, "mcp_servers": servers}).to_string());
    context
}

/// The results of a batch, without the marker for untrusted content.
fn batch(context: &TestContext, calls: &[(&str, Value)]) -> Vec<Value> {
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        json!({"id": at.to_string(), "type": "function",
               "function": {"name": name, "arguments": arguments}})
    });
    let input = json!({"tool_calls": calls.collect::<Vec<_>>()});
    let answer = context.feed(["exec"], input.to_string()).json();
    let results = answer["tool_results"].as_array().cloned().unwrap_or_default();
    assert_eq!(results.len(), input["tool_calls"].as_array().map_or(0, Vec::len), "{answer}");
    results.iter().map(|result| result["content"].clone()).collect()
}

/// The path of a server from npm, if installed.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn npm(package: &str) -> Option<PathBuf> {
    let modules = std::env::var_os("HERMES_TEST_MCP_NODE").map(PathBuf::from);
    let script = modules.map(|it| it.join("@modelcontextprotocol").join(package));
    let script = script.map(|it| it.join("dist/index.js")).filter(|it| it.is_file());
    if script.is_none() {
        println!("skipped: HERMES_TEST_MCP_NODE has no {package}");
    }
    script
}

/// A web page on this machine, for any number of requests.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let body = "High water at noon.";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    format!("http://{address}/")
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=T", "-c", "user.email=t@example.org"]);
    let done = command.args(args).env("HOME", dir).output().expect("git");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

/// Whether any process has this argument.
fn runs(word: &Path) -> bool {
    let word = word.display().to_string();
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes.into_iter().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    })
}

#[test]
fn the_servers_for_git_and_pages_do_their_work() {
    let Some(venv) = python() else { return };
    let repository = tempfile::tempdir().expect("a directory");
    let dir = repository.path();
    git(dir, &["init", "-q", "-b", "main"]);
    for (name, value) in [("user.name", "T"), ("user.email", "t@example.org")] {
        git(dir, &["config", name, value]);
    }
    std::fs::write(dir.join("a.txt"), "one\n").expect("a file");
    let run = |module: &str, more: &[&str]| {
        let args = ["-m", module].into_iter().chain(more.iter().copied());
        json!({"command": venv.join("bin/python"), "args": args.collect::<Vec<_>>()})
    };
    let place = dir.display().to_string();
    let context = with_servers(|_| {
        json!({
            "git": run("mcp_server_git", &["--repository", &place]),
            "fetch": run("mcp_server_fetch", &["--ignore-robots-txt", "--allow-private-ips"]),
        })
    });
    // Calls that change something keep their order in the batch.
    let answers = batch(
        &context,
        &[
            ("mcp__git__git_add", json!({"repo_path": place, "files": ["a.txt"]})),
            ("mcp__git__git_commit", json!({"repo_path": place, "message": "The first"})),
            ("mcp__git__git_log", json!({"repo_path": place})),
            ("mcp__fetch__fetch", json!({"url": page()})),
        ],
    );
    for (answer, wanted) in answers.iter().zip(["staged", "commit", "The first", "High water"]) {
        assert!(answer["status"] == "success", "{answer}");
        assert!(answer.to_string().contains(wanted), "{wanted} of {answer}");
    }
    assert!(git(dir, &["log", "--format=%s"]).contains("The first"));
    assert!(!runs(dir), "a server is left running");
}

#[test]
fn the_servers_for_files_and_memory_do_their_work() {
    let (Some(files), Some(memory)) = (npm("server-filesystem"), npm("server-memory")) else {
        return;
    };
    let context = with_servers(|context| {
        let kept = context.work().join("memory.json");
        json!({
            "files": {"command": "node", "args": [files, context.work()]},
            "memory": {"command": "node", "args": [memory], "env": {"MEMORY_FILE_PATH": kept}},
        })
    });
    let text = context.file("a.txt", "hello from a file");
    let entity = |name: &str| json!({"name": name, "entityType": "person", "observations": ["x"]});
    let relation = json!({"from": "Ann", "to": "Bob", "relationType": "knows"});
    let answers = batch(
        &context,
        &[
            ("mcp__files__read_text_file", json!({"path": text})),
            ("mcp__memory__create_entities", json!({"entities": [entity("Ann"), entity("Bob")]})),
            ("mcp__memory__create_relations", json!({"relations": [relation]})),
            ("mcp__memory__read_graph", json!({})),
        ],
    );
    assert!(answers[0].to_string().contains("hello from a file"), "{}", answers[0]);
    assert!(answers[3].to_string().contains("knows"), "{}", answers[3]);
    // A single call with the exact name.
    let arguments = json!({"path": text}).to_string();
    let run = context.run(["call", "mcp-files:read_text_file", &arguments]).succeeds();
    assert!(run.stdout.contains("hello from a file"), "{}", run.stdout);
    assert!(!runs(&context.work()), "a server is left running");
}

#[test]
fn calls_of_a_batch_are_at_one_server_together() {
    let Some(venv) = python() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/it/servers/sdk.py");
    let entry = json!({"command": venv.join("bin/python"), "args": [script]});
    let context = with_servers(|_| json!({"sdk": entry}));
    let answers = batch(&context, &vec![("mcp__sdk__meet", json!({"count": 32})); 32]);
    // Each was still running when the last one arrived.
    assert!(answers.iter().all(|it| it.to_string().contains("32")), "{answers:?}");
}

/// A server that requires a login, and its URL; it is stopped on drop.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn guarded(context: &TestContext) -> (Guarded, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/it/servers/guarded.py");
    let file = context.home().join("port");
    let mut command = Command::new("python3");
    command.args(["-S", "-E", script]).arg(&file).stdin(Stdio::null());
    let running = Guarded(command.spawn().expect("starts"));
    for _ in 0..1500 {
        match std::fs::read_to_string(&file) {
            Ok(port) if !port.is_empty() => {
                return (running, format!("http://127.0.0.1:{port}/mcp"));
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    panic!("the server does not listen");
}

/// The redirect target of a URL.
fn sent_to(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut stream = std::net::TcpStream::connect(host).expect("a server");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .expect("it listens");
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut found = lines.filter_map(|line| line.strip_prefix("Location: ").map(str::to_owned));
    found.next().expect("somewhere else")
}

#[test]
fn a_login_takes_the_address_from_a_pipe_and_asks_again_for_what_is_none() {
    let context = TestContext::new();
    let (_running, url) = guarded(&context);
    let entry = json!({"url": url, "auth": "oauth"});
    context.settings(json!({"mcp": {"osv_url": ""}, "mcp_servers": {"g": entry}}).to_string());
    let mut command = context.command(["mcp", "login", "g"]);
    let (stdin, stderr) = (Stdio::piped(), Stdio::piped());
    let mut login =
        command.stdin(stdin).stdout(Stdio::piped()).stderr(stderr).spawn().expect("starts");
    let mut input = login.stdin.take().expect("its input");
    let mut lines = BufReader::new(login.stderr.take().expect("its words")).lines();
    let mut until = |wanted: &str| {
        lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.contains(wanted))
            .unwrap_or_else(|| panic!("nothing was said of {wanted}"))
    };
    let address = until("/authorize?");
    writeln!(input, "is this it?").expect("it reads");
    until("no `code`");
    writeln!(input, "{}", sent_to(address.trim())).expect("it reads");
    until("Logged in");
    assert_eq!(login.wait().expect("it ends").code(), Some(0));
}
