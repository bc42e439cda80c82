//! What scripts try that they should not: each is refused or bounded, the
//! answer says so, and nothing is left running.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{ChildLimits, Confinement};
use hermes_scripts::ScriptLimits;
use serde_json::{Value, json};

use super::desk::{Desired, Desk, alive, eventually, held, text};

/// A desk whose scripts see their directory and the system, and no secret. If
/// the system cannot confine them, prints the reason and returns `None`.
async fn confined() -> Option<(Desk, tempfile::TempDir)> {
    let secret = tempfile::tempdir().unwrap();
    let place = secret.path().canonicalize().unwrap();
    std::fs::write(place.join("key"), "the secret").unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let confinement = Confinement {
        read: vec!["/".into()],
        write: vec![workspace.path().canonicalize().unwrap()],
        hidden: vec![place],
        ..Confinement::default()
    };
    let desk = Desk::with(Desired { policy: Some(held(confinement)), ..Desired::default() });
    let probe = desk.run("print(1)").await;
    if probe["kind"] == "unavailable" {
        eprintln!("skipped: {}", probe["error"]);
        return None;
    }
    assert_eq!(probe["output"], "1\n", "{probe}");
    Some((desk, secret))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_holds_scripts_and_lets_their_calls_through() {
    let Some((desk, secret)) = confined().await else { return };
    desk.write("a.txt", "alpha");
    let secret = secret.path().join("key");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!(
        r#"
import socket, subprocess, tempfile
from hermes_tools import read_file
def attempt(what, f):
    try:
        print(what, "GOT", f())
    except OSError as error:
        print(what, "refused", type(error).__name__)
attempt("read", lambda: open({secret:?}).read())
attempt("write", lambda: open({outside:?}, "w"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", {port}), 2))
shell = subprocess.run(["sh", "-c", "cat {shell}; echo $?"], capture_output=True, text=True)
print("shell", shell.stdout.strip())
print("call", read_file("a.txt")["content"])
print("scratch", tempfile.TemporaryFile().write(b"x"))
open({outside:?}, "w")
"#,
        outside = desk.path().join("outside").display().to_string(),
        shell = secret.display(),
    );
    let answer = desk.run(&code).await;
    let output = text(&answer["output"]);
    for line in ["read refused", "write refused", "shell 1\n"] {
        assert!(output.contains(line), "{line}: {answer}");
    }
    assert!(output.contains("connect refused"), "{answer}");
    assert!(output.contains("call alpha\nscratch 1\n"), "{answer}");
    assert!(!output.contains("the secret"), "{answer}");
    let blocked = answer["blocked"].to_string();
    assert!(blocked.contains("outside") && blocked.contains("allowed_paths"), "{answer}");
    assert!(text(&answer["sandbox"]).contains("landlock"), "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_scripts_write_in_their_own_folder_only() {
    let Some((desk, _secret)) = confined().await else { return };
    let code = format!(
        "open('own', 'w').write('x')\nprint('own')\nopen({:?}, 'w')",
        desk.path().join("file").display().to_string()
    );
    let answer = desk.call("execute_code", json!({ "code": code, "mode": "strict" })).await;
    assert!(text(&answer["output"]).starts_with("own\n"), "{answer}");
    assert!(
        ["PermissionError", "OSError: [Errno 30]"]
            .iter()
            .any(|it| text(&answer["error"]).starts_with(it)),
        "{answer}"
    );
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_sees_no_other_scripts_folder_and_no_other_programs_socket() {
    let elsewhere = tempfile::tempdir().unwrap();
    let socket = elsewhere.path().join("agent");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let Some((desk, _secret)) = confined().await else { return };
    let other = tempfile::tempdir_in(hermes_exec::private_dir().unwrap()).unwrap();
    std::fs::write(other.path().join("script.py"), "print()").unwrap();
    let code = format!(
        "import os, socket
from hermes_tools import terminal
room = os.path.dirname(os.environ['HERMES_RPC_SOCKET'])
top = os.path.dirname(room)
den = os.path.dirname(top)
print(os.listdir(top) == [os.path.basename(room)], os.listdir(den) == [os.path.basename(top)])
print(os.path.exists({:?}))
print(terminal('ls', workdir='/')['command'])
socket.socket(socket.AF_UNIX).connect({:?})",
        other.path().join("script.py").to_str().unwrap(),
        socket.to_str().unwrap(),
    );
    let answer = desk.run(&code).await;
    assert!(text(&answer["output"]).starts_with("True True\nFalse\nls\n"), "{answer}");
    assert!(text(&answer["error"]).starts_with("ConnectionRefusedError"), "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_not_offered_is_refused() {
    let desk = Desk::new();
    let code = r#"
import hermes_tools
from hermes_tools import terminal
for tool, words in [("extra", {}), ("execute_code", {"code": "1"}), ("terminal", {"command": "x", "background": True})]:
    result = hermes_tools._call(tool, words)
    print(result["kind"], result["hint"])
try:
    terminal("x", background=True)
except TypeError as error:
    print("no such argument")
print(terminal("ls", workdir="/")["command"])
"#;
    let answer = desk.run(code).await;
    let offered = "denied Scripts may call: read_file, write_file, terminal.\n";
    let wanted = format!(
        "{offered}{offered}invalid_arguments It has: command, workdir.\nno such argument\nls\n"
    );
    assert_eq!(answer["output"], wanted, "{answer}");
    assert_eq!(answer["tool_calls_made"], 1);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_51st_call_is_refused_and_the_script_goes_on() {
    let desk = Desk::new();
    desk.write("a.txt", "alpha");
    let code = "from hermes_tools import *\ndone = 0\nfor n in range(53):\n    \
                result = read_file('a.txt', n + 1)\n    done += result.ok\n\
                print(done, result['kind'])";
    let answer = desk.run(code).await;
    assert_eq!((&answer["output"], &answer["status"]), (&json!("50 limit\n"), &json!("success")));
    assert_eq!(answer["tool_calls_made"], 50);
    let warning = "3 tool calls were refused: a script may make 50";
    assert_eq!(answer["warning"], warning, "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_of_output_is_bounded() {
    let desk = Desk::new();
    let code = "import os, sys\nprint('first')\nline = b'x' * 1023 + b'\\n'\n\
                for _ in range(1024): os.write(1, b'') or sys.stdout.buffer.write(line * 1024)\n\
                print('last')\nprint('the cause', file=sys.stderr)";
    let answer = desk.run(code).await;
    let output = text(&answer["output"]);
    assert_eq!(answer["stdout_bytes_total"], (1 << 30) + 11, "{}", answer["error"]);
    assert!(output.len() < 52_000, "{}", output.len());
    assert!(output.starts_with("first\n") && output.contains("\nlast\n--- stderr ---\nthe cause"));
    assert_eq!((&answer["stdout_truncated"], &answer["status"]), (&json!(true), &json!("success")));
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_are_left_out_are_counted() {
    let desk = Desk::new();
    let code = "import sys\nfor at in range(10_000): print(f'{at:06}', file=sys.stderr)";
    let answer = desk.run(code).await;
    let (_, errors) = text(&answer["output"]).split_once("--- stderr ---\n").unwrap();
    let (mark, shown) = errors.split_once('\n').unwrap();
    let left = 70_000 - shown.len();
    assert_eq!(mark, format!("[... {left} bytes left out ...]"), "{answer}");
    assert!(shown.ends_with("009999\n"), "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends_with_its_time_and_all_that_it_started() {
    let desk = Desk::new();
    let code = "import signal, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
                subprocess.Popen(['sleep', '1000'])\nprint('so far', flush=True)\nwhile True: pass";
    let begin = Instant::now();
    let answer = desk.call("execute_code", json!({ "code": code, "timeout": 2 })).await;
    assert!(begin.elapsed().as_secs() < 60);
    assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("timeout"), &json!(124)));
    assert_eq!(answer["output"], "so far\n", "{answer}");
    assert!(text(&answer["error"]).starts_with("The script was ended after 2 s"), "{answer}");
    assert_eq!(alive(desk.path()), 0);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_hides_is_ended_with_the_script() {
    let desk = Desk::new();
    // It leaves the session, closes all that it has, and loses its parent.
    let code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    \
                if os.fork(): os._exit(0)\n    os.closerange(0, 99)\n    \
                open('hidden', 'w').close()\n    time.sleep(1000)\n    os._exit(0)\n\
                while not os.path.exists('hidden'): time.sleep(0.01)\nprint('done')";
    let answer = desk.run(code).await;
    assert_eq!((&answer["output"], &answer["status"]), (&json!("done\n"), &json!("success")));
    let warning = "Processes that the script had left running were ended";
    assert_eq!(answer["warning"], warning, "{answer}");
    assert_eq!(alive(desk.path()), 0);
    desk.close().await;
}

/// What a script needs to speak for itself.
const RAW: &str = "import json, os, socket\n\
    def speak(door, token, tool='read_file', args={'path': 'a.txt'}, leave=False):\n    \
        line = socket.socket(socket.AF_UNIX)\n    line.connect(door)\n    \
        body = json.dumps({'id': 5, 'token': token, 'tool': tool, 'args': args}).encode()\n    \
        line.sendall(len(body).to_bytes(4, 'big') + body)\n    \
        if leave: return line.close()\n    \
        data = b''\n    \
        while True:\n        \
            more = line.recv(65536)\n        data += more\n        \
            if not more or len(data) >= 4 + int.from_bytes(data[:4], 'big'): return data[4:].decode()\n\
    door, token = os.environ['HERMES_RPC_SOCKET'], os.environ['HERMES_RPC_TOKEN']\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_worth_nothing_after_its_run() {
    let desk = Desk::new();
    desk.write("a.txt", "alpha");
    let first = desk.run(&format!("{RAW}print(door, token)\nspeak(door, token)")).await;
    assert_eq!(first["tool_calls_made"], 1, "{first}");
    let words: Vec<&str> = text(&first["output"]).split_whitespace().collect();
    let [door, token] = words[..] else { panic!("{first}") };
    assert!(std::os::unix::net::UnixStream::connect(door).is_err());
    let code = format!("{RAW}print(token == {token:?}, speak(door, {token:?}))");
    let second = desk.run(&code).await;
    assert!(text(&second["output"]).starts_with("False {"), "{second}");
    assert!(text(&second["output"]).contains("not the token of this run"), "{second}");
    assert!(text(&second["warning"]).contains("their token was not this run's"), "{second}");
    assert_eq!(second["tool_calls_made"], 0);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_another_run_is_refused() {
    let desk = Arc::new(Desk::new());
    desk.write("a.txt", "alpha");
    let waiting = format!(
        "{RAW}import time\nopen('door', 'w').write(door)\nos.rename('door', 'open')\n\
         while not os.path.exists('over'): time.sleep(0.01)\n"
    );
    let first = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move { desk.run(&waiting).await }
    });
    eventually("the first runs", || desk.path().join("open").exists()).await;
    let code = format!(
        "{RAW}print(speak(open('open').read(), token))\nprint(speak(door, token))\n\
         open('over', 'w').close()"
    );
    let second = desk.run(&code).await;
    let lines: Vec<Value> =
        text(&second["output"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["error"]["kind"], "denied", "{second}");
    assert_eq!(lines[1]["result"]["content"], "alpha", "{second}");
    let first = first.await.unwrap();
    assert_eq!(first["tool_calls_made"], 0, "{first}");
    assert!(text(&first["warning"]).contains("their token was not this run's"), "{first}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_in_the_middle_breaks_nothing_else() {
    let desk = Desk::limited(ScriptLimits::default());
    desk.write("a.txt", "alpha");
    let code = format!(
        "{RAW}from hermes_tools import read_file, terminal\n\
         speak(door, token, 'terminal', {{'command': 'forever'}}, leave=True)\n\
         line = socket.socket(socket.AF_UNIX); line.connect(door)\n\
         line.sendall(b'\\xff\\xff\\xff\\xff'); line.close()\n\
         line = socket.socket(socket.AF_UNIX); line.connect(door)\n\
         line.sendall(b'\\x00\\x00\\x00\\x05hello'); print(line.recv(999)[4:].decode())\n\
         import hermes_tools\nread_file('a.txt')\nhermes_tools._thread_state.connection.socket.close()\n\
         print(read_file('a.txt')['kind'])\n\
         print(read_file('a.txt')['content'])\n"
    );
    let answer = desk.run(&code).await;
    let output = text(&answer["output"]);
    assert!(output.contains("The request cannot be read"), "{answer}");
    assert!(output.ends_with("unavailable\nalpha\n"), "{answer}");
    assert_eq!(answer["status"], "success", "{answer}");
    eventually("abandoned calls have stopped", || desk.forever() == 0).await;
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_has_only_so_many_processes() {
    let limits = ChildLimits { processes: Some(40), ..ChildLimits::default() };
    let confinement = Confinement { read: vec!["/".into()], limits, ..Confinement::default() };
    let desk = Desk::with(Desired { policy: Some(held(confinement)), ..Desired::default() });
    let code = "import os, time\nfor n in range(60):\n    if os.fork() == 0:\n        time.sleep(300); os._exit(0)\ntime.sleep(300)";
    let answer = desk.run(code).await;
    if answer["kind"] == "unavailable" {
        eprintln!("skipped: {}", answer["error"]);
        return;
    }
    assert_eq!(answer["status"], "error", "{answer}");
    // The kernel refuses it to all but root.
    let error = text(&answer["error"]);
    let is_refused = error.contains("more than 40 processes") || error.contains("BlockingIOError");
    assert!(is_refused, "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_of_a_script_leaves_is_ended_with_the_script() {
    let desk = Desk::new();
    let code = "from hermes_tools import terminal\nterminal('sleep 605 &')\nprint('done')";
    let answer = desk.run(code).await;
    assert_eq!((&answer["output"], &answer["status"]), (&json!("done\n"), &json!("success")));
    let warning = "Processes left running by terminal were ended: sleep 605 &";
    assert_eq!(answer["warning"], warning, "{answer}");
    assert_eq!(alive(desk.path()), 0);
    desk.close().await;
}
