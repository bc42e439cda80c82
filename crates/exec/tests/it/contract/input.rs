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
    let mut order = scene.sh("read one; echo \"<$one>\"; cat");
    order.input = StdinSource::Bytes(b"first\nsecond\xff\nno end".to_vec());
    let outcome = scene.run(order).await;
    assert_eq!(outcome.all, b"<first>\nsecond\xff\nno end");
}

pub(super) async fn much_is_given(scene: Arc<Scene>) {
    let mut order = scene.sh("wc -c");
    order.input = StdinSource::Bytes(vec![b'x'; 5_000_000]);
    assert_eq!(scene.run(order).await.text().trim(), "5000000");
    // One that does not care for it ends all the same.
    let mut order = scene.sh("exit 3");
    order.input = StdinSource::Bytes(vec![b'x'; 5_000_000]);
    assert_eq!(scene.run(order).await.exit, ProcessExit::Code(3));
}

pub(super) async fn what_is_sent_later_is_read(scene: Arc<Scene>) {
    let mut order = scene.sh("while read l; do echo \"got $l\"; done; echo end");
    order.input = StdinSource::Pipe;
    let job = scene.start(order).await;
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
    let mut order = scene.sh("printf 'name? '; read l; echo \"hello $l\"");
    order.input = StdinSource::Pipe;
    let job = scene.start(order).await;
    let pause = scene.wait(&job, Duration::from_secs(30)).await;
    assert_eq!((pause, text(&job).as_str()), (WaitOutcome::AwaitingInput, "name? "));
    job.write(b"you\n").await.unwrap();
    assert_eq!(scene.finish(&job).await.text(), "name? hello you\n");
    // One that waits for another program asks nobody.
    let mut order = scene.sh("sleep 4 | cat; echo end");
    order.input = StdinSource::Pipe;
    let job = scene.start(order).await;
    assert_eq!(scene.finish(&job).await.text(), "end\n");
}
