//! pip, virtual environments, uv, and tests that start a server.

use serde_json::json;

use super::everyone;
use super::user::{TestUser, assert_unhindered};

/// A server on loopback, and a client.
const SERVED_TEST: &str = "\
import http.server, threading, unittest, urllib.request


class Served(unittest.TestCase):
    def test_answer(self):
        server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/') as answer:
            self.assertEqual(answer.status, 200)
        server.shutdown()
";

fn has_index(user: &TestUser) -> bool {
    user.has(&["python3"])
        && user.can("pip's index", "python3 -m pip download -q --no-deps -d \"$HOME/probe\" six")
}

everyone!(install_for_the_user);
fn install_for_the_user(user: &mut TestUser) {
    if !has_index(user) {
        return;
    }
    // Debian's Python is managed by apt and refuses `pip install`.
    let outputs = user.succeed(&[
        "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user --ignore-installed six",
        "python3 -c 'import six; print(six.__file__)'",
    ]);
    let place = user.home().join(".local");
    assert!(outputs[1].starts_with(&*place.to_string_lossy()), "{outputs:?}");
    assert!(!place.join("lib").exists(), "the user's own directory stays as it is");
}

everyone!(pytest_in_a_virtual_environment);
fn pytest_in_a_virtual_environment(user: &mut TestUser) {
    if !has_index(user) {
        return;
    }
    user.write("test_served.py", SERVED_TEST);
    let outputs = user.succeed(&[
        "python3 -m venv .venv",
        ". .venv/bin/activate && pip install -q pytest && pytest -q test_served.py",
    ]);
    assert!(outputs[1].contains("1 passed"), "{outputs:?}");
    let result = user.call("code_test", json!({ "tool": "pytest" }));
    assert_unhindered("code_test", &result);
    assert_eq!(result["tool_status"], "passed", "{result}");
}

everyone!(code_test_with_a_local_server);
fn code_test_with_a_local_server(user: &mut TestUser) {
    if !user.has(&["python3"]) {
        return;
    }
    user.write("test_served.py", SERVED_TEST);
    let result = user.call("code_test", json!({ "tool": "unittest" }));
    assert_unhindered("code_test", &result);
    assert_eq!(result["tool_status"], "passed", "{result}");
    let outputs = user.succeed(&["python3 -m unittest -q test_served"]);
    assert!(outputs[0].contains("OK"), "{outputs:?}");
}

everyone!(uv_installs_and_runs, slow);
fn uv_installs_and_runs(user: &mut TestUser) {
    if !has_index(user) {
        return;
    }
    let install = "python3 -m venv ~/.local/uv && ~/.local/uv/bin/pip install -q uv && \
                   mkdir -p ~/.local/bin && ln -s ~/.local/uv/bin/uv ~/.local/bin/uv";
    if !user.can("uv", install) {
        return;
    }
    let outputs = user.succeed(&[
        "uv venv -q --python /usr/bin/python3 .venv",
        "uv pip install -q six",
        ".venv/bin/python -c 'import six; print(six.__name__)'",
    ]);
    assert_eq!(outputs[2], "six\n", "{outputs:?}");
}
