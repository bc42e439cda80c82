//! Waiting for commands, and what the session's variables are to them.

use serde_json::{Value, json};

use crate::desk::Desk;

impl Desk {
    async fn kill(&self, id: &Value) {
        self.call("process", json!({"action": "kill", "session_id": id})).await;
    }
}

#[tokio::test]
async fn a_command_that_ends_wakes_with_its_exit_code() {
    let desk = Desk::new();
    let id = desk.start("while [ ! -e go ]; do sleep 0.05; done; exit 3").await;
    let early = desk.call("sleep", json!({"until_process": id, "seconds": 0.05})).await;
    assert_eq!(early["woke"], "elapsed", "{early}");
    assert_eq!(early["reason"], format!("{} still runs", id.as_str().unwrap()));
    std::fs::write(desk.dir.path().join("go"), "").unwrap();
    let answer = desk.call("sleep", json!({"until_process": id})).await;
    assert_eq!((&answer["woke"], &answer["exit_code"]), (&json!("process"), &json!(3)), "{answer}");
    let again = desk.call("sleep", json!({"until_process": id})).await;
    assert_eq!(again["exit_code"], 3, "{again}");
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn text_that_a_command_writes_wakes() {
    let desk = Desk::new();
    let script = "printf 'Listening on '; while [ ! -e go ]; do sleep 0.05; done; \
                  printf 'port 80\\n'; sleep 600";
    let id = desk.start(script).await;
    let wait = |text: &str, seconds: f64| json!({"until_process": id, "until_output": text, "seconds": seconds});
    let early = desk.call("sleep", wait("on port 80", 0.3)).await;
    assert_eq!(early["woke"], "elapsed", "{early}");
    std::fs::write(desk.dir.path().join("go"), "").unwrap();
    let answer = desk.call("sleep", wait("on port 80", 60.0)).await;
    assert_eq!(answer["woke"], "output", "{answer}");
    assert!(answer["line"].as_str().unwrap().starts_with("Listening on port 80"), "{answer}");
    let again = desk.call("sleep", wait("Listening", 60.0)).await;
    assert!(again["reason"].as_str().unwrap().contains("already"), "{again}");
    desk.kill(&id).await;
    let ended = desk.call("sleep", wait("never", 60.0)).await;
    assert_eq!(ended["woke"], "process", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("has not written 'never'"), "{ended}");
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_that_dies_does_not_keep_whoever_waits_for_its_port() {
    let desk = Desk::new();
    let id = desk.call("terminal", json!({ "command": "exit 7", "background": true })).await["session_id"].clone();
    let arguments = json!({"until_port": "1", "until_process": id, "seconds": 60});
    let answer = desk.call("sleep", arguments).await;
    assert_eq!((&answer["woke"], &answer["exit_code"]), (&json!("process"), &json!(7)), "{answer}");
    let unknown = desk.call("sleep", json!({"until_process": "proc_none"})).await;
    assert_eq!(unknown["kind"], "not_found");
    assert!(unknown["hint"].as_str().unwrap().contains(id.as_str().unwrap()), "{unknown}");
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn commands_see_what_the_session_has_set() {
    let desk = Desk::new();
    let text =
        "export GREETING='hello there'\nWHOLE=\"$GREETING\n  and more\"\nexport MY_TOKEN=abc\n";
    std::fs::write(desk.dir.path().join("x.env"), text).unwrap();
    desk.call("env_manager", json!({"action": "load", "path": "x.env"})).await;
    desk.call("env_manager", json!({"action": "set", "name": "MORE", "value": "a 'b' $c"})).await;
    let seen =
        desk.output("printf '%s|' \"$GREETING\" \"$WHOLE\" \"$MORE\" \"${#MY_TOKEN}\"").await;
    assert_eq!(seen.trim_end(), "hello there|hello there\n  and more|a 'b' $c|3|");
    desk.call("env_manager", json!({"action": "unset", "name": "MORE"})).await;
    assert_eq!(desk.output("echo \"[${MORE-none}]\"").await, "[none]\n");
    let path = desk.dir.path().join("bin");
    std::fs::create_dir(&path).unwrap();
    let now = std::env::var("PATH").unwrap();
    let longer = format!("{}:{now}", path.display());
    desk.call("env_manager", json!({"action": "set", "name": "PATH", "value": longer})).await;
    let seen = desk.output("echo \"${PATH%%:*}\"").await;
    assert_eq!(seen.trim_end(), path.to_str().unwrap());
    desk.engine.shutdown().await;
}
