//! A container of Apptainer.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use hermes_core::ErrorKind;
use hermes_exec::singularity::{SingularitySettings, SingularityTransport};
use hermes_exec::{ExecBackend, ProcessExit, RemoteBackend, Transport as _};

use crate::contract::{Scene, contract};

/// None if it is not installed.
fn find() -> Option<SingularitySettings> {
    let said = |name: &str| std::env::var(name).ok();
    let found = (said("HERMES_TEST_APPTAINER"), said("HERMES_TEST_APPTAINER_IMAGE"));
    let (Some(program), Some(image)) = found else {
        println!("skipped: no apptainer (scripts/components/apptainer.sh start DIR)");
        return None;
    };
    Some(SingularitySettings {
        image,
        program: Some(program.into()),
        ..SingularitySettings::default()
    })
}

fn place(settings: &SingularitySettings) -> Arc<RemoteBackend<SingularityTransport>> {
    Arc::new(SingularityTransport::backend(settings.clone()))
}

async fn scene(settings: &SingularitySettings) -> Scene {
    Scene::open(place(settings)).await
}

async fn leave(scene: &Scene) {
    assert_eq!(scene.leave().await, Vec::<String>::new());
    scene.backend.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_in_an_instance_as_everywhere() {
    let Some(settings) = find() else { return };
    contract(place(&settings)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_declared_is_seen() {
    let Some(mut settings) = find() else { return };
    // Below /tmp, which a small system for the program shares with this one.
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(dir.path().join("file"), "declared\n").unwrap();
    settings.binds = vec![format!("{}:/mnt:ro", dir.path().display())];
    settings.environment.insert("WITH".into(), "it".into());
    let scene = scene(&settings).await;
    let script = format!(
        "cat /mnt/file; echo x 2>/dev/null >/mnt/file || echo kept; ls {}; echo $WITH $HERMES_HOME; \
         grep -E 'CapEff|NoNewPrivs' /proc/self/status",
        dir.path().display()
    );
    let text = scene.run(scene.sh(&script)).await.text();
    assert!(text.starts_with("declared\nkept\nls: "), "{text}");
    assert!(text.contains("\nit\n"), "{text}");
    assert!(text.contains("CapEff:\t0000000000000000\nNoNewPrivs:\t1"), "{text}");
    leave(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_keeps_what_was_changed() {
    let Some(mut settings) = find() else { return };
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    settings.overlay = Some(dir.path().join("overlay"));
    let first = scene(&settings).await;
    first.run(first.sh("echo kept >/kept")).await;
    leave(&first).await;
    let second = scene(&settings).await;
    assert_eq!(second.run(second.sh("cat /kept")).await.text(), "kept\n");
    leave(&second).await;
    settings.overlay = None;
    let third = scene(&settings).await;
    assert_eq!(
        third.run(third.sh("echo x >/new && ls /kept 2>/dev/null || echo no")).await.text(),
        "no\n"
    );
    leave(&third).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_or_it_is_said_that_they_do_not() {
    let Some(mut settings) = find() else { return };
    (settings.memory_mb, settings.cpus) = (Some(256), Some(0.5));
    let scene = scene(&settings).await;
    let job = scene.start(scene.sh("true")).await;
    let held = job.containment_summary().unwrap();
    let holds = held.contains("--memory 256M --cpus 0.5");
    assert!(holds != held.contains("limits are not enforced: "), "{held}");
    scene.finish(&job).await;
    leave(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_gone_is_told_and_made_anew() {
    let Some(settings) = find() else { return };
    let place = place(&settings);
    let scene = Scene::open(Arc::clone(&place) as Arc<dyn ExecBackend>).await;
    let job = scene.start(scene.sh("echo began; sleep 1000")).await;
    scene.hear(&job, "began").await;
    let carrier =
        place.transport().transport_process("true", hermes_exec::TransportIo { terminal: false });
    let name = carrier.arguments.iter().find_map(|word| word.to_str()?.strip_prefix("instance://"));
    let stopped = Command::new(settings.program.as_ref().unwrap())
        .args(["instance", "stop", "--signal", "KILL", name.unwrap()])
        .output()
        .unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    let outcome = scene.finish(&job).await;
    assert!(outcome.text().contains("the container ended"), "{}", outcome.text());
    assert_ne!(outcome.exit, ProcessExit::Code(0));
    let mut spec = scene.sh("echo again");
    spec.directory = "/".into();
    let next = scene.run(spec).await.text();
    assert!(next.contains("again\n") && next.contains("a new one"), "{next}");
    leave(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_says_why() {
    let Some(settings) = find() else { return };
    let none = SingularitySettings { image: "/no/such/image.sif".into(), ..settings.clone() };
    let error = place(&none).open().await.unwrap_err();
    assert!(error.message().contains("does not exist"), "{error}");
    assert!(error.hint().contains("singularity_image"), "{error}");
    let empty = SingularitySettings { image: String::new(), ..settings };
    assert_eq!(place(&empty).open().await.unwrap_err().kind(), ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn a_missing_program_is_told() {
    let program = Some("/no/such/apptainer".into());
    let settings =
        SingularitySettings { image: "x.sif".into(), program, ..SingularitySettings::default() };
    let error = place(&settings).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("/no/such/apptainer"), "{error}");
    assert!(error.hint().contains("Install"), "{error}");
}
