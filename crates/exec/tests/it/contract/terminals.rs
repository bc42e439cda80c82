//! Programs with a terminal.

use std::sync::Arc;
use std::time::Duration;

use hermes_exec::{CommandSpec, Job, StdioMode, TerminalSize, WaitOutcome};

use super::Scene;

fn terminal(scene: &Scene, script: &str) -> CommandSpec {
    let mut spec = scene.sh(script);
    spec.output = StdioMode::Terminal(TerminalSize { rows: 20, columns: 70 });
    spec.environment.insert("TERM".into(), "xterm".into());
    spec
}

fn screen(job: &Job) -> String {
    job.screen().unwrap().text()
}

async fn see(scene: &Scene, job: &Job, what: &str) {
    scene.until(what, || async { screen(job).contains(what) }).await;
}

pub(super) async fn it_sees_a_terminal(scene: Arc<Scene>) {
    let script = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; stty size; exit 5";
    let job = scene.start(terminal(&scene, script)).await;
    let outcome = scene.finish(&job).await;
    assert_eq!(outcome.exit.code(), 5, "{outcome:?}");
    let screen = screen(&job);
    assert!(screen.contains("terminal") && screen.contains("20 70"), "{screen:?}");
}

pub(super) async fn it_learns_of_another_size(scene: Arc<Scene>) {
    let script = "trap 'stty size' WINCH; echo began; while :; do sleep 0.1; done";
    let job = scene.start(terminal(&scene, script)).await;
    see(&scene, &job, "began").await;
    job.resize(TerminalSize { rows: 33, columns: 99 }).unwrap();
    see(&scene, &job, "33 99").await;
    job.terminate(Duration::from_secs(1)).await;
    assert!(job.ended().is_some());
}

pub(super) async fn keys_arrive(scene: Arc<Scene>) {
    let script =
        "stty raw -echo; printf ready; dd bs=1 count=3 2>/dev/null | od -An -tx1; stty sane";
    let job = scene.start(terminal(&scene, script)).await;
    see(&scene, &job, "ready").await;
    job.write(b"\x1b[B").await.unwrap();
    see(&scene, &job, "1b 5b 42").await;
    assert_eq!(scene.finish(&job).await.exit.code(), 0);
}

pub(super) async fn a_question_is_noticed(scene: Arc<Scene>) {
    let job = scene.start(terminal(&scene, "printf 'password: '; read l; echo \"<$l>\"")).await;
    see(&scene, &job, "password:").await;
    assert_eq!(scene.wait(&job, Duration::from_secs(30)).await, WaitOutcome::AwaitingInput);
    job.write(b"open\r").await.unwrap();
    see(&scene, &job, "<open>").await;
    assert_eq!(scene.finish(&job).await.exit.code(), 0);
}

pub(super) async fn an_interrupt_ends_it(scene: Arc<Scene>) {
    let number = scene.number();
    let job = scene.start(terminal(&scene, &format!("echo began; sleep {number}"))).await;
    see(&scene, &job, "began").await;
    job.write(&[3]).await.unwrap();
    let outcome = scene.finish(&job).await;
    assert_eq!(outcome.exit.code(), 130, "{outcome:?}");
    scene.until_gone(&number).await;
}
