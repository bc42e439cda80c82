//! Tests against a real engine, if `HERMES_TEST_DOCKER_HOST` is set.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CancellationToken, ErrorKind};

use super::*;
use crate::backend::ExecBackend;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::job::{Job, JobOutputOptions, WaitLimits, WaitOutcome};

fn settings(task: &str) -> Option<DockerSettings> {
    let host = std::env::var("HERMES_TEST_DOCKER_HOST").ok();
    let images = std::env::var("HERMES_TEST_DOCKER_IMAGES").ok();
    let (Some(host), Some(images)) = (host, images) else {
        eprintln!("skipped: no Docker engine (scripts/components/docker.sh starts one)");
        return None;
    };
    Some(DockerSettings {
        program: Some("docker".into()),
        global_arguments: vec!["--host".into(), host],
        image: images.split_whitespace().next().unwrap().to_owned(),
        pull: false,
        task: format!("{task}-{}", std::process::id()),
        profile: "tests".into(),
        network: false,
        memory_mb: Some(512),
        ..DockerSettings::default()
    })
}

fn say(settings: &DockerSettings, words: &[&str]) -> String {
    let output = Command::new("docker").args(&settings.global_arguments).args(words).output();
    String::from_utf8_lossy(&output.unwrap().stdout).trim().to_owned()
}

fn spec(script: &str) -> CommandSpec {
    CommandSpec {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Merged,
        confinement: None,
    }
}

async fn run(backend: &dyn ExecBackend, id: &str, script: &str) -> (Arc<Job>, WaitOutcome) {
    let started =
        Job::start(backend, id.into(), script.into(), spec(script), JobOutputOptions::default());
    let job = started.await.unwrap();
    let cancel = CancellationToken::new();
    let pause = job.wait(&WaitLimits { deadline: None, idle_timeout: None, cancel: &cancel }).await;
    (job, pause)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_homes_leave_each_other_alone() {
    let Some(base) = settings("homes") else { return };
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let of = |dir: &tempfile::TempDir, pids| {
        let storage = Some(dir.path().to_owned());
        DockerTransport::backend(DockerSettings { storage, pids: Some(pids), ..base.clone() })
    };
    let (first, second) = (of(&one, 90), of(&other, 91));
    let (opened, also) = tokio::join!(first.open(), second.open());
    opened.unwrap();
    also.unwrap();
    let ids = [&first, &second].map(|it| it.transport().container_id().unwrap());
    assert_ne!(ids[0], ids[1]);
    for id in &ids {
        assert_eq!(say(&base, &["inspect", "--format", "{{.State.Running}}", id]), "true");
    }
    // Two that start at the same time get the same container.
    first.cleanup().await;
    say(&base, &["rm", "--force", &ids[0]]);
    let (left, right) = (of(&one, 90), of(&one, 90));
    let (opened, also) = tokio::join!(left.open(), right.open());
    opened.unwrap();
    also.unwrap();
    let shared = left.transport().container_id().unwrap();
    assert_eq!(right.transport().container_id().unwrap(), shared);

    // Another process holds it: other settings do not replace it.
    let hold = format!("export {}=x-1.999999.7; exec sleep 60", lifeline::HOLDER_VARIABLE);
    say(&base, &["exec", "--detach", &shared, "sh", "-c", &hold]);
    let changed = of(&one, 92);
    let held = async {
        while !changed
            .transport()
            .engine
            .holders(&shared)
            .await
            .iter()
            .any(|it| it == "x-1.999999.7")
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), held).await.unwrap();
    let error = changed.open().await.unwrap_err();
    assert!(error.message().contains("another running hermes"), "{}", error.message());
    assert_eq!(say(&base, &["inspect", "--format", "{{.State.Running}}", &shared]), "true");
    for place in [&left, &right, &second] {
        place.cleanup().await;
    }
    say(&base, &["rm", "--force", &shared, &ids[1]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_left_behind_holds_up_nobody() {
    let Some(base) = settings("behind") else { return };
    let place = DockerTransport::backend(DockerSettings { persistent: false, ..base });
    place.open().await.unwrap();
    let (job, pause) = run(&place, "behind", "sleep 337 & echo bg; exit 3").await;
    let WaitOutcome::Ended(ended) = pause else { panic!("{pause:?}") };
    assert_eq!((ended.exit, ended.has_descendants), (ProcessExit::Code(3), true));
    assert_eq!(job.log().read_from(0, 100).bytes, b"bg\n");
    job.terminate(Duration::from_secs(1)).await;
    let (job, _) = run(&place, "look", "ps | grep -c '[s]leep 337'").await;
    assert_eq!(job.log().read_from(0, 100).bytes, b"0\n");
    place.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_left_there_is_ended_and_told_apart() {
    let Some(base) = settings("crash") else { return };
    let place: Arc<dyn ExecBackend> =
        Arc::new(DockerTransport::backend(DockerSettings { persistent: false, ..base }));
    let dir = tempfile::tempdir().unwrap();
    let jobs = crate::JobRegistry::new(Arc::clone(&place), dir.path().to_owned());
    let job = jobs.start("it".into(), spec("echo up; exec sleep 338")).await.unwrap();
    assert_eq!(job.remarks(), Vec::<String>::new());
    let up = async {
        while !job.log().read_from(0, 100).bytes.starts_with(b"up") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), up).await.unwrap();
    let vouched = jobs.guard_record(&job, "main", "/".as_ref());
    let list = jobs.records().unwrap();
    // Its owner is alive, so it must not be ended.
    assert_eq!(list.remote_orphans_at("docker"), []);
    let file = dir.path().join("running").join(format!("{}.json", job.id));
    let text = std::fs::read_to_string(&file).unwrap();
    let started = format!("\"owner_started\":{}", crate::job_records::current_process().1);
    std::fs::write(&file, text.replace(&started, "\"owner_started\":1")).unwrap();
    assert_eq!(list.remote_orphans_at("ssh"), []);
    assert_eq!(list.remote_orphans_at("docker").len(), 1);
    assert_eq!(list.orphans(), []);

    let next = crate::JobRegistry::new(Arc::clone(&place), dir.path().to_owned());
    let look = next.start("look".into(), spec("ps | grep -c '[s]leep 338'")).await.unwrap();
    let cancel = CancellationToken::new();
    look.wait(&WaitLimits { deadline: None, idle_timeout: None, cancel: &cancel }).await;
    assert_eq!(look.log().read_from(0, 100).bytes, b"0\n");
    assert!(look.remarks().concat().contains("left 1 processes"), "{:?}", look.remarks());
    assert_eq!(list.remote_orphans_at("docker"), []);
    drop(vouched);
    place.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_is_not_made() {
    let Some(base) = settings("folder") else { return };
    let with = |cwd: &str| {
        DockerTransport::backend(DockerSettings {
            cwd: Some(cwd.into()),
            persistent: false,
            ..base.clone()
        })
    };
    let error = with("/no/such").open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("/no/such"), "{}", error.message());
    let place = with("/workspace/");
    assert_eq!(place.open().await.unwrap().directory.as_os_str(), "/workspace");
    place.cleanup().await;
}
