//! What of repositories, and of our own files, child processes cannot change.

use std::path::PathBuf;

use hermes_core::{Confinement, Effect, HostService, Resource, Scope, ShellScript};
use hermes_policy::PolicyAnswer;

use crate::World;

fn confinement(world: &World, yaml: &str, effect: Effect) -> Confinement {
    let p = world.with(yaml, "p").unwrap();
    p.consider(&world.proposal(&[effect], &world.at())).1.unwrap()
}

fn command(text: &str) -> Effect {
    Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command(text.to_owned()) }
}

const DEFAULT: &str = "profiles: {p: {extends: default}}";

fn world() -> World {
    let world = World::new();
    for name in ["config", "HEAD", "hooks/pre-commit", "info/exclude"] {
        world.put(&format!("ws/.git/{name}"), "x");
    }
    world
}

fn closes(list: &[PathBuf], world: &World, name: &str) -> bool {
    list.iter().any(|path| world.path(name).starts_with(path))
}

#[test]
fn whatever_runs_settings_and_hooks_stay() {
    let world = world();
    let script = Effect::path(Scope::CODE_EXECUTE, world.path("ws"));
    for effect in [command("make"), command("./build.sh; git status"), script] {
        let confinement = confinement(&world, DEFAULT, effect.clone());
        for name in ["config", "hooks/x"] {
            let name = format!("ws/.git/{name}");
            assert!(
                closes(&confinement.read_only, &world, &name),
                "{effect}: {:?}",
                confinement.read_only
            );
        }
        assert!(!closes(&confinement.read_only, &world, "ws/.git/index"), "{effect}");
        assert!(
            confinement.masked_missing.contains(&world.path("ws/.git/commondir")),
            "{:?}",
            confinement.masked_missing
        );
    }
}

#[test]
fn git_keeps_its_own_books_and_its_hooks_stay() {
    let world = world();
    world.put("ws/.git/modules/lib/HEAD", "x");
    world.put("ws/.git/modules/lib/hooks/x", "x");
    world.put("ws/.git/modules/lib/config", "x");
    let cases = [
        ("git commit -m x", false),
        ("git add . && make", false),
        ("git remote add a https://a.org", true),
        ("git add . && git checkout -b x", true),
    ];
    for (text, with_settings) in cases {
        let confinement = confinement(&world, DEFAULT, command(text));
        assert!(!closes(&confinement.read_only, &world, "ws/.git/index.lock"), "{text}");
        for name in ["ws/.git/config", "ws/.git/modules/lib/config"] {
            let is_closed = closes(&confinement.read_only, &world, name);
            assert_eq!(is_closed, !with_settings, "{text}: {:?}", confinement.read_only);
        }
        for name in ["hooks/x", "modules/lib/hooks/x"] {
            let name = format!("ws/.git/{name}");
            assert!(
                closes(&confinement.read_only, &world, &name),
                "{text}: {:?}",
                confinement.read_only
            );
        }
        for name in ["ws/.git/commondir", "ws/.git/modules/lib/commondir"] {
            assert!(
                confinement.masked_missing.contains(&world.path(name)),
                "{text}: {:?}",
                confinement.masked_missing
            );
        }
    }
}

#[test]
fn settings_are_open_to_git_alone() {
    let world = world();
    let outsiders = [
        "git config user.name me; python3 evil.py",
        "git checkout -b x && npm install",
        "git branch -d x; ./run.sh",
        "git submodule update --init && make",
        "false && git config user.name me; python3 evil.py",
    ];
    for text in outsiders {
        let confinement = confinement(&world, DEFAULT, command(text));
        assert!(closes(&confinement.read_only, &world, "ws/.git/config"), "{text}");
        assert!(!closes(&confinement.read_only, &world, "ws/.git/index"), "{text}");
        assert!(
            confinement.denied_services.contains(&HostService::Settings),
            "{text}: {:?}",
            confinement.denied_services
        );
    }
    for text in ["git pull; python3 evil.py", "git fetch && make", "git ls-remote; make"] {
        let confinement = confinement(&world, DEFAULT, command(text));
        assert!(closes(&confinement.read_only, &world, "ws/.git/config"), "{text}");
        assert!(!confinement.denied_services.contains(&HostService::Settings), "{text}");
    }
    for text in ["git config user.name me && git commit -m x", "git switch -c x | tail -1"] {
        let confinement = confinement(&world, DEFAULT, command(text));
        assert!(!closes(&confinement.read_only, &world, "ws/.git/config"), "{text}");
        assert!(
            confinement.denied_services.is_empty(),
            "{text}: {:?}",
            confinement.denied_services
        );
    }
}

#[test]
fn a_shell_that_is_typed_into_may_commit_and_not_change_settings() {
    let world = world();
    let script =
        ShellScript { text: "git commit -m x".into(), fresh_shell: true, ..ShellScript::default() };
    let resource = Resource::Script(Box::new(script));
    let typed = Effect { scope: Scope::TERMINAL_EXECUTE, resource };
    for effect in [typed, command("bash")] {
        let confinement = confinement(&world, DEFAULT, effect.clone());
        assert!(!closes(&confinement.read_only, &world, "ws/.git/index"), "{effect}");
        assert!(closes(&confinement.read_only, &world, "ws/.git/config"), "{effect}");
        assert!(closes(&confinement.read_only, &world, "ws/.git/hooks/x"), "{effect}");
        assert!(
            confinement.masked_missing.contains(&world.path("ws/.git/config.worktree")),
            "{effect}"
        );
    }
}

#[test]
fn who_writes_one_file_of_a_repository_can_do_that() {
    let world = world();
    let confinement = confinement(&world, DEFAULT, command("echo '*.o' >> .git/info/exclude"));
    assert!(
        !closes(&confinement.read_only, &world, "ws/.git/info/exclude"),
        "{:?}",
        confinement.read_only
    );
    assert!(closes(&confinement.read_only, &world, "ws/.git/config"));
}

#[test]
fn repositories_within_others_keep_their_hooks_and_settings() {
    let world = world();
    for name in ["ws/sub/.git/config", "ws/sub/.git/hooks/x", "ws/deep/er/.git/config"] {
        world.put(name, "x");
    }
    world.put("ws/tree/.git", "gitdir: ../.git/worktrees/tree");
    let by_script = confinement(&world, DEFAULT, command("make"));
    let wanted =
        ["ws/deep/er/.git/config", "ws/sub/.git/config", "ws/sub/.git/hooks", "ws/tree/.git"];
    for name in wanted {
        assert!(
            by_script.frozen_nested.contains(&world.path(name)),
            "{name}: {:?}",
            by_script.frozen_nested
        );
    }
    assert!(by_script.masked_missing.contains(&world.path("ws/deep/er/.git/hooks")));
    let by_git = confinement(&world, DEFAULT, command("git submodule update"));
    // There may be others in the temporary folder of this machine.
    let own: Vec<_> =
        by_git.frozen_nested.iter().filter(|it| it.starts_with(world.path("ws"))).collect();
    assert_eq!(own, [&world.path("ws/sub/.git/hooks")]);
    let deleting = confinement(&world, DEFAULT, command("rm -rf sub"));
    assert!(
        !closes(&deleting.frozen_nested, &world, "ws/sub/.git/hooks"),
        "{:?}",
        deleting.frozen_nested
    );
    assert!(deleting.frozen_nested.contains(&world.path("ws/tree/.git")));
}

/// A workspace that is a working tree of the repository `main`.
fn linked() -> World {
    let world = World::new();
    for name in ["config", "HEAD", "hooks/pre-commit", "objects/x", "refs/x"] {
        world.put(&format!("main/.git/{name}"), "x");
    }
    let record = world.path("main/.git/worktrees/wt");
    world.put("ws/.git", &format!("gitdir: {}\n", record.display()));
    world.put("main/.git/worktrees/wt/commondir", "../..\n");
    let back = format!("{}\n", world.path("ws/.git").display());
    world.put("main/.git/worktrees/wt/gitdir", &back);
    world
}

/// The default, which may also write in the folder of the main repository.
fn wide(world: &World) -> String {
    format!(
        "profiles: {{p: {{allow: ['*'], restrictions: {{file:write: {{allowed_paths: \
         ['${{workspace}}/**', '{}/**']}}}}}}}}",
        world.path("main").display()
    )
}

#[test]
fn the_repository_of_a_linked_working_tree_is_kept_as_its_own_would_be() {
    let world = linked();
    let script = confinement(&world, &wide(&world), command("make"));
    for name in ["config", "hooks/x", "worktrees/wt/commondir"] {
        let name = format!("main/.git/{name}");
        assert!(closes(&script.read_only, &world, &name), "{name}: {:?}", script.read_only);
    }
    let commit = confinement(&world, &wide(&world), command("git commit -m x"));
    for name in ["config", "hooks/x", "worktrees/wt/commondir", "worktrees/wt/gitdir"] {
        let name = format!("main/.git/{name}");
        assert!(closes(&commit.read_only, &world, &name), "{name}: {:?}", commit.read_only);
    }
    for name in ["main/.git/worktrees/wt/index.lock", "main/.git/objects/aa"] {
        assert!(!closes(&commit.read_only, &world, name), "{name}: {:?}", commit.read_only);
    }
}

#[test]
fn git_can_commit_in_a_linked_working_tree() {
    let world = linked();
    let main = world.path("main/.git");
    let writes = |text: &str| confinement(&world, DEFAULT, command(text)).write.contains(&main);
    assert!(writes("git commit -m x"));
    assert!(writes("make"), "scripts call git");
    let commit = confinement(&world, DEFAULT, command("git commit -m x"));
    for name in ["main/.git/hooks/x", "main/.git/config"] {
        assert!(closes(&commit.read_only, &world, name), "{:?}", commit.read_only);
    }
    // A repository that does not know of the working tree stays closed.
    world.put("main/.git/worktrees/wt/gitdir", "/elsewhere/.git\n");
    assert!(!writes("git commit -m x"));
}

#[test]
fn a_submodule_can_be_a_workspace() {
    let world = World::new();
    for name in ["HEAD", "hooks/x"] {
        world.put(&format!("main/.git/modules/lib/{name}"), "x");
    }
    let config = format!("[core]\n\tworktree = {}\n", world.path("ws").display());
    world.put("main/.git/modules/lib/config", &config);
    world.put("ws/.git", "gitdir: ../main/.git/modules/lib\n");
    let commit = confinement(&world, DEFAULT, command("git commit -m x"));
    assert!(commit.write.contains(&world.path("main/.git/modules/lib")), "{:?}", commit.write);
    for name in ["hooks/x", "config"] {
        let name = format!("main/.git/modules/lib/{name}");
        assert!(closes(&commit.read_only, &world, &name), "{:?}", commit.read_only);
    }
    world.put("main/.git/config", "x");
    let script = confinement(&world, &wide(&world), command("make"));
    assert!(closes(&script.read_only, &world, "main/.git/config"), "{:?}", script.read_only);
}

#[test]
fn repositories_in_the_temporary_folder_keep_their_hooks_and_settings() {
    let world = world();
    let other = tempfile::tempdir_in("/tmp").unwrap();
    let git = other.path().canonicalize().unwrap().join("repository/.git");
    for name in ["hooks/x", "config", "HEAD"] {
        let path = git.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let script = confinement(&world, DEFAULT, command("make"));
    for name in ["hooks", "config"] {
        assert!(
            script.frozen_nested.contains(&git.join(name)),
            "{name}: {:?}",
            script.frozen_nested
        );
    }
    // Nothing is put where others come and go.
    std::fs::remove_dir_all(git.join("hooks")).unwrap();
    let script = confinement(&world, DEFAULT, command("make"));
    assert!(script.frozen_nested.contains(&git.join("config")), "{:?}", script.frozen_nested);
    assert!(!script.masked_missing.contains(&git.join("hooks")));
}

#[test]
fn our_folder_in_a_project_is_not_made() {
    let world = World::new();
    let ours = world.path("ws/.hermes");
    assert!(confinement(&world, DEFAULT, command("make")).masked_missing.contains(&ours));
    // Git sweeps empty folders away, and says so when it cannot.
    assert!(!confinement(&world, DEFAULT, command("git clean -fd")).masked_missing.contains(&ours));
    std::fs::create_dir(&ours).unwrap();
    let there = confinement(&world, DEFAULT, command("make"));
    assert!(there.read_only.contains(&ours) && there.masked_missing.is_empty());
    std::fs::remove_dir(&ours).unwrap();
    std::fs::remove_dir(world.path("ws/src")).unwrap();
    let empty = confinement(&world, DEFAULT, command("git clone https://example.com/x ."));
    assert!(empty.masked_missing.is_empty(), "an empty workspace is to be filled");
    assert!(confinement(&world, DEFAULT, command("make")).masked_missing.is_empty());
}

#[test]
fn a_repository_can_be_laid_open() {
    let world = world();
    let open = "profiles: {p: {extends: default, sensitive_paths: ['${workspace}/.git/**']}}";
    let all = confinement(&world, open, command("make"));
    assert!(!closes(&all.read_only, &world, "ws/.git/config"), "{:?}", all.read_only);
    let open = "profiles: {p: {extends: default, sensitive_paths: ['${workspace}/.git/hooks/**']}}";
    let hooks = confinement(&world, open, command("make"));
    assert!(!closes(&hooks.read_only, &world, "ws/.git/hooks/x"), "{:?}", hooks.read_only);
    assert!(closes(&hooks.read_only, &world, "ws/.git/config"));
}

#[test]
fn what_we_keep_of_sessions_is_not_read() {
    let world = World::new();
    for name in [
        "sessions.db",
        "logs/audit/audit.jsonl",
        "chat_history",
        "profiles/a/sessions.db",
        "cron/.jobs.lock",
    ] {
        world.put(&format!("hermes/{name}"), "x");
    }
    let confinement = confinement(&world, DEFAULT, command("cp -r ~/x y"));
    let p = world.with(DEFAULT, "p").unwrap();
    for name in [
        "sessions.db",
        "sessions.db-wal",
        "sessions.db-shm",
        "logs/audit/audit.jsonl",
        "chat_history",
        "profiles/a/sessions.db",
        "approvals.json",
        "approvals.json.lock",
        "config.yaml.lock",
        "cron/.jobs.lock",
    ] {
        let name = format!("hermes/{name}");
        assert!(closes(&confinement.hidden, &world, &name), "{name}: {:?}", confinement.hidden);
        assert_eq!(
            world.touches(&p, Scope::FILE_READ, world.path(&name)),
            PolicyAnswer::Deny,
            "{name}"
        );
    }
    for name in ["hermes/config.yaml", "hermes/skills/a/SKILL.md", "hermes/logs/agent.log"] {
        assert!(!closes(&confinement.hidden, &world, name), "{name}");
        assert_eq!(
            world.touches(&p, Scope::FILE_READ, world.path(name)),
            PolicyAnswer::Allow,
            "{name}"
        );
    }
}

#[test]
fn a_folder_of_devices_can_be_listed() {
    let world = World::new();
    let p = world.builtin("default");
    assert_eq!(world.judged(&p, "ls /dev/pts"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "ls -l /dev /dev/shm"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "cat /dev/pts/0"), PolicyAnswer::Deny);
    assert_eq!(world.judged(&p, "echo x > /dev/pts/0"), PolicyAnswer::Deny);
}

#[test]
fn a_profile_names_the_sockets_that_scripts_may_use() {
    let world = World::new();
    let listener = std::os::unix::net::UnixListener::bind(world.path("out/db.sock")).unwrap();
    let named = format!(
        "profiles: {{base: {{extends: default, sandbox: {{sockets: ['{0}']}}}}, \
         p: {{extends: base, sandbox: {{sockets: ['/run/postgresql/**']}}}}}}",
        world.path("out/db.sock").display()
    );
    let open = confinement(&world, &named, command("make"));
    assert_eq!(open.sockets.len(), 2, "{:?}", open.sockets);
    assert!(open.sockets.contains(&world.path("out/db.sock")));
    assert!(open.sockets.contains(&"/run/postgresql".into()));
    drop(listener);
    assert!(confinement(&world, DEFAULT, command("make")).sockets.is_empty(), "none by itself");
    for wide in
        ["/run/**", "/**", "/tmp/**", "~/**", "/run/*.sock", "${workspace}/**", "/run/user/1000/**"]
    {
        let yaml = format!("profiles: {{p: {{sandbox: {{sockets: ['{wide}']}}}}}}");
        assert!(world.with(&yaml, "p").is_err(), "{wide}");
    }
    assert!(world.with("global: {sandbox: {sockets: ['/run/x.sock']}}", "default").is_err());
    // What a project brings along opens nothing.
    world.put(
        "ws/.hermes/hermes_permissions.yaml",
        "profiles: {p: {sandbox: {sockets: ['/run/x.sock']}}}",
    );
    assert!(confinement(&world, DEFAULT, command("make")).sockets.is_empty());
}

#[test]
fn the_history_of_a_repository_is_asked_about_whatever_leads_to_it() {
    let world = world();
    world.put("ws/.git/refs/heads/main", "x");
    world.put("ws/bare.git/HEAD", "x");
    world.put("ws/bare.git/refs/heads/main", "x");
    world.put("ws/bare.git/objects/info/x", "x");
    world.put("ws/site/index", "x");
    std::os::unix::fs::symlink(".git", world.path("ws/gl")).unwrap();
    let permissions = world.with(DEFAULT, "p").unwrap();
    let asked = [
        "rm gl/refs/heads/main",
        "unlink gl/HEAD",
        "cd gl && rm HEAD",
        "rm gl/*",
        "echo x > gl/HEAD",
        "touch gl/HEAD; echo x > gl/HEAD",
        "tar xf x.tar -C gl",
        "rm .g*/refs/heads/*",
        "rm bare.git/refs/heads/main",
        "cp README.md bare.git/HEAD",
    ];
    for text in asked {
        assert_eq!(world.judged(&permissions, text), PolicyAnswer::Ask, "{text}");
    }
    let quiet = [
        "cat gl/HEAD",
        "ls gl/refs",
        "rm gl",
        "rm gl/index.lock",
        "touch gl/HEAD",
        "rm site/index",
        "echo x > site/HEAD",
        "git add .",
        "git commit -m x",
        "echo x >> gl/info/exclude",
    ];
    for text in quiet {
        assert_eq!(world.judged(&permissions, text), PolicyAnswer::Allow, "{text}");
    }
    for name in [".git/HEAD", "gl/refs/heads/main", "bare.git/HEAD"] {
        let path = world.path("ws").join(name);
        assert_eq!(
            world.touches(&permissions, Scope::FILE_WRITE, &path),
            PolicyAnswer::Ask,
            "{name}"
        );
        assert_eq!(
            world.touches(&permissions, Scope::FILE_READ, &path),
            PolicyAnswer::Allow,
            "{name}"
        );
    }
}
