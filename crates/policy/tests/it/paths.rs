//! Paths are judged by where they lead.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Policy as _, Scope};
use hermes_policy::PolicyAnswer;

use crate::World;

#[test]
fn every_way_out_of_the_workspace_is_seen() {
    let world = World::new();
    let p = world.builtin("default");
    world.put("out/file", "x");
    symlink(world.path("out"), world.path("ws/dir")).unwrap();
    symlink(world.path("out/file"), world.path("ws/file")).unwrap();
    symlink(world.path("out/new"), world.path("ws/dangling")).unwrap();
    symlink("dir", world.path("ws/chain")).unwrap();
    symlink("/", world.path("ws/root")).unwrap();
    let out = world.path("out");
    let proc = PathBuf::from(format!("/proc/self/root{}", out.display()));
    for way in [
        world.path("ws/dir/x"),
        world.path("ws/file"),
        world.path("ws/dangling"),
        world.path("ws/chain/x"),
        world.path("ws/root").join(out.strip_prefix("/").unwrap()).join("x"),
        world.path("ws/../out/x"),
        world.path("ws/dir/../out/x"),
    ] {
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, &way),
            PolicyAnswer::Ask,
            "{}",
            way.display()
        );
    }
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, proc.join("x")), PolicyAnswer::Deny);
    // And every way in is fine.
    symlink(world.path("ws/src"), world.path("out/back")).unwrap();
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("out/back/x")), PolicyAnswer::Allow);
}

#[test]
fn where_git_looks_for_its_settings_is_not_written() {
    let world = World::new();
    let p = world.builtin("default");
    std::fs::create_dir_all(world.path("ws/.git")).unwrap();
    for name in ["sub/.git", "new/.GIT", ".git/commondir", ".git/config.worktree"] {
        let path = world.path("ws").join(name);
        assert_eq!(world.touches(&p, Scope::FILE_WRITE, path), PolicyAnswer::Deny, "{name}");
    }
    for command in ["echo 'gitdir: ../evil' > sub/.git", "echo ../evil > .git/commondir"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Deny, "{command}");
    }
    // Settings and hooks are something that a person may want.
    for command in [
        "echo a > .g?t/config",
        "cp evil .gi[t]/config",
        "tee .g*/hooks/pre-commit",
        "tee .git/hook?/pre-commit",
    ] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
    }
    // A folder of that name is a repository.
    let repository = world.path("ws/.git");
    assert_ne!(world.touches(&p, Scope::FILE_WRITE, &repository), PolicyAnswer::Deny);
    assert_eq!(world.judged(&p, "git init nest"), PolicyAnswer::Allow);
}

#[test]
fn start_files_of_programs_are_kept_in_a_home_that_is_the_workspace() {
    let world = World::new();
    let p = world.builtin("default");
    for name in [".vimrc", ".local/bin/ls", ".config/nvim/init.lua", ".gdbinit"] {
        let path = world.path("home").join(name);
        assert_eq!(world.touches(&p, Scope::FILE_WRITE, path), PolicyAnswer::Ask, "{name}");
    }
}

#[test]
fn secrets_are_kept_under_every_name() {
    let world = World::new();
    let p = world.builtin("default");
    let key = world.put("home/.ssh/id_ed25519", "key");
    world.put("ws/.env", "A=1");
    symlink(&key, world.path("ws/link")).unwrap();
    symlink(world.path("home"), world.path("ws/me")).unwrap();
    std::fs::hard_link(&key, world.path("ws/hard")).unwrap();
    let names = [
        "home/.ssh/id_ed25519",
        "home/.ssh/config",
        "ws/link",
        "ws/hard",
        "ws/me/.ssh/known_hosts",
        "home/.aws/credentials",
        "home/.AWS/credentials",
        "home/.netrc",
        "home/.config/gh/hosts.yml",
        "hermes/secrets.json",
        "hermes/.env",
        "hermes/logs/audit/audit.key",
        "home/\u{ff0e}ssh/id_rsa",
        "home/.s\u{200b}sh/id_rsa",
    ];
    for name in names {
        assert_eq!(
            world.touches(&p, Scope::FILE_READ, world.path(name)),
            PolicyAnswer::Deny,
            "{name}"
        );
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, world.path(name)),
            PolicyAnswer::Deny,
            "{name}"
        );
    }
    for name in ["ws/.env", "ws/.ENV", "ws/.env.production", "ws/.env.", "ws/sub/.envrc"] {
        assert_eq!(
            world.touches(&p, Scope::FILE_READ, world.path(name)),
            PolicyAnswer::Ask,
            "{name}"
        );
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, world.path(name)),
            PolicyAnswer::Ask,
            "{name}"
        );
    }
    for name in ["ws/.env.example", "ws/env", "ws/id_rsa.pub", "home/notes/ssh.md"] {
        assert_eq!(
            world.touches(&p, Scope::FILE_READ, world.path(name)),
            PolicyAnswer::Allow,
            "{name}"
        );
    }
    for path in ["/etc/shadow", "/proc/self/environ", "/proc/1/mem", "/dev/sda", "/dev/mem"] {
        assert_eq!(world.touches(&p, Scope::FILE_READ, path), PolicyAnswer::Deny, "{path}");
    }
    for path in ["/dev/null", "/dev/urandom", "/proc/cpuinfo", "/etc/hostname"] {
        assert_eq!(world.touches(&p, Scope::FILE_READ, path), PolicyAnswer::Allow, "{path}");
    }
}

#[test]
fn what_would_run_later_is_not_written() {
    let world = World::new();
    let p = world.with("profiles: {all: {allow: ['*']}}", "all").unwrap();
    for name in [
        "ws/.git/hooks/pre-commit",
        "ws/sub/.git/hooks/x",
        "ws/.git/config",
        "home/.bashrc",
        "home/.zshrc",
        "home/.config/systemd/user/x.service",
    ] {
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, world.path(name)),
            PolicyAnswer::Ask,
            "{name}"
        );
        assert_eq!(
            world.touches(&p, Scope::FILE_DELETE, world.path(name)),
            PolicyAnswer::Ask,
            "{name}"
        );
    }
    for name in [
        "ws/.hermes/x",
        "hermes/config.yaml",
        "hermes/hermes_permissions.yaml",
        "hermes/approvals.json",
        "hermes/logs/audit.jsonl",
    ] {
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, world.path(name)),
            PolicyAnswer::Deny,
            "{name}"
        );
        assert_eq!(
            world.touches(&p, Scope::FILE_DELETE, world.path(name)),
            PolicyAnswer::Deny,
            "{name}"
        );
    }
    for name in ["ws/.gitignore", "ws/.git/MERGE_MSG", "hermes/skills/a/SKILL.md", "hermes/cache/x"]
    {
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, world.path(name)),
            PolicyAnswer::Allow,
            "{name}"
        );
    }
}

#[test]
fn a_profile_can_lay_a_sensitive_place_open_by_name() {
    let world = World::new();
    let yaml = "profiles: {p: {allow: ['*'], sensitive_paths: [~/.ssh/config]}}";
    let p = world.with(yaml, "p").unwrap();
    assert_eq!(
        world.touches(&p, Scope::FILE_READ, world.path("home/.ssh/config")),
        PolicyAnswer::Allow
    );
    assert_eq!(
        world.touches(&p, Scope::FILE_READ, world.path("home/.ssh/id_rsa")),
        PolicyAnswer::Deny
    );
}

#[test]
fn a_grant_is_for_the_place_that_was_judged() {
    let world = World::new();
    let p = world.builtin("default");
    symlink(world.path("ws/src"), world.path("ws/alias")).unwrap();
    let effects = [Effect::path(Scope::FILE_WRITE, world.path("ws/alias/x"))];
    let at = world.at();
    let ruling = p.judge(&world.proposal(&effects, &at));
    let grant = &ruling.grants.list().unwrap()[0];
    assert_eq!(grant.real_path, Some(world.path("ws/src/x")));
    // Deleting a link is about the link.
    let effects = [Effect::path(Scope::FILE_DELETE, world.path("ws/alias"))];
    let ruling = p.judge(&world.proposal(&effects, &at));
    assert_eq!(ruling.grants.list().unwrap()[0].real_path, Some(world.path("ws/alias")));
}

#[test]
fn a_command_that_climbs_from_a_link_is_followed() {
    let world = World::new();
    let p = world.builtin("default");
    world.put("home/.netrc", "x");
    symlink(world.path("home/.ssh"), world.path("ws/link")).unwrap();
    for command in ["cat link/../.netrc", "echo x > link/../.netrc", "cd link; cat ../.netrc"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Deny, "{command}");
    }
    let startup = world.command(&p, "echo x > link/../.bashrc");
    assert_eq!(startup.decisive_finding().unwrap().real, Some(world.path("home/.bashrc")));
    assert_eq!(world.judged(&p, "cat src/../README.md"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "echo x > link/../out.txt"), PolicyAnswer::Ask);
}

#[test]
fn the_same_rule_holds_for_a_command() {
    let world = World::new();
    let p = world.builtin("default");
    world.put("home/.ssh/id_rsa", "key");
    symlink(world.path("out"), world.path("ws/dir")).unwrap();
    for command in ["cat ~/.ssh/id_rsa", "cp ~/.aws/credentials .", "grep -r x $HOME/.ssh"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Deny, "{command}");
    }
    assert_eq!(world.judged(&p, "head .env"), PolicyAnswer::Ask);
    assert_eq!(world.judged(&p, "echo x > dir/y"), PolicyAnswer::Ask);
    assert_eq!(world.judged(&p, "echo x > src/y"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "tee ~/.bashrc < src/y"), PolicyAnswer::Ask);
}

#[test]
fn a_private_key_is_known_by_what_is_in_it() {
    let world = World::new();
    let p = world.builtin("default");
    world.put("ws/server.key", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n");
    world.put("ws/cert.pem", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n");
    world.put("ws/answer.key", "1: b\n2: a\n");
    assert_eq!(
        world.touches(&p, Scope::FILE_READ, world.path("ws/server.key")),
        PolicyAnswer::Deny
    );
    assert_eq!(world.touches(&p, Scope::FILE_READ, world.path("ws/cert.pem")), PolicyAnswer::Allow);
    assert_eq!(
        world.touches(&p, Scope::FILE_READ, world.path("ws/answer.key")),
        PolicyAnswer::Allow
    );
    assert_eq!(world.judged(&p, "cat server.key"), PolicyAnswer::Deny);
}

#[test]
fn a_home_among_temporary_files_is_no_temporary_file() {
    let world = World::new();
    let temp = world.path("tmp");
    std::fs::create_dir_all(temp.join("me")).unwrap();
    let mut places = world.places();
    places.home = Some(temp.join("me"));
    places.temp = vec![temp.clone()];
    let sources =
        hermes_policy::PolicySources::load(&world.path("none.yaml"), None, places).unwrap();
    let saved = hermes_policy::SavedRules::load(world.path("approvals.json")).unwrap();
    let tickets = hermes_policy::TicketStore::new(world.path("tickets"));
    let p = sources.permissions("default", Default::default(), saved, tickets).unwrap();
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, temp.join("x")), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, temp.join("me/bin/ls")), PolicyAnswer::Ask);
}

#[test]
fn a_pattern_is_judged_by_where_its_links_lead() {
    let world = World::new();
    std::fs::create_dir_all(world.path("ws/sub")).unwrap();
    std::os::unix::fs::symlink(world.path("out"), world.path("ws/sub/l")).unwrap();
    let p = world.builtin("default");
    for command in ["touch sub/*/x", "rm -f sub/l/*", "touch sub/*"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
    }
    assert_eq!(world.judged(&p, "touch sub/k*"), PolicyAnswer::Allow);
}

#[test]
fn a_question_says_where_a_link_leads() {
    let world = World::new();
    symlink(world.path("out"), world.path("ws/inside")).unwrap();
    let p = world.builtin("default");
    let (effects, at) = ([Effect::path(Scope::FILE_WRITE, world.path("ws/inside/x"))], world.at());
    let proposal = world.proposal(&effects, &at);
    let real = world.path("out/x").display().to_string();
    let hermes_core::Verdict::Ask { reason, .. } = p.judge(&proposal).verdict else {
        panic!("it is outside")
    };
    assert!(reason.contains(&real), "{reason}");
    let token = p.issue_ticket(&proposal, "").unwrap();
    let ticket = p.tickets().list().into_iter().find(|ticket| ticket.token == token).unwrap();
    assert!(ticket.effects[0].contains(&real), "{:?}", ticket.effects);
}

#[test]
fn another_name_of_a_secret_of_the_project_is_recognised() {
    let world = World::new();
    let plain = world.put("ws/a.txt", "x");
    for (secret, name) in [("ws/.env", "ws/one"), ("ws/packages/api/.env.local", "ws/src/two")] {
        let secret = world.put(secret, "KEY=1");
        std::fs::hard_link(secret, world.path(name)).unwrap();
    }
    std::fs::hard_link(plain, world.path("ws/b.txt")).unwrap();
    let default = world.builtin("default");
    let read = |p: &_, name: &str| world.touches(p, Scope::FILE_READ, world.path(name));
    assert_eq!(read(&default, "ws/one"), PolicyAnswer::Ask);
    assert_eq!(read(&default, "ws/src/two"), PolicyAnswer::Ask);
    assert_eq!(read(&default, "ws/b.txt"), PolicyAnswer::Allow);
    let open = "profiles: {p: {extends: default, sensitive_paths: ['${workspace}/.env']}}";
    let open = world.with(open, "p").unwrap();
    assert_eq!(read(&open, "ws/one"), PolicyAnswer::Allow);
    assert_eq!(read(&open, "ws/src/two"), PolicyAnswer::Ask);
}

#[test]
fn a_second_path_by_a_mount_is_protected_as_the_first() {
    let own = std::env::current_exe().unwrap();
    let within = ["--exact", "paths::mounted_twice", "--ignored", "--nocapture"];
    let made = std::process::Command::new("unshare").arg("-rm").arg("true").status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no namespaces");
        return;
    }
    let ran = std::process::Command::new("unshare").arg("-rm").arg(own).args(within).output();
    let ran = ran.unwrap();
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && shown.contains("1 passed"), "{shown}");
}

#[test]
#[ignore = "run by the other one, with mounts of its own"]
fn mounted_twice() {
    let world = World::new();
    let key = world.put("home/.aws/credentials", "key");
    let (dir, file) = (world.path("ws/other"), world.put("ws/notes.txt", ""));
    std::fs::create_dir(&dir).unwrap();
    let bind = |from: &Path, to: &Path| {
        let mut mount = std::process::Command::new("mount");
        assert!(mount.arg("--bind").args([from, to]).status().unwrap().success());
    };
    bind(&world.path("home/.aws"), &dir);
    bind(&key, &file);
    let p = world.builtin("default");
    for place in [dir.join("credentials"), file.clone()] {
        for scope in [Scope::FILE_READ, Scope::FILE_WRITE] {
            assert_eq!(world.touches(&p, scope, &place), PolicyAnswer::Deny, "{}", place.display());
        }
    }
    assert_eq!(world.judged(&p, "cat notes.txt"), PolicyAnswer::Deny);
    let own = world.put("ws/own.txt", "x");
    assert_eq!(world.touches(&p, Scope::FILE_READ, own), PolicyAnswer::Allow);
    let resource = hermes_core::Resource::Command("make".to_owned());
    let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
    let confinement = p.consider(&world.proposal(&effects, &world.at())).1.unwrap();
    assert!(confinement.hidden.contains(&dir), "{:?}", confinement.hidden);
}
