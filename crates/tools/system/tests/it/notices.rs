//! Notices that a session gets about its processes.

use serde_json::json;

use crate::desk::Desk;

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_process_is_told() {
    let desk = Desk::new();
    desk.notices.set_listening();
    let command = "sleep 0.5; echo built; exit 2";
    let arguments = json!({ "command": command, "background": true, "notify_on_complete": true });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!(answer["notify_on_complete"], true, "{answer}");
    assert!(answer.get("notify_unsupported").is_none(), "{answer}");
    let shown = desk.told(1).await;
    let expected = json!({
        "session_id": answer["session_id"],
        "command": command,
        "event": "completed",
        "reason": "exited",
        "exit_code": 2,
        "output": "built\n",
    });
    assert_eq!(shown, [expected]);
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_waited_for_are_told() {
    let desk = Desk::new();
    desk.notices.set_listening();
    let arguments = json!({
        "command": "printf 'listening o'; sleep 0.6; echo n 8080; sleep 60",
        "background": true,
        "watch_patterns": ["listening on", "never"],
    });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!(answer["watch_patterns"], json!(["listening on", "never"]), "{answer}");
    let shown = desk.told(1).await;
    assert_eq!(shown[0]["event"], "matched");
    assert_eq!(shown[0]["lines"], json!(["listening on 8080"]));
    let killed = desk.process("kill", &answer["session_id"]).await;
    assert_eq!(killed["status"], "killed");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_seen_is_not_told() {
    let desk = Desk::new();
    desk.notices.set_listening();
    for action in ["wait", "kill", "poll", "log"] {
        let command = if action == "kill" { "sleep 60" } else { "sleep 0.5" };
        let arguments =
            json!({ "command": command, "background": true, "notify_on_complete": true });
        let answer = desk.call("terminal", arguments).await;
        let id = &answer["session_id"];
        if matches!(action, "poll" | "log") {
            // It has ended, and the notice of it waits.
            let begin = std::time::Instant::now();
            while desk.process("list", id).await["processes"]
                .as_array()
                .unwrap()
                .iter()
                .any(|line| &line["session_id"] == id && line["status"] == "running")
            {
                assert!(begin.elapsed().as_secs() < 60);
            }
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        }
        desk.process(action, id).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(desk.notices.drain(desk.caller.session.id(), 9), [], "{action}");
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_listens_it_is_said() {
    let desk = Desk::new();
    let arguments = json!({
        "command": "sleep 1",
        "background": true,
        "notify_on_complete": true,
        "watch_patterns": ["x"],
    });
    let answer = desk.call("terminal", arguments).await;
    assert!(answer["notify_unsupported"].as_str().unwrap().contains("foreground"), "{answer}");
    assert!(answer.get("notify_on_complete").is_none(), "{answer}");
    assert!(answer.get("watch_patterns").is_none(), "{answer}");
    desk.process("wait", &answer["session_id"]).await;
    assert_eq!(desk.notices.drain(desk.caller.session.id(), 9), []);
    desk.engine.shutdown().await;
}
