//! Covers stay while a child runs, whatever becomes of the files below them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use hermes_core::{PartialDir, PendingSecrets};
use hermes_sandbox::Sandbox;

use crate::support::{World, has_namespaces, run};

/// Starts a script that waits until it is told to go on.
fn start(sandbox: &Sandbox, dir: &Path, script: &str) -> Child {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("echo up; read line; {script}")).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = sandbox.spawn(&mut command).unwrap();
    let mut up = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut up).unwrap();
    child
}

/// Lets it go on, and tells what it said.
fn finish(mut child: Child) -> String {
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Tries something until it is refused, and says so. What falls off is put back
/// in a moment, which is not to be measured here.
fn until_refused(attempt: &str) -> String {
    format!(
        "n=0; while {attempt}; do n=$((n+1)); [ $n -lt 600 ] || exit; sleep 0.05; done \
         > /dev/null 2>&1; echo refused"
    )
}

/// Puts a new file in the place of another.
fn replace(path: &Path, text: &str) {
    let next = path.with_extension("next");
    fs::write(&next, text).unwrap();
    fs::rename(&next, path).unwrap();
}

#[test]
fn a_hidden_file_that_is_replaced_while_a_child_runs_is_hidden_again() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let secret = world.inside.join("secrets/key");
    fs::create_dir(world.inside.join("secrets")).unwrap();
    fs::write(&secret, "KEY=1\n").unwrap();
    world.confinement.hidden = vec![secret.clone()];
    let sandbox = world.sandbox();
    let child = start(&sandbox, &world.inside, &until_refused("cat secrets/key"));
    for number in 0..3 {
        replace(&secret, &format!("KEY={number}\n"));
    }
    assert_eq!(finish(child), "refused");
    // Also for those whose sandbox nobody has any more.
    let child = start(&sandbox, &world.inside, &until_refused("cat secrets/key"));
    drop(sandbox);
    let _other = world.sandbox();
    replace(&secret, "KEY=4\n");
    assert_eq!(finish(child), "refused");
    // And if the folder is another one.
    let sandbox = world.sandbox();
    let child = start(&sandbox, &world.inside, &until_refused("cat secrets/key"));
    fs::rename(world.inside.join("secrets"), world.inside.join("old")).unwrap();
    fs::create_dir(world.inside.join("secrets")).unwrap();
    fs::write(&secret, "KEY=5\n").unwrap();
    assert_eq!(finish(child), "refused");
}

#[test]
fn a_protected_file_that_is_replaced_while_a_child_runs_is_protected_again() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let config = world.inside.join(".git/config");
    fs::create_dir_all(world.inside.join(".git/hooks")).unwrap();
    fs::write(&config, "[core]\n").unwrap();
    world.confinement.read_only = vec![config.clone(), world.inside.join(".git/hooks")];
    let sandbox = world.sandbox();
    let child = start(&sandbox, &world.inside, &until_refused("touch -a .git/config"));
    replace(&config, "[core]\n[user]\n");
    assert_eq!(finish(child), "refused");
    assert!(run(&sandbox, &world.inside, "grep user .git/config && echo x > .git/index").ok);
}

#[test]
fn a_secret_that_comes_to_be_while_a_child_runs_is_hidden() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.confinement.read.push(world.outside.clone());
    let awaited = PendingSecrets {
        paths: vec![world.outside.join("config/cloud/token")],
        dirs: vec![world.inside.clone()],
        name_patterns: vec![".env".to_owned(), ".env.*".to_owned()],
        excluded_patterns: vec![".env.example".to_owned()],
    };
    world.confinement.pending_secrets = Arc::new(awaited);
    let sandbox = world.sandbox();
    let token = world.outside.join("config/cloud/token");
    for (path, shown) in [
        (world.inside.join(".env"), "refused"),
        (world.inside.join(".env.Local"), "refused"),
        (world.inside.join(".env.example"), ""),
        (world.inside.join("environment"), ""),
        (token, "refused"),
    ] {
        let attempt = until_refused(&format!("cat {}", path.display())).replace("600", "20");
        let child = start(&sandbox, &world.inside, &attempt);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "KEY\n").unwrap();
        assert_eq!(finish(child), shown, "{}", path.display());
    }
}

#[test]
fn what_is_not_to_be_made_is_put_aside_while_the_child_runs() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let places = [".zshrc", ".config/autostart"].map(|name| world.inside.join(name));
    world.confinement.quarantined = places.to_vec();
    let sandbox = world.sandbox();
    // Nobody tidies up after a child that goes on.
    let script = "echo evil > .zshrc; mkdir -p .config/autostart && \
                  echo evil > .config/autostart/e.desktop; n=0; \
                  while [ -e .zshrc ] || [ -e .config/autostart ]; do n=$((n+1)); \
                  [ $n -lt 600 ] || exit; sleep 0.05; done; echo gone";
    assert_eq!(finish(start(&sandbox, &world.inside, script)), "gone");
    // Where no child runs, somebody else has made it. All is seen in its order.
    fs::write(&places[0], "mine\n").unwrap();
    let mut other = World::new();
    other.confinement.quarantined =
        [".zshrc", ".config/autostart"].map(|name| other.inside.join(name)).to_vec();
    let child = start(&other.sandbox(), &other.inside, script);
    assert_eq!(finish(child), "gone");
    assert!(places[0].exists());
}

#[test]
fn a_child_that_outlives_its_sandbox_cannot_make_what_a_placeholder_stood_for() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    fs::create_dir(world.inside.join(".git")).unwrap();
    let pointer = world.inside.join(".git/commondir");
    world.confinement.masked_missing = vec![pointer.clone()];
    let sandbox = world.sandbox();
    let script = "echo evil > .git/commondir || rm -f .git/commondir || echo refused";
    let child = start(&sandbox, &world.inside, script);
    drop(sandbox);
    assert_eq!(finish(child), "refused");
    // Whoever comes next takes it away.
    assert_eq!(fs::read_to_string(&pointer).unwrap(), ".\n");
    drop(world.sandbox());
    assert!(!pointer.exists());
}

#[test]
fn an_enclosed_folder_shows_what_is_open_and_nothing_that_comes_to_be() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let home = world.inside.join("home");
    for dir in ["skills", "logs/audit"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    fs::create_dir_all(world.inside.join("dots/.hub")).unwrap();
    fs::write(world.inside.join("dots/.hub/key"), "SECRET\n").unwrap();
    fs::write(world.inside.join("dots/own"), "text\n").unwrap();
    std::os::unix::fs::symlink(world.inside.join("dots"), home.join("linked")).unwrap();
    for file in ["secrets.json", "config.yaml", "skills/a", "logs/audit/key"] {
        fs::write(home.join(file), "text\n").unwrap();
    }
    let open =
        ["skills", "logs", "config.yaml", "linked", "gone"].map(|name| home.join(name)).to_vec();
    world.confinement.partial_dirs = vec![PartialDir { dir: home.clone(), open }];
    let hidden = ["secrets.json", "logs/audit", "linked/.hub"];
    world.confinement.hidden = hidden.map(|name| home.join(name)).to_vec();
    world.confinement.read_only = vec![home.clone()];
    let sandbox = world.sandbox();
    let script = "cat home/secrets.json home/later home/logs/audit/key home/linked/.hub/key; \
                  cat home/config.yaml home/skills/a home/skills/b home/linked/own; for f in home/new home/skills/new home/config.yaml \
                  home/secrets.json; do touch $f && echo made; done; mv home other && echo moved";
    let child = start(&sandbox, &world.inside, script);
    replace(&home.join("secrets.json"), "SECRET\n");
    fs::write(home.join("later"), "SECRET\n").unwrap();
    fs::write(home.join("skills/b"), "text\n").unwrap();
    assert_eq!(finish(child), "text\ntext\ntext\ntext");
}

#[test]
fn where_nothing_may_be_deleted_files_are_written_and_neither_deleted_nor_renamed() {
    let mut world = World::new();
    fs::create_dir_all(world.inside.join("build")).unwrap();
    fs::write(world.inside.join("kept"), "text\n").unwrap();
    world.confinement.delete = Some(vec![world.inside.join("build")]);
    for (script, works) in [
        ("echo x >> kept && echo x > new && mkdir folder", true),
        ("rm kept", false),
        ("rmdir folder", false),
        ("mv kept other", false),
        ("mv new kept", false),
        ("echo x > build/a && mv build/a build/b && rm build/b", true),
        ("mv kept build/", false),
    ] {
        let ran = world.sh(script);
        assert_eq!(ran.ok, works, "{script}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(world.inside.join("kept")).unwrap(), "text\nx\n");
}
