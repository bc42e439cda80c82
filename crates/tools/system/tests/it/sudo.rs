//! Passwords for `sudo`, with a stand-in that asks as the real one does.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::desk::{Desired, Desk, Typist};

/// Takes `-A`, asks the helper up to three times, and runs the rest.
const STAND_IN: &str = r#"#!/bin/bash
[ "$1" = -A ] || { echo "sudo: a terminal is required to read the password" >&2; exit 1; }
shift
for attempt in 1 2 3; do
    word=$("$SUDO_ASKPASS" "[sudo] password: ") || break
    [ "$word" = "open sesame" ] && { echo "asked $attempt" >> "$0.log"; exec "$@"; }
    echo "Sorry, try again." >&2
done
echo "sudo: no password was provided" >&2
exit 1
"#;

async fn desk_with(typist: &std::sync::Arc<Typist>) -> Desk {
    let password = Some(std::sync::Arc::clone(typist) as _);
    let desk = Desk::with(Desired { password, ..Desired::default() });
    let file = desk.path().join("bin/sudo");
    std::fs::create_dir(desk.path().join("bin")).unwrap();
    std::fs::write(&file, STAND_IN).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    desk.run(&format!("export PATH={}/bin:$PATH", desk.path().display())).await;
    desk
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_asked_for_once_and_nobody_sees_it() {
    let typist = Typist::new(&["open sesame"]);
    let desk = desk_with(&typist).await;
    let answer = desk.run("echo 'no sudo here'").await;
    assert_eq!((&answer["exit_code"], typist.left()), (&json!(0), 1), "nobody was asked");
    let answer = desk.run("sudo echo one | cat; sudo bash -c 'echo two; env; ps -ef'").await;
    let output = answer["output"].as_str().unwrap();
    assert!(output.starts_with("one\ntwo\n"), "{answer}");
    assert!(!output.contains("sesame"), "{answer}");
    assert!(answer.get("sudo_auth_failed").is_none(), "{answer}");
    let later = desk.run("if true; then sudo echo three; fi; declare -p | grep -c ASKPASS").await;
    assert_eq!(later["output"], "three\n0\n", "{later}");
    // In the background as well, where the job outlives the call.
    let id = desk.start("sleep 1; sudo echo four").await;
    let ended = desk.process("wait", &id).await;
    assert_eq!((&ended["output"], &ended["exit_code"]), (&json!("four\n"), &json!(0)), "{ended}");
    let shown = desk.run("sudo sh -c '$SUDO_ASKPASS' || true; echo 'open sesame'").await;
    assert!(!shown["output"].as_str().unwrap().contains("sesame"), "{shown}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_tried_once_and_forgotten() {
    let typist = Typist::new(&["wrong word", "open sesame"]);
    let desk = desk_with(&typist).await;
    let answer = desk.run("sudo echo one").await;
    assert_eq!(answer["exit_code"], 1, "{answer}");
    assert_eq!(answer["sudo_auth_failed"], true, "{answer}");
    assert_eq!(answer["sudo_cache_cleared"], true, "{answer}");
    assert_eq!(answer["output"].as_str().unwrap().matches("try again").count(), 1, "{answer}");
    let answer = desk.run("sudo echo one").await;
    assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("one\n"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_password_it_says_what_to_do() {
    let typist = Typist::new(&[]);
    let desk = desk_with(&typist).await;
    let answer = desk.run("sudo echo one").await;
    assert_eq!(answer["exit_code"], 1, "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("SUDO_PASSWORD"), "{answer}");
}
