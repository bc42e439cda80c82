//! What breaks in a container or on the way there: nothing hangs, nothing is
//! left, the next command runs.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::ErrorKind;
use hermes_exec::docker::{DockerSettings, DockerTransport};
use hermes_exec::{ExecBackend, Job, RemoteBackend, StdioMode, file_transfer};

use crate::contract::{Scene, text};
use crate::docker::{Engine, engine, place};

struct Stage {
    engine: Engine,
    settings: DockerSettings,
    backend: Arc<RemoteBackend<DockerTransport>>,
    scene: Scene,
}

impl Stage {
    async fn set(task: &str, change: impl FnOnce(&mut DockerSettings)) -> Option<Self> {
        let engine = engine()?;
        let mut settings = engine.settings(task);
        change(&mut settings);
        let backend = place(&settings);
        let scene = Scene::open(backend.clone()).await;
        Some(Self { engine, settings, backend, scene })
    }

    /// A command runs, and no old process is left.
    async fn goes_on(self, number: &str) {
        assert_eq!(self.scene.count(number).await, 0);
        let left = self.scene.leave().await;
        self.backend.cleanup().await;
        assert_eq!(left, Vec::<String>::new());
        assert_eq!(self.engine.containers(&self.settings), Vec::<String>::new());
    }

    fn id(&self) -> String {
        self.backend.transport().container_id().unwrap()
    }
}

/// The local transport processes of a job, found by their mark.
fn carriers(job: &Job) -> Vec<u32> {
    let is_carrier = |pid: &u32| {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let has = |bytes: &[u8], word: &str| String::from_utf8_lossy(bytes).contains(word);
        has(&read("environ"), &format!("HERMES_JOB={}", job.id)) && has(&read("cmdline"), "docker")
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_carrier).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_killed_leaves_nothing_running() {
    let Some(stage) = Stage::set("client", |_| {}).await else { return };
    let scene = &stage.scene;
    let number = scene.number();
    let job = scene.start(scene.sh(&format!("echo began; sleep {number}"))).await;
    scene.hear(&job, "began").await;
    let pids = carriers(&job);
    assert!(!pids.is_empty());
    for pid in pids {
        Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    }
    scene.finish(&job).await;
    let said = text(&job);
    assert!(
        said.contains("was killed by signal 9") && said.contains("so the command was terminated"),
        "{said}"
    );
    scene.until_gone(&number).await;
    stage.goes_on(&number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_killed_is_told_and_made_anew() {
    let Some(stage) = Stage::set("killed", |_| {}).await else { return };
    let scene = &stage.scene;
    let number = scene.number();
    let old = stage.id();
    let job = scene.start(scene.sh(&format!("echo began; sleep {number}; echo again"))).await;
    let mut spec = scene.sh(&format!("echo began; sleep {number}"));
    spec.output = StdioMode::Terminal(hermes_exec::TerminalSize::default());
    let terminal = scene.start(spec).await;
    scene.hear(&job, "began").await;
    scene.hear(&terminal, "began").await;
    stage.engine.say(&["kill", &old]);
    for job in [&job, &terminal] {
        let outcome = scene.finish(job).await;
        let said = text(job);
        assert!(said.contains("the container was stopped or removed"), "{said}");
        assert!(!said.contains("again\n"), "it ran on: {said}");
        assert_ne!(outcome.exit.code(), 0);
    }
    // The next command reports that it ran in another container.
    let mut spec = scene.sh("echo here");
    spec.directory = "/".into();
    let next = scene.run(spec).await.text();
    assert!(next.contains("here\n") && next.contains("the command ran in a new one"), "{next}");
    assert_ne!(stage.id(), old);
    let mut spec = scene.sh("echo quiet");
    spec.directory = "/".into();
    assert_eq!(scene.run(spec).await.text(), "quiet\n");
    let made = scene.run_at_root(&format!("mkdir -p {}", scene.dir.display())).await;
    assert_eq!(made.exit.code(), 0, "{made:?}");
    stage.goes_on(&number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_paused_is_left_as_it_is() {
    let Some(stage) = Stage::set("paused", |_| {}).await else { return };
    let scene = &stage.scene;
    let id = stage.id();
    stage.engine.say(&["pause", &id]);
    let job = scene.start(scene.sh("echo began")).await;
    scene.finish(&job).await;
    let said = text(&job);
    assert!(said.contains("is paused") && said.contains("unpause"), "{said}");
    stage.engine.say(&["unpause", &id]);
    assert_eq!(scene.run(scene.sh("echo here")).await.text(), "here\n");
    assert_eq!(stage.id(), id);
    let number = scene.number();
    stage.goes_on(&number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_removed_between_commands_is_made_anew() {
    let Some(stage) = Stage::set("removed", |_| {}).await else { return };
    let old = stage.id();
    stage.engine.say(&["rm", "--force", &old]);
    // Until that is noticed a command may fail, but the error states why.
    let scene = &stage.scene;
    scene
        .until("another container", || async {
            match scene.try_run_at_root("echo here").await {
                Ok(outcome) => outcome.text().contains("here\n"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "{}", error.message());
                    false
                }
            }
        })
        .await;
    assert_ne!(stage.id(), old);
    let number = scene.number();
    scene.run_at_root(&format!("mkdir -p {}", scene.dir.display())).await;
    stage.goes_on(&number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_keeps_the_old_file() {
    let small = |settings: &mut DockerSettings| {
        let tmpfs = "/small:rw,size=1m,mode=1777".to_owned();
        settings.extra_arguments = vec!["--tmpfs".into(), tmpfs];
    };
    let Some(stage) = Stage::set("full", small).await else { return };
    let backend: &dyn ExecBackend = &*stage.backend;
    let path = "/small/file".as_ref();
    file_transfer::write(backend, path, b"old".to_vec(), None).await.unwrap();
    let error = file_transfer::write(backend, path, vec![b'x'; 4 << 20], None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{}", error.message());
    assert_eq!(file_transfer::read(backend, path, 9).await.unwrap().bytes, b"old");
    let names = file_transfer::list(backend, "/small".as_ref()).await.unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    // A program there hits the same limit, and ends.
    let outcome = stage.scene.run(stage.scene.sh("cat /dev/zero >/small/more")).await;
    assert_ne!(outcome.exit.code(), 0);
    assert!(outcome.text().contains("No space left"), "{outcome:?}");
    let number = stage.scene.number();
    stage.goes_on(&number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_stays_in_its_bounds() {
    let Some(stage) = Stage::set("bomb", |settings| settings.pids = Some(64)).await else {
        return;
    };
    let scene = &stage.scene;
    let number = scene.number();
    let script =
        format!("i=0; while [ $i -lt 500 ]; do sleep {number} & i=$((i+1)); done; echo all; wait");
    let job = scene.start(scene.sh(&script)).await;
    let old = stage.id();
    let full = || async {
        let counted = stage.engine.say(&["top", &stage.id()]).lines().count();
        counted > 50 || job.ended().is_some()
    };
    scene.until("the bound", full).await;
    let counted = stage.engine.say(&["top", &stage.id()]).lines().count();
    assert!(counted <= 65, "{counted} lines");
    job.terminate(Duration::from_secs(1)).await;
    scene.until("its end", || async { job.ended().is_some() }).await;
    let gone = || async { stage.engine.say(&["top", &stage.id()]).matches(&number).count() == 0 };
    scene.until("the end of all", gone).await;
    // The container keeps running, with the same limits.
    assert_eq!(stage.id(), old);
    let bound = stage.engine.say(&["inspect", "--format", "{{.HostConfig.PidsLimit}}", &old]);
    assert_eq!(bound, "64");
    stage.goes_on(&number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_that_fills_every_gap_is_ended() {
    for word in ["busybox", "bash"] {
        let Some(engine) = engine() else { return };
        let Some(image) = engine.image(word) else { return };
        let change = |settings: &mut DockerSettings| {
            settings.pids = Some(64);
            settings.image = image;
        };
        let Some(stage) = Stage::set("gaps", change).await else { return };
        let scene = &stage.scene;
        let number = scene.number();
        let script = format!("n={number}; b() {{ b | b & }}; echo began; while :; do b; done");
        let mut spec = scene.sh(&script);
        spec.program = if word == "bash" { "bash".into() } else { "sh".into() };
        let job = scene.start(spec).await;
        scene.hear(&job, "began").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        job.terminate(Duration::from_secs(1)).await;
        scene.until("its end", || async { job.ended().is_some() }).await;
        let script = format!("mkdir -p {}; echo here", scene.dir.display());
        assert!(scene.run_at_root(&script).await.text().contains("here\n"));
        stage.goes_on(&number).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_takes_all_memory_is_ended_alone() {
    let small = |settings: &mut DockerSettings| settings.memory_mb = Some(64);
    let Some(stage) = Stage::set("memory", small).await else { return };
    let scene = &stage.scene;
    let old = stage.id();
    let outcome = scene.run(scene.sh("head -c 200000000 /dev/zero | tail -n 1 | wc -c")).await;
    assert!(!outcome.text().contains("200000000"), "{outcome:?}");
    assert_eq!(scene.run(scene.sh("echo here")).await.text(), "here\n");
    assert_eq!(stage.id(), old);
    let number = scene.number();
    stage.goes_on(&number).await;
}
