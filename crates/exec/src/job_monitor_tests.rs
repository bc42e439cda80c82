use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{NoticeQueue, NoticeSink, ProcessEvent, ProcessNotice};

use super::MonitorOptions;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::{JobHandle, JobRegistry};

struct Bench {
    _folder: tempfile::TempDir,
    jobs: JobRegistry,
    queue: Arc<NoticeQueue>,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let jobs = JobRegistry::local(dir.path().join("jobs"));
        Self { _folder: dir, jobs, queue: Arc::new(NoticeQueue::new()) }
    }

    async fn start(&self, script: &str, what: MonitorOptions) -> Arc<JobHandle> {
        let spec = CommandSpec {
            program: "bash".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: std::env::vars_os().collect(),
            directory: "/".into(),
            input: StdinSource::Empty,
            output: StdioMode::Merged,
            confinement: None,
        };
        let job = self.jobs.start(script.to_owned(), spec).await.unwrap();
        let handle = self.jobs.register(job, "s", "/".into());
        let notices = Some(Arc::clone(&self.queue) as Arc<dyn NoticeSink>);
        self.jobs.monitor(&handle, MonitorOptions { notices, ..what });
        handle
    }

    /// What is told, as soon as there are so many.
    async fn told(&self, count: usize) -> Vec<ProcessNotice> {
        let begin = Instant::now();
        let mut shown = Vec::new();
        while shown.len() < count && begin.elapsed() < Duration::from_secs(20) {
            shown.extend(self.queue.drain("s", 99));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        shown
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_told_with_the_last_words() {
    let bench = Bench::new();
    let what = MonitorOptions { notify_end: true, ..MonitorOptions::default() };
    let handle = bench.start("seq 1 2000; exit 3", what).await;
    let shown = bench.told(1).await;
    assert_eq!(shown[0].session_id, handle.job.id);
    let ProcessEvent::Completed { reason, exit_code, output } = &shown[0].event else {
        panic!("{shown:?}");
    };
    assert_eq!((*reason, *exit_code, output.chars().count()), ("exited", 3, 2000));
    assert!(output.ends_with("\n2000\n"));
    bench.jobs.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_seen_is_not_told() {
    let bench = Bench::new();
    let what = MonitorOptions {
        notify_end: true,
        patterns: vec!["now".into()],
        ..MonitorOptions::default()
    };
    let handle = bench.start("sleep 0.3; echo now; sleep 0.3", what).await;
    handle.acknowledge_end();
    let shown = bench.told(1).await;
    assert!(matches!(shown[0].event, ProcessEvent::Matched { .. }), "{shown:?}");
    while handle.job.ended().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bench.queue.drain("s", 9), []);
    bench.jobs.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_in_two_pieces_is_found() {
    let bench = Bench::new();
    let what =
        MonitorOptions { patterns: vec!["ready on port".into()], ..MonitorOptions::default() };
    bench.start("printf 'server is rea'; sleep 0.4; echo dy on port 80; sleep 60", what).await;
    let shown = bench.told(1).await;
    let ProcessEvent::Matched { patterns, lines, suppressed } = &shown[0].event else {
        panic!("{shown:?}");
    };
    assert_eq!(patterns, &["ready on port"]);
    assert_eq!(
        (lines.as_slice(), *suppressed),
        (&["server is ready on port 80".to_owned()][..], 0)
    );
    bench.jobs.close().await;
    assert_eq!(bench.queue.drain("s", 9), [], "whoever closes knows");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_silent_is_ended() {
    let bench = Bench::new();
    let silence = Some(Duration::from_millis(700));
    let what =
        MonitorOptions { notify_end: true, idle_timeout: silence, ..MonitorOptions::default() };
    let script = "for i in 1 2 3 4; do echo $i; sleep 0.4; done; sleep 60";
    let handle = bench.start(script, what).await;
    let shown = bench.told(1).await;
    let ProcessEvent::Completed { reason, output, .. } = &shown[0].event else {
        panic!("{shown:?}")
    };
    assert_eq!((*reason, output.as_str()), ("inactivity", "1\n2\n3\n4\n"));
    assert_eq!(handle.end_reason(), Some("inactivity"));
    bench.jobs.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_to_a_file_is_taken_in() {
    let bench = Bench::new();
    let file = bench._folder.path().join("out");
    let what = MonitorOptions {
        notify_end: true,
        patterns: vec!["two".into()],
        output_file: Some(file.clone()),
        ..MonitorOptions::default()
    };
    let script = format!("exec >{} 2>&1; echo one; sleep 0.3; echo two", file.display());
    let handle = bench.start(&script, what).await;
    let shown = bench.told(2).await;
    assert!(matches!(shown[0].event, ProcessEvent::Matched { .. }), "{shown:?}");
    let ProcessEvent::Completed { output, .. } = &shown[1].event else { panic!("{shown:?}") };
    assert_eq!(output, "one\ntwo\n");
    assert_eq!(handle.new_output(100).text, "one\ntwo\n");
    bench.jobs.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_within_another_has_left_is_ended_with_that() {
    let bench = Bench::new();
    let start = async |script: &str, call: Option<&str>| {
        let handle = bench.start(script, MonitorOptions::default()).await;
        if let Some(call) = call {
            handle.set_parent_call(&call.into());
        }
        handle
    };
    let inner = start("sleep 601", Some("a.2")).await;
    let brief = start("true", Some("a.1")).await;
    let others = [start("sleep 602", None).await, start("sleep 603", Some("ab.1")).await];
    while !crate::jobs::has_finished(&brief.job) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(bench.jobs.terminate_started_by("s", "a").await, ["sleep 601"]);
    assert!(crate::jobs::has_finished(&inner.job));
    assert!(others.iter().all(|handle| handle.job.ended().is_none()));
    assert_eq!(bench.jobs.terminate_started_by("another", "ab").await, Vec::<String>::new());
    bench.jobs.close().await;
}
