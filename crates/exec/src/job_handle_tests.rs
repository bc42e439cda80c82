use std::sync::Arc;
use std::time::{Duration, Instant};

use super::JobHandle;
use crate::JobRegistry;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::output::OutputMask;

#[derive(Debug)]
struct Word;

impl OutputMask for Word {
    fn mask(&self, bytes: &mut [u8]) {
        let found: Vec<usize> = memchr::memmem::find_iter(bytes, b"p@ss word").collect();
        found.into_iter().for_each(|at| bytes[at..at + 9].fill(b'*'));
    }
}

/// What is new, as soon as there is something.
async fn news(handle: &JobHandle) -> String {
    let begin = Instant::now();
    loop {
        let news = handle.new_output(1000).text;
        if !news.is_empty() || begin.elapsed() > Duration::from_secs(20) {
            return news;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a script whose input stays open.
async fn start(jobs: &JobRegistry, script: &str) -> Arc<crate::Job> {
    let spec = CommandSpec {
        program: "bash".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: std::env::vars_os().collect(),
        directory: "/".into(),
        input: StdinSource::Pipe,
        output: StdioMode::Merged,
        confinement: None,
    };
    jobs.start(script.to_owned(), spec).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_secret_is_covered() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = JobRegistry::local(dir.path().join("jobs")).with_mask(Arc::new(Word));
    let script = "printf 'p@ss '; read x; printf 'word* and p@ss'; read x; printf 'ing by'; read x";
    let job = start(&jobs, script).await;
    let handle = jobs.register(Arc::clone(&job), "s", "/".into());
    assert_eq!(news(&handle).await, "p@ss ");
    job.write(b"\n").await.unwrap();
    assert_eq!(news(&handle).await, "***** and p@ss");
    job.write(b"\n").await.unwrap();
    assert_eq!(news(&handle).await, "ing by");
    jobs.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_a_fast_writer_is_returned_once() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = JobRegistry::local(dir.path().join("jobs"));
    let spec = CommandSpec {
        program: "seq".into(),
        arguments: vec!["1".into(), "100000".into()],
        environment: std::env::vars_os().collect(),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Merged,
        confinement: None,
    };
    let job = jobs.start("seq 1 100000".to_owned(), spec).await.unwrap();
    let handle = jobs.register(Arc::clone(&job), "s", "/".into());
    let begin = Instant::now();
    let mut lines = Vec::new();
    loop {
        let has_ended = job.ended().is_some();
        let news = handle.next_output(4_000);
        assert_eq!(news.skipped, 0);
        lines.extend(news.text.lines().map(str::to_owned));
        if has_ended && news.remaining == 0 && news.text.is_empty() {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{} lines", lines.len());
        tokio::task::yield_now().await;
    }
    let wanted = (1..=100_000).map(|number: u32| number.to_string());
    assert!(lines.into_iter().eq(wanted));
    jobs.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_line_is_returned_once_nothing_follows() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = JobRegistry::local(dir.path().join("jobs"));
    let script = "printf 'one\\ntwo? '; read x; printf '!\\n'; read x";
    let job = start(&jobs, script).await;
    let handle = jobs.register(Arc::clone(&job), "s", "/".into());
    let mut text = String::new();
    while !text.ends_with("? ") {
        text.push_str(&handle.next_output(1000).text);
        tokio::task::yield_now().await;
    }
    assert_eq!(text, "one\ntwo? ");
    job.write(b"\n").await.unwrap();
    while !text.ends_with("!\n") {
        text.push_str(&handle.next_output(1000).text);
        tokio::task::yield_now().await;
    }
    assert_eq!(text, "one\ntwo? !\n");
    jobs.close().await;
}
