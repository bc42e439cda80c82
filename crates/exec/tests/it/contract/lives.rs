//! How long programs live, and how they end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::CancellationToken;
use hermes_exec::tree::Signal;
use hermes_exec::{StdinSource, WaitLimits, WaitOutcome};

use super::Scene;

const GRACE: Duration = Duration::from_secs(1);

pub(super) async fn a_deadline_leaves_it_running(scene: Arc<Scene>) {
    let mut spec = scene.sh("echo began; read l; echo \"still $l\"");
    spec.input = StdinSource::Pipe;
    let job = scene.start(spec).await;
    scene.hear(&job, "began").await;
    let cancel = CancellationToken::new();
    let until = Some(Instant::now() + Duration::from_millis(200));
    let pause =
        job.wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cancel }).await;
    assert!(matches!(pause, WaitOutcome::Deadline | WaitOutcome::AwaitingInput), "{pause:?}");
    job.write(b"here\n").await.unwrap();
    assert_eq!(scene.finish(&job).await.text(), "began\nstill here\n");
}

pub(super) async fn ended_with_all_that_it_started(scene: Arc<Scene>) {
    let number = scene.number();
    let script = format!("sleep {number} & (sleep {number} & sleep {number}) & echo began; wait");
    let job = scene.start(scene.sh(&script)).await;
    scene.hear(&job, "began").await;
    assert!(scene.count(&number).await >= 3);
    job.terminate(GRACE).await;
    assert!(job.ended().is_some());
    scene.until_gone(&number).await;
}

pub(super) async fn one_that_will_not_go_is_forced(scene: Arc<Scene>) {
    let number = scene.number();
    let stubborn = format!("trap '' TERM INT HUP; while :; do sleep {number}; done");
    let script = format!("trap '' TERM INT HUP; sh -c \"{stubborn}\" & echo began; wait; wait");
    let job = scene.start(scene.sh(&script)).await;
    scene.hear(&job, "began").await;
    scene.until("it runs", || async { scene.count(&number).await > 1 }).await;
    job.terminate(GRACE).await;
    scene.until_gone(&number).await;
    assert!(job.ended().is_some());
}

pub(super) async fn one_that_left_the_session_goes_too(scene: Arc<Scene>) {
    let (marked, bare) = (scene.number(), scene.number());
    // The second has thrown away its mark, but not its parents.
    let script = format!(
        "setsid sh -c 'sleep {marked} & wait' >/dev/null 2>&1 & \
         setsid env -i PATH=\"$PATH\" sleep {bare} & echo began; sleep {marked}"
    );
    let job = scene.start(scene.sh(&script)).await;
    scene.hear(&job, "began").await;
    for number in [&marked, &bare] {
        scene.until("it runs", || async { scene.count(number).await > 0 }).await;
    }
    job.terminate(GRACE).await;
    scene.until_gone(&marked).await;
    scene.until_gone(&bare).await;
}

pub(super) async fn whoever_waits_can_be_called_away(scene: Arc<Scene>) {
    let number = scene.number();
    let job = scene.start(scene.sh(&format!("sleep {number}"))).await;
    let cancel = CancellationToken::new();
    let timeout = WaitLimits { deadline: None, idle_timeout: None, cancel: &cancel };
    let (pause, ()) = tokio::join!(job.wait(&timeout), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    assert_eq!(pause, WaitOutcome::Cancelled);
    assert!(job.ended().is_none());
    job.terminate(GRACE).await;
    scene.until_gone(&number).await;
}

pub(super) async fn a_signal_reaches_it(scene: Arc<Scene>) {
    let script = "trap 'echo heard; exit 7' USR1; echo began; while :; do sleep 0.1; done";
    let job = scene.start(scene.sh(script)).await;
    scene.hear(&job, "began").await;
    assert!(job.signal(Signal::USR1).await > 0);
    let outcome = scene.finish(&job).await;
    // Some shells say what has become of the one they waited for.
    assert_eq!(outcome.exit.code(), 7, "{outcome:?}");
    assert!(outcome.text().ends_with("heard\n"), "{outcome:?}");
}

pub(super) async fn a_grandchild_with_the_pipe_holds_nobody(scene: Arc<Scene>) {
    let number = scene.number();
    let job = scene.start(scene.sh(&format!("sleep {number} & echo done"))).await;
    let outcome = scene.finish(&job).await;
    assert_eq!((outcome.exit.code(), outcome.text().as_str()), (0, "done\n"));
    job.terminate(GRACE).await;
    scene.until_gone(&number).await;
}

pub(super) async fn twenty_at_once(scene: Arc<Scene>) {
    let mut jobs = Vec::new();
    for at in 0..20 {
        let mut spec = scene.sh("read l; echo \"$l $at\"; exit $at");
        spec.input = StdinSource::Pipe;
        spec.environment.insert("at".into(), at.to_string().into());
        jobs.push(scene.start(spec).await);
    }
    // All of them run at this moment.
    assert!(jobs.iter().all(|job| job.ended().is_none()));
    for job in &jobs {
        job.write(b"go\n").await.unwrap();
    }
    for (at, job) in jobs.iter().enumerate() {
        let outcome = scene.finish(job).await;
        assert_eq!(outcome.text(), format!("go {at}\n"));
        assert_eq!(outcome.exit.code(), i32::try_from(at).unwrap());
    }
}
