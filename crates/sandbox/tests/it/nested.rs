//! A sandbox within a sandbox, which is also a system without namespaces.

use std::fs;
use std::process::Command;

use hermes_sandbox::{LaunchSpec, Sandbox, support};

use crate::support::{Ran, World};

#[test]
fn a_sandbox_within_a_sandbox_holds_or_is_refused() {
    let mut outer = World::new();
    // Without this, the disks would ask for a namespace.
    let program = std::env::current_exe().unwrap();
    outer.confinement.read = fs::read_dir("/")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str() != Some("/dev"))
        .collect();
    let mut command = Command::new(program);
    command.args(["--exact", "nested::inner", "--ignored", "--nocapture"]);
    command.env("TMPDIR", &outer.inside).current_dir(&outer.inside);
    let ran = Ran::of(&outer.sandbox(), &mut command);
    assert!(ran.ok, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("1 passed"), "{}", ran.out);
}

#[test]
#[ignore = "run by the other one, in a sandbox"]
fn inner() {
    let support = support();
    assert!(!support.user_namespaces);
    assert!(support.to_string().contains("no user namespaces ("), "{support}");

    let mut world = World::new();
    let ran = world.sh(&format!("echo x > new && cat new && cat {}/*", world.outside.display()));
    assert_eq!((ran.ok, ran.out.as_str()), (false, "x"), "{ran:?}");

    world.confinement.hidden = vec![world.inside.join("new")];
    let error = Sandbox::prepare(&world.confinement, None).unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    let text = error.to_string();
    assert!(text.contains("user namespaces") && text.contains("sysctl"), "{text}");
}

#[test]
fn files_that_a_careless_parent_left_open_are_closed() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg("exec 9< \"$0\"; exec \"$1\" --exact nested::leaking --ignored");
    command.arg(dir.path()).arg(std::env::current_exe().unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

#[test]
#[ignore = "run by the other one, with an open folder"]
fn leaking() {
    assert!(fs::read_link("/proc/self/fd/9").is_ok());
    let world = World::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "readlink /proc/self/fd/9; test ! -e /proc/self/fd/9"]);
    let bare = command.output().unwrap();
    assert!(!bare.status.success());
    let ran = Ran::of(&world.sandbox(), &mut command);
    assert!(ran.ok && ran.out.is_empty(), "{ran:?}");
    let mut child = world.sandbox().launch(&LaunchSpec::from_command(&command).unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
}
