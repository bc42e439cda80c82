//! Containers of a real engine. `HERMES_TEST_DOCKER_HOST` says where it is,
//! `HERMES_TEST_DOCKER_IMAGES` which images it has.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use hermes_core::ErrorKind;
use hermes_exec::docker::{DockerSettings, DockerTransport};
use hermes_exec::{ExecBackend, ProcessExit, RemoteBackend, Transport as _};

use crate::contract::{Scene, contract};

/// The engine that tests use.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    host: String,
    images: Vec<String>,
}

/// The engine for tests, if there is one.
pub(crate) fn engine() -> Option<Engine> {
    let host = std::env::var("HERMES_TEST_DOCKER_HOST").ok();
    let images = std::env::var("HERMES_TEST_DOCKER_IMAGES").ok();
    let (Some(host), Some(images)) = (host, images) else {
        eprintln!("skipped: no Docker engine (scripts/components/docker.sh starts one)");
        return None;
    };
    Some(Engine { host, images: images.split_whitespace().map(str::to_owned).collect() })
}

impl Engine {
    /// The settings of a container for one test, removed at its end.
    pub(crate) fn settings(&self, task: &str) -> DockerSettings {
        DockerSettings {
            program: Some("docker".into()),
            global_arguments: vec!["--host".into(), self.host.clone()],
            image: self.images[0].clone(),
            pull: false,
            task: format!("{task}-{}", std::process::id()),
            profile: "tests".into(),
            persistent: false,
            network: false,
            memory_mb: Some(512),
            ..DockerSettings::default()
        }
    }

    pub(crate) fn image(&self, word: &str) -> Option<String> {
        let image = self.images.iter().find(|image| image.contains(word)).cloned();
        if image.is_none() {
            eprintln!("skipped: the Docker engine has no image with {word}");
        }
        image
    }

    /// The output of the engine's own program.
    pub(crate) fn say(&self, words: &[&str]) -> String {
        let said =
            Command::new("docker").args(["--host", &self.host]).args(words).output().unwrap();
        let text = [said.stdout, said.stderr].concat();
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// The containers of a task.
    pub(crate) fn containers(&self, settings: &DockerSettings) -> Vec<String> {
        let filter = format!("label=hermes.task={}", settings.task);
        let said = self.say(&["ps", "-aq", "--no-trunc", "--filter", &filter]);
        said.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn place(settings: &DockerSettings) -> Arc<RemoteBackend<DockerTransport>> {
    Arc::new(DockerTransport::backend(settings.clone()))
}

async fn keeps_the_contract(word: &str) {
    let Some(engine) = engine() else { return };
    let Some(image) = engine.image(word) else { return };
    let settings = DockerSettings { image, ..engine.settings(&format!("contract-{word}")) };
    contract(place(&settings)).await;
    assert_eq!(engine.containers(&settings), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_in_busybox_as_everywhere() {
    keeps_the_contract("busybox").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_beside_bash_as_everywhere() {
    keeps_the_contract("bash").await;
}

/// `HERMES_TEST_PODMAN` holds the words before a verb, `HERMES_TEST_PODMAN_RUN`
/// those for `run`, `HERMES_TEST_PODMAN_IMAGE` the image.
#[tokio::test(flavor = "multi_thread")]
async fn programs_run_in_podman_as_everywhere() {
    let words = |name: &str| {
        let value = std::env::var(name).unwrap_or_default();
        value.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let Ok(image) = std::env::var("HERMES_TEST_PODMAN_IMAGE") else {
        eprintln!("skipped: no Podman (HERMES_TEST_PODMAN_IMAGE is not set)");
        return;
    };
    let settings = DockerSettings {
        program: Some("podman".into()),
        global_arguments: words("HERMES_TEST_PODMAN"),
        extra_arguments: words("HERMES_TEST_PODMAN_RUN"),
        image,
        pull: false,
        task: format!("podman-{}", std::process::id()),
        profile: "tests".into(),
        persistent: false,
        network: false,
        // Its init process is a separate package.
        init: false,
        ..DockerSettings::default()
    };
    contract(place(&settings)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_hardened() {
    let Some(engine) = engine() else { return };
    let settings = DockerSettings { pids: Some(64), ..engine.settings("hard") };
    let backend = place(&settings);
    let scene = Scene::open(backend.clone()).await;
    let status = scene.run(scene.sh("cat /proc/self/status")).await.text();
    // DAC_OVERRIDE, CHOWN, FOWNER, SETUID and SETGID, and nothing else.
    assert!(status.contains("CapBnd:\t00000000000000cb"), "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let mounts = scene.run(scene.sh("cat /proc/mounts; ls /sys/class/net")).await.text();
    for mount in ["/tmp tmpfs rw,nosuid,nodev,", "/var/tmp tmpfs rw,nosuid,nodev,noexec,"] {
        assert!(mounts.contains(mount), "{mounts}");
    }
    assert!(!mounts.contains("eth0"), "{mounts}");
    let held = backend.transport().container_id().map(|id| {
        engine.say(&[
            "inspect",
            "--format",
            "{{.HostConfig.PidsLimit}} {{.HostConfig.Memory}}",
            &id,
        ])
    });
    assert_eq!(held.unwrap(), format!("64 {}", 512 << 20));
    let job = scene.start(scene.sh("true")).await;
    let held = job.containment_summary().unwrap();
    assert!(held.contains("at most 64 processes") && held.contains("no network"), "{held}");
    assert!(!held.contains("not enforced"), "{held}");
    scene.finish(&job).await;
    backend.cleanup().await;
    assert_eq!(engine.containers(&settings), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_declared_variables_and_folders_get_there() {
    let Some(engine) = engine() else { return };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("shown"), "seen").unwrap();
    let settings = DockerSettings {
        volumes: vec![format!("{}:/shown:ro", dir.path().display())],
        environment: BTreeMap::from([("DECLARED".into(), "a 'b'\nc".into())]),
        forward: vec!["PATH_OF_TEST".into(), "HERMES_TEST_DOCKER_IMAGES".into()],
        ..engine.settings("declared")
    };
    let backend = place(&settings);
    let scene = Scene::open(backend.clone()).await;
    let text = scene.run(scene.sh("cat /shown/shown; touch /shown/x; env")).await.text();
    assert!(text.contains("seen"), "{text}");
    assert!(text.to_lowercase().contains("read-only"), "{text}");
    assert!(text.contains("DECLARED=a 'b'\nc\n"), "{text}");
    assert!(text.contains("HERMES_TEST_DOCKER_IMAGES="), "{text}");
    assert!(!text.contains("HERMES_TEST_DOCKER_HOST=") && !text.contains("PATH_OF_TEST"), "{text}");
    let id = backend.transport().container_id().unwrap();
    let shown = engine.say(&["inspect", &id]);
    assert!(!shown.contains("DECLARED"), "a value is in the engine's own notes");
    backend.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_can_work_there() {
    let Some(engine) = engine() else { return };
    let settings = DockerSettings { user: Some("1234:1234".into()), ..engine.settings("user") };
    let backend = place(&settings);
    let scene = Scene::open(backend.clone()).await;
    let script = "id -u; cd; pwd; touch mine && echo mine; grep CapEff /proc/self/status";
    let mut spec = scene.sh(script);
    spec.directory.clone_from(&scene.place.directory);
    let text = scene.run(spec).await.text();
    assert_eq!(text, "1234\n/workspace\nmine\nCapEff:\t0000000000000000\n");
    backend.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_stays_is_used_again_if_nothing_has_changed() {
    let Some(engine) = engine() else { return };
    let settings = DockerSettings { persistent: true, ..engine.settings("stays") };
    let first = place(&settings);
    let scene = Scene::open(first.clone()).await;
    scene.run(scene.sh("echo kept >/workspace/kept")).await;
    let id = first.transport().container_id().unwrap();
    first.cleanup().await;
    assert_eq!(engine.containers(&settings), std::slice::from_ref(&id));

    let second = place(&settings);
    let scene = Scene::open(second.clone()).await;
    assert_eq!(second.transport().container_id().unwrap(), id);
    assert_eq!(scene.run(scene.sh("cat /workspace/kept")).await.text(), "kept\n");
    second.cleanup().await;

    // A stopped container is started again.
    engine.say(&["stop", "--time", "0", &id]);
    let third = place(&settings);
    let scene = Scene::open(third.clone()).await;
    assert_eq!(scene.run(scene.sh("cat /workspace/kept")).await.text(), "kept\n");
    third.cleanup().await;

    let changed = DockerSettings { pids: Some(99), ..settings.clone() };
    let fourth = place(&changed);
    let scene = Scene::open(fourth.clone()).await;
    let other = fourth.transport().container_id().unwrap();
    assert_ne!(other, id);
    assert_eq!(engine.containers(&settings), std::slice::from_ref(&other));
    // The first command gets the notice; here that was the one that created a directory.
    assert_eq!(scene.run(scene.sh("ls /workspace")).await.text(), "");
    fourth.cleanup().await;
    engine.say(&["rm", "--force", &other]);
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_of_the_dead_are_removed() {
    let Some(engine) = engine() else { return };
    let settings = engine.settings("orphan");
    // Its owner was a local process that has ended.
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    let alive = place(&settings);
    Scene::open(alive.clone()).await;
    let id = alive.transport().container_id().unwrap();
    let owner =
        engine.say(&["inspect", "--format", "{{index .Config.Labels \"hermes.owner\"}}", &id]);
    let dead = format!("{}.{pid}.1", owner.rsplitn(3, '.').last().unwrap());
    let labels = ["hermes=1", "hermes.settings=x", "hermes.profile=tests", "hermes.persistent=0"];
    let mut words = vec!["run", "-d", "--network", "none"];
    labels.iter().for_each(|label| words.extend(["--label", label]));
    let (owner, task) = (format!("hermes.owner={dead}"), format!("hermes.task={}", settings.task));
    words.extend(["--label", &owner, "--label", &task, "--label", "hermes.made=1"]);
    words.extend([settings.image.as_str(), "sleep", "1000"]);
    let orphan = engine.say(&words);
    assert!(engine.containers(&settings).contains(&orphan), "{orphan}");
    let next = place(&settings);
    Scene::open(next.clone()).await;
    let left = engine.containers(&settings);
    assert!(!left.contains(&orphan) && left.contains(&id), "{left:?}");
    alive.cleanup().await;
    next.cleanup().await;
    assert_eq!(engine.containers(&settings), Vec::<String>::new());
}

/// Not a test by itself: the program that the next one kills.
#[tokio::test(flavor = "multi_thread")]
async fn holds_a_container_until_it_is_killed() {
    let Ok(task) = std::env::var("HERMES_TEST_HOLD") else { return };
    let settings = DockerSettings { task, ..engine().unwrap().settings("hold") };
    Scene::open(place(&settings)).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_ends_with_a_program_that_is_killed() {
    let Some(engine) = engine() else { return };
    let settings = engine.settings("hold");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "docker::holds_a_container_until_it_is_killed"])
        .env("HERMES_TEST_HOLD", &settings.task)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let await_count = async |count: usize| {
        for _ in 0..600 {
            if engine.containers(&settings).len() == count {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("waited in vain for {count} containers: {:?}", engine.containers(&settings));
    };
    await_count(1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    await_count(0).await;
}

#[tokio::test]
async fn what_is_missing_is_told_with_the_next_step() {
    let program =
        DockerSettings { program: Some("no-such-docker".into()), ..DockerSettings::default() };
    let error = place(&program).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("not installed") && error.hint().contains("Install"));

    let Some(engine) = engine() else { return };
    let away = DockerSettings {
        global_arguments: vec!["--host".into(), "unix:///no/such.sock".into()],
        ..engine.settings("away")
    };
    let error = place(&away).open().await.unwrap_err();
    assert!(error.message().contains("is not running"), "{}", error.message());
    assert!(error.hint().contains("Start it"), "{}", error.hint());

    let image = DockerSettings { image: "local/none:9".into(), ..engine.settings("image") };
    let error = place(&image).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("local/none:9"), "{}", error.message());
    assert!(error.hint().contains("docker_image"), "{}", error.hint());

    let volume =
        DockerSettings { volumes: vec!["/no/such:/x".into()], ..engine.settings("volume") };
    let error = place(&volume).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_found_no_container_is_told_that_it_is_gone() {
    let Some(engine) = engine() else { return };
    let settings = engine.settings("gone");
    let place = place(&settings);
    place.open().await.unwrap();
    assert!(place.transport().diagnose_loss(ProcessExit::Code(1)).await.is_none(), "it is there");
    engine.say(&["rm", "--force", &place.transport().container_id().unwrap()]);
    let error = place.transport().diagnose_loss(ProcessExit::Code(1)).await.unwrap();
    assert!(error.message().contains("stopped or removed"), "{error}");
    place.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_folder_takes_the_place_of_the_default_one() {
    let Some(engine) = engine() else { return };
    let (dir, storage) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("mine"), "seen").unwrap();
    for persistent in [false, true] {
        let settings = DockerSettings {
            persistent,
            storage: Some(storage.path().into()),
            volumes: vec![format!("{}:/workspace", dir.path().display())],
            ..engine.settings("declared-place")
        };
        let backend = place(&settings);
        let scene = Scene::open(backend.clone()).await;
        assert_eq!(scene.run(scene.sh("cat /workspace/mine")).await.text(), "seen");
        let id = backend.transport().container_id().unwrap();
        backend.cleanup().await;
        engine.say(&["rm", "--force", &id]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_on_the_disk_is_claimed_only_where_the_engine_keeps_it() {
    let Some(engine) = engine() else { return };
    let settings =
        DockerSettings { disk_mb: Some(10), persistent: true, ..engine.settings("disk-bound") };
    // A process that finds the container knows as much as its creator.
    for _ in 0..2 {
        let backend = place(&settings);
        let scene = Scene::open(backend.clone()).await;
        let id = backend.transport().container_id().unwrap();
        let kept = engine.say(&["inspect", "--format", "{{.HostConfig.StorageOpt}}", &id]);
        let job = scene.start(scene.sh("true")).await;
        let held = job.containment_summary().unwrap();
        scene.finish(&job).await;
        let is_claimed = held.contains("at most 10 MB of disk");
        assert_eq!(is_claimed, kept.contains("size:10m"), "{held} {kept}");
        assert_ne!(
            is_claimed,
            held.contains("not enforced by this engine: 10 MB of disk"),
            "{held}"
        );
        backend.cleanup().await;
    }
    for id in engine.containers(&settings) {
        engine.say(&["rm", "--force", &id]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_a_shell_is_told_as_that() {
    let Some(engine) = engine() else { return };
    let dir = tempfile::tempdir().unwrap();
    // An empty archive.
    let archive = dir.path().join("empty.tar");
    std::fs::write(&archive, [0; 10240]).unwrap();
    engine.say(&["import", archive.to_str().unwrap(), "local/shell-less:1"]);
    for (persistent, disk_mb) in [(true, None), (true, Some(10)), (false, Some(10))] {
        let settings = DockerSettings {
            image: "local/shell-less:1".into(),
            persistent,
            disk_mb,
            ..engine.settings("shell-less")
        };
        let error = place(&settings).open().await.unwrap_err();
        assert!(error.message().contains("has no shell"), "{error}");
        assert_eq!(engine.containers(&settings), Vec::<String>::new());
    }
    engine.say(&["rmi", "local/shell-less:1"]);
}
