//! The spawn itself: errors, threads, descriptors, what the command says.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Barrier;

use hermes_core::NetworkMode;
use hermes_sandbox::{ProbeOutcome, explain_spawn_error, probe, support};

use crate::support::{Ran, World, has_namespaces, is_root, run};

#[test]
fn the_command_is_run_as_it_says() {
    let mut world = World::new();
    for namespaced in [false, true] {
        if namespaced {
            if !has_namespaces() {
                return;
            }
            fs::create_dir_all(world.inside.join("sub/kept")).unwrap();
            world.confinement.read_only = vec![world.inside.join("sub/kept")];
        }
        fs::create_dir_all(world.inside.join("sub")).unwrap();
        let sandbox = world.sandbox();
        let mut command = Command::new("sh");
        command.args(["-c", "pwd; echo $A; echo ${HOME-none}; cat; echo bad >&2; exit 7"]);
        command.env_clear().env("A", "b c").current_dir(world.inside.join("sub"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = sandbox.spawn(&mut command).unwrap();
        child.stdin.take().unwrap().write_all(b"from the parent").unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7));
        let wanted = format!("{}\nb c\nnone\nfrom the parent", world.inside.join("sub").display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), wanted);
        assert_eq!(err, "bad\n");
    }
}

#[test]
fn errors_of_the_spawn_are_told() {
    let world = World::new();
    let sandbox = world.sandbox();
    let missing = sandbox.spawn(&mut Command::new("/usr/bin/no-such-program")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let mut command = Command::new("no-such-program");
    let missing = sandbox.spawn(command.env("PATH", "/usr/bin:/bin")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let forbidden = world.outside.join("program");
    fs::copy("/bin/true", &forbidden).unwrap();
    let refused = sandbox.spawn(&mut Command::new(&forbidden)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    let mut command = Command::new("true");
    command.current_dir(world.inside.join("nowhere"));
    assert_eq!(sandbox.spawn(&mut command).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_step_that_fails_is_named_and_nothing_runs() {
    let world = World::new();
    let sandbox = world.sandbox();
    let mut command = Command::new("sh");
    command.arg("-c").arg("echo > ran").current_dir(&world.inside);
    sandbox.apply(&mut command);
    sandbox.apply(&mut command);
    let error = explain_spawn_error(command.spawn().unwrap_err());
    assert!(error.to_string().contains("already has a sandbox"), "{error}");
    assert!(!world.inside.join("ran").exists());
}

#[test]
fn many_spawns_at_once_leave_nothing_behind() {
    let mut world = World::new();
    if has_namespaces() {
        fs::write(world.inside.join(".env"), "x").unwrap();
        world.confinement.hidden = vec![world.inside.join(".env")];
    }
    // What is opened once stays open.
    run(&world.sandbox(), &world.inside, "true");
    // A program of its own, as other tests of this one open files meanwhile.
    let files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let alone = std::env::var_os("NEXTEST").is_some();
    let before = files();
    let sandbox = world.sandbox();
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (sandbox, world, barrier) = (&sandbox, &world, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for number in 0..25 {
                    let ran = run(sandbox, &world.inside, &format!("echo {thread}-{number}"));
                    assert_eq!(ran.out, format!("{thread}-{number}"), "{ran:?}");
                }
            });
        }
    });
    drop(sandbox);
    if alone {
        assert_eq!(files(), before);
    } else {
        eprintln!("skipped: open files are counted under nextest only");
    }
}

#[test]
fn a_sandbox_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<hermes_sandbox::Sandbox>();
    shared::<hermes_sandbox::LaunchedChild>();
}

#[test]
fn the_system_and_the_sandbox_tell_about_themselves() {
    let support = support();
    let text = support.to_string();
    assert!(text.starts_with("landlock (ABI "), "{text}");
    let json = serde_json::to_value(&support).unwrap();
    assert!(json["landlock"].as_u64().unwrap() >= 1);
    assert_eq!(json["seccomp"], true);

    let world = World::new();
    let sandbox = world.sandbox();
    let report = sandbox.enforcement();
    let namespace =
        if support.user_namespaces { ", mount namespace, network namespace" } else { "" };
    let landlock = support.landlock.unwrap();
    let wanted = format!("landlock (ABI {landlock}), seccomp{namespace}, rlimits");
    if is_root() {
        assert!(report.to_string().starts_with(&wanted), "{report}");
    } else if report.gaps.is_empty() {
        assert_eq!(report.to_string(), wanted);
    }
    assert_eq!(serde_json::to_value(report).unwrap()["mount_namespace"], support.user_namespaces);
}

#[test]
fn probes_find_that_it_holds() {
    let mut world = World::new();
    fs::write(world.inside.join(".env"), "x").unwrap();
    fs::create_dir_all(world.inside.join("kept")).unwrap();
    fs::create_dir_all(world.inside.join("keys")).unwrap();
    fs::write(world.inside.join("keys/one"), "x").unwrap();
    if has_namespaces() {
        world.confinement.hidden = vec![world.inside.join(".env"), world.inside.join("keys")];
        world.confinement.read_only = vec![world.inside.join("kept"), world.inside.join("unborn")];
    }
    for network in [NetworkMode::Off, NetworkMode::Isolated, NetworkMode::Host] {
        world.confinement.network = network;
        let probes = probe(&world.confinement, &world.inside);
        assert!(probes.len() >= 10, "{probes:?}");
        let failed: Vec<_> = probes.iter().filter(|it| !it.passed()).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        assert!(probes.iter().any(|it| it.got == ProbeOutcome::Permitted));
    }
    assert!(!world.inside.join("unborn").exists());
}

#[test]
fn probes_find_that_it_does_not_hold() {
    let mut world = World::new();
    fs::write(world.inside.join("open"), "x").unwrap();
    // Scratch space outside of what may be written.
    let probes = probe(&world.confinement, &world.outside);
    assert!(
        probes.iter().any(|it| !it.passed() && it.wanted == ProbeOutcome::Permitted),
        "{probes:?}"
    );
    world.confinement.write.clear();
    let ran = Ran::of(&world.sandbox(), Command::new("sh").args(["-c", "exit 0"]));
    assert!(ran.ok);
}
