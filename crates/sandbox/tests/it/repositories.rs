//! Repositories: git keeps working, and files that it executes do not change.

use std::fs;
use std::path::Path;
use std::process::Command;

use hermes_sandbox::probe;

use crate::support::{World, has_namespaces, run};

/// A workspace with a repository; none if there is no git.
fn repository() -> Option<World> {
    let mut world = World::new();
    let script = "git init -q . && git config user.name a && git config user.email a@b.c && \
                  git config gc.auto 0 && mkdir -p .git/hooks && git init -q sub && \
                  mkdir -p sub/.git/hooks";
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).current_dir(&world.inside);
    let made = command.env("HOME", &world.outside).output().unwrap();
    if !made.status.success() || !has_namespaces() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&made.stderr));
        return None;
    }
    world.confinement.read.push("/etc".into());
    Some(world)
}

#[test]
fn a_commit_works_where_only_hooks_are_kept() {
    let Some(mut world) = repository() else { return };
    let git = world.inside.join(".git");
    world.confinement.read_only = vec![git.join("hooks")];
    world.confinement.frozen_nested = vec![world.inside.join("sub/.git/hooks")];
    let pointers = [git.join("commondir"), world.inside.join("sub/.git/commondir")];
    world.confinement.masked_missing = pointers.to_vec();
    let sandbox = world.sandbox();
    let ran = run(
        &sandbox,
        &world.inside,
        "export HOME=$PWD; echo x > a && git add a && git commit -qm one && git tag t && \
         git checkout -qb side && echo z >> a && git stash && git stash pop && git commit -qam two && \
         git checkout -q - && git merge -q side && git rebase -q side && git gc -q && git fsck && \
         git worktree add -q wt && git -C wt status && git worktree remove wt && \
         git log --oneline | wc -l && git config some.setting 1 && cd sub && echo y > b && git add b && \
         git -c user.name=a -c user.email=a@b.c commit -qm two",
    );
    assert!(ran.ok, "{ran:?}");
    for script in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil > sub/.git/hooks/pre-commit",
        "mv sub/.git sub/old",
        "rm -rf sub/.git/hooks",
        "echo ../evil > .git/commondir",
        "ln -sf ../evil .git/commondir",
        "echo ../evil > c && mv c .git/commondir",
        "rm .git/commondir",
        "mv .git/commondir c",
        "echo ../evil > sub/.git/commondir",
    ] {
        assert!(!run(&sandbox, &world.inside, script).ok, "{script}");
    }
    // Outside, git works as usual meanwhile, and nothing is left behind.
    let mut outside = Command::new("git");
    outside.args(["status", "--short"]).current_dir(&world.inside).env("HOME", &world.outside);
    assert!(outside.status().unwrap().success());
    drop(sandbox);
    assert!(pointers.iter().all(|path| fs::symlink_metadata(path).is_err()));
}

#[test]
fn what_a_child_makes_where_nothing_is_to_be_does_not_stay() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let places = [".zshrc", ".config/autostart", ".git/commondir", "link/rc"];
    world.confinement.quarantined = places.map(|name| world.inside.join(name)).to_vec();
    fs::create_dir(world.inside.join(".git")).unwrap();
    fs::create_dir(world.outside.join("rc")).unwrap();
    let sandbox = world.sandbox();
    let outside = world.outside.display();
    let script = format!(
        "echo evil > .zshrc; ln -s x .git/commondir; ln -s {outside} link; mkdir -p \
         .config/autostart; echo evil > .config/autostart/e.desktop; echo x > other"
    );
    run(&sandbox, &world.inside, &script);
    sandbox.quarantine();
    for name in places {
        assert!(fs::symlink_metadata(world.inside.join(name)).is_err(), "{name}");
    }
    assert!(world.inside.join("other").exists() && world.outside.join("rc").exists());
    // The probe tries the same, and leaves nothing behind.
    let before = fs::read_dir(&world.inside).unwrap().count();
    let probes = probe(&world.confinement, &world.inside);
    let made: Vec<_> = probes.iter().filter(|it| it.what.contains("permanently")).collect();
    assert!(!made.is_empty() && made.iter().all(|it| it.passed()), "{made:?}");
    assert_eq!(fs::read_dir(&world.inside).unwrap().count(), before);
}

#[test]
fn a_repository_that_is_kept_as_a_whole_can_be_read() {
    let Some(mut world) = repository() else { return };
    let git = world.inside.join(".git");
    world.confinement.read_only = vec![git.clone()];
    let sandbox = world.sandbox();
    let ran = run(&sandbox, &world.inside, "HOME=$PWD git status --short && cat .git/HEAD");
    assert!(ran.ok && ran.out.contains("refs/heads"), "{ran:?}");
    for script in [
        "echo x > .git/commondir",
        "echo x >> .git/config",
        "echo x > .git/config.worktree",
        "mkdir -p .git/modules/a/hooks",
        "mv .git old",
        "rm -rf .git",
        "git config core.fsmonitor evil",
    ] {
        assert!(!run(&sandbox, &world.inside, script).ok, "{script}");
    }
    assert!(!git.join("commondir").exists() && git.join("HEAD").exists());
}

#[test]
fn a_folder_with_a_repository_in_it_can_still_be_moved_and_moved_into() {
    let Some(mut world) = repository() else { return };
    world.confinement.frozen_nested = vec![world.inside.join("sub/.git/hooks")];
    let program = "import os; os.rename('new', 'sub/new'); os.rename('sub', 'other')";
    fs::write(world.inside.join("new"), "x").unwrap();
    let Some(ran) = world.python(program) else { return };
    assert!(ran.ok, "{ran:?}");
    assert!(world.inside.join("other/new").exists());
    assert!(world.inside.join("other/.git/hooks").is_dir());
}

#[test]
fn a_folder_that_is_not_to_be_made_is_not_made() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let ours = world.inside.join(".tool");
    world.confinement.masked_missing = vec![ours.clone(), world.inside.join("a/config.worktree")];
    fs::create_dir(world.inside.join("a")).unwrap();
    let sandbox = world.sandbox();
    for script in [
        "echo x > .tool/settings",
        "mkdir -p .tool/skills",
        "mv .tool t && mkdir .tool",
        "rmdir .tool",
        "echo x > a/config.worktree",
    ] {
        assert!(!run(&sandbox, &world.inside, script).ok, "{script}");
    }
    assert!(run(&sandbox, &world.inside, "mkdir b && echo x > b/c && mv b a/b").ok);
    drop(sandbox);
    let left = |path: &Path| fs::symlink_metadata(path).is_ok();
    assert!(!left(&ours) && !left(&world.inside.join("a/config.worktree")));
}
