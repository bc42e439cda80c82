//! This machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hermes_exec::{LocalBackend, ProcessExit};

use crate::contract::{Scene, contract};

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_here_as_everywhere() {
    contract(Arc::new(LocalBackend::default())).await;
}

/// What bash makes of a command by itself.
fn by_bash(scene: &Scene, command: &str) -> (ProcessExit, String) {
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(&scene.dir);
    bash.env_clear().envs(&scene.place.environment);
    let done = bash.output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (ProcessExit::Code(done.status.code().unwrap()), String::from_utf8_lossy(&text).into_owned())
}

fn make(file: &Path, text: &str, mode: u32) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_command_without_a_shell_is_as_one_with_it() {
    let scene = Scene::open(Arc::new(LocalBackend::default())).await;
    make(&scene.dir.join("script"), "#!/bin/sh\necho \"$0 $*\"; exit 3\n", 0o755);
    make(&scene.dir.join("bare"), "echo \"$0 $*\" $((1 + 1))\n", 0o755);
    make(&scene.dir.join("text"), "not a program\n", 0o644);
    make(&scene.dir.join("lost"), "#!/no/such/interpreter\n", 0o755);
    fs::create_dir(scene.dir.join("folder")).unwrap();
    for command in [
        "true",
        "false",
        "ls -a",
        "ls no-such-file",
        "seq 3",
        "basename a/b.c .c",
        "printenv PWD",
        "printenv HOME",
        "./script a b=c %d",
        "./bare a",
        "./text",
        "./lost",
        "./folder",
        "./none",
        "no-such-program-anywhere -x",
        "sh -c exit",
    ] {
        let done = scene.run(scene.spec("bash", &["-c", command])).await;
        assert_eq!((done.exit, done.text()), by_bash(&scene, command), "{command}");
    }
}

/// Bash believes the `PWD` that it finds if it leads to the folder.
#[tokio::test]
async fn the_way_to_a_folder_stays_as_it_was_gone() {
    let scene = Scene::open(Arc::new(LocalBackend::default())).await;
    let link = scene.dir.with_extension("link");
    symlink(&scene.dir, &link).unwrap();
    let pwd = |said: &str| {
        let mut spec = scene.spec("bash", &["-c", "printenv PWD"]);
        spec.environment.insert("PWD".into(), said.into());
        spec
    };
    let way = link.to_str().unwrap();
    assert_eq!(scene.run(pwd(way)).await.text().trim(), way);
    let here = scene.dir.to_str().unwrap();
    assert_eq!(scene.run(pwd("/")).await.text().trim(), here);
    assert_eq!(scene.run(pwd("nowhere")).await.text().trim(), here);
    fs::remove_file(link).unwrap();
}
