//! What a program reads.

use std::sync::Arc;
use std::time::Duration;

use hermes_exec::{ProcessExit, StdinSource, WaitOutcome};

use super::Scene;
use super::scene::text;

pub(super) async fn there_is_nothing_to_read(scene: Arc<Scene>) {
    let outcome = scene.run(scene.sh("cat; read x || echo end")).await;
    assert_eq!(outcome.text(), "end\n");
}

pub(super) async fn what_is_given_is_read_to_its_end(scene: Arc<Scene>) {
    let mut spec = scene.sh("read one; echo \"<$one>\"; cat");
    spec.input = StdinSource::Bytes(b"first\nsecond\xff\nno end".to_vec());
    let outcome = scene.run(spec).await;
    assert_eq!(outcome.all, b"<first>\nsecond\xff\nno end");
}

pub(super) async fn much_is_given(scene: Arc<Scene>) {
    let mut spec = scene.sh("wc -c");
    spec.input = StdinSource::Bytes(vec![b'x'; 5_000_000]);
    assert_eq!(scene.run(spec).await.text().trim(), "5000000");
    // One that does not care for it ends all the same.
    let mut spec = scene.sh("exit 3");
    spec.input = StdinSource::Bytes(vec![b'x'; 5_000_000]);
    assert_eq!(scene.run(spec).await.exit, ProcessExit::Code(3));
}

pub(super) async fn what_is_sent_later_is_read(scene: Arc<Scene>) {
    let mut spec = scene.sh("while read l; do echo \"got $l\"; done; echo end");
    spec.input = StdinSource::Pipe;
    let job = scene.start(spec).await;
    for word in ["one", "two"] {
        job.write(format!("{word}\n").as_bytes()).await.unwrap();
        scene.hear(&job, &format!("got {word}")).await;
    }
    assert!(job.ended().is_none());
    job.close_input().await;
    let outcome = scene.finish(&job).await;
    assert_eq!(outcome.text(), "got one\ngot two\nend\n");
}

pub(super) async fn one_that_waits_for_input_is_noticed(scene: Arc<Scene>) {
    let mut spec = scene.sh("printf 'name? '; read l; echo \"hello $l\"");
    spec.input = StdinSource::Pipe;
    let job = scene.start(spec).await;
    let pause = scene.wait(&job, Duration::from_secs(30)).await;
    assert_eq!((pause, text(&job).as_str()), (WaitOutcome::AwaitingInput, "name? "));
    job.write(b"you\n").await.unwrap();
    assert_eq!(scene.finish(&job).await.text(), "name? hello you\n");
    // One that waits for another program asks nobody.
    let mut spec = scene.sh("sleep 4 | cat; echo end");
    spec.input = StdinSource::Pipe;
    let job = scene.start(spec).await;
    assert_eq!(scene.finish(&job).await.text(), "end\n");
}
